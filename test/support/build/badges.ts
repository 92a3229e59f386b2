/**
 * Open Badges 3.0 credentials, issued by the reference library with the key of the published
 * vector.
 */
import { type PeerForm, peerIssues, signerSuite } from '../oracle/peer.ts'
import { type Json, origin, vector } from './credentials.ts'

const badgeContext = 'https://purl.imsglobal.org/spec/ob/v3p0/context-3.0.3.json'
export const badgeIssuer = { id: origin.issuer, key: vector.key.publicKeyMultibase }
export const achievementId = 'https://badges.example.org/achievements/typescript'

/** Returns a badge that is valid for the year 2026. */
export function badgeOf(over: Json = {}): Json {
  return {
    '@context': ['https://www.w3.org/ns/credentials/v2', badgeContext],
    id: 'urn:uuid:5b0e7a31-2c94-4d68-8e1f-7a6b5c4d3e2f',
    type: ['VerifiableCredential', 'OpenBadgeCredential'],
    issuer: { id: badgeIssuer.id, type: ['Profile'], name: 'Example Badges' },
    validFrom: '2026-01-15T09:00:00Z',
    validUntil: '2027-01-01T00:00:00Z',
    name: 'TypeScript in practice',
    credentialSubject: {
      id: 'did:example:holder',
      type: ['AchievementSubject'],
      achievement: {
        id: achievementId,
        type: ['Achievement'],
        name: 'TypeScript in practice',
        description: 'Ships typed code.',
        criteria: { narrative: 'Three reviewed projects; “naïve” answers fail.' },
      },
    },
    ...over,
  }
}

/**
 * The smallest context with which the reference library can sign a badge as RDF. The terms of the
 * badge map to our own vocabulary, not to the vocabulary of the standard.
 */
const standIn = { '@context': { '@vocab': 'https://badges.example.org/terms#' } }

export async function issuedBadge(
  over: Json = {},
  form: PeerForm = 'eddsa-jcs-2022',
): Promise<Json> {
  return peerIssues(badgeOf(over), await signerSuite(form), { [badgeContext]: standIn })
}
