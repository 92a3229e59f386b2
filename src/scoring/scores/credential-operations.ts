/**
 * The operations on issued credentials. They stand here and not in `credentials`, because a
 * revoked credential of a public score is replaced. Files are handled by commands.
 */
import { Type } from 'typebox'
import {
  findCredentialPage,
  findCurrentCredential,
  findIssuedPage,
  findKeys,
  findStatuses,
  type ListedCredential,
  type StoredCredential,
} from '../../credentials/api.ts'
import { nameByHex, nameById } from '../../credentials/credential-name.ts'
import type { Issuer } from '../../credentials/issue.ts'
import { originOf, type Payload, subjectUrl } from '../../credentials/payload.ts'
import { proofForms } from '../../credentials/proof.ts'
import { revokeCredentialsOfKey } from '../../credentials/rotate-keys.ts'
import { convertProof, type Signers } from '../../credentials/signers.ts'
import {
  afterField,
  limitField,
  moreField,
  nextField,
  orNull,
  pageOf,
  time,
} from '../../operations/fields.ts'
import { changed, operationsFor, unchanged } from '../../operations/operation.ts'
import { wireTime } from '../../platform/clock.ts'
import { counted } from '../../platform/counted.ts'
import { sha256 } from '../../platform/crypto/bytes.ts'
import type { Queryable } from '../../platform/db/db.ts'
import { type Refusal, refuse } from '../../platform/errors.ts'
import { closedObject } from '../../platform/json/closed-object.ts'
import { usernameDigest, usernameField } from '../../workers/username.ts'
import { reissueSome, revokeNamedCredentials } from './reissue.ts'
import { countDueReissues } from './reissue-store.ts'
import { exampleKid, kidField } from './signing-key-operations.ts'

export interface CredentialServices {
  credentials: {
    publicUrl: string
    formerPublicUrls: readonly string[]
    /** Refused if a key file of this machine is not sound. */
    signers(): Promise<Signers | Refusal<'scoring_unavailable'>>
  }
  /** Refused if no credential can be signed on this machine. */
  issuer(db: Queryable): Promise<Issuer | Refusal<'scoring_unavailable'>>
}

const { read, change } = operationsFor<CredentialServices>()

const states = ['current', 'superseded', 'expired', 'revoked', 'key_revoked'] as const

const credential = closedObject({
  credentialId: Type.String(),
  vcSha256: Type.String(),
  subject: Type.String({ description: 'The address of the profile that it is about.' }),
  state: Type.Enum([...states]),
  issuedAt: time,
  validUntil: time,
  supersededAt: orNull(time, 'Null unless a later credential supersedes it.'),
  revokedAt: orNull(time, 'Null unless it is revoked.'),
  kid: Type.String({ description: 'The key that signed it.' }),
})

export const credentialsList = read({
  name: 'credentials list',
  http: 'GET /credentials',
  summary: 'Show issued credentials, the latest first',
  who: { operator: 'viewer' },
  input: {
    username: Type.Optional({ ...usernameField, 'x-help': 'that name this worker' }),
    limit: limitField,
    after: afterField,
  },
  output: closedObject({ credentials: Type.Array(credential), next: nextField }),
  example: { username: 'ada-lovelace', limit: 200 },
  none: 'There are no such credentials.',
  columns: {
    issued: 'issuedAt',
    until: 'validUntil',
    state: 'state',
    subject: 'subject',
    id: 'credentialId',
  },
  async run(db, { username, limit, after = null }, { now }) {
    const usernameSha256 = username === undefined ? null : usernameDigest(username)
    const found = await findCredentialPage(db, { usernameSha256, after, limit: limit + 1 })
    const { rows, next } = pageOf(found, limit, (one) => one.credentialId)
    return { credentials: rows.map((one) => ({ ...one, state: stateAt(one, now) })), next }
  },
})

/** Returns what matters most to a reader of the credential. */
function stateAt(one: ListedCredential, now: Date): (typeof states)[number] {
  if (one.revokedAt !== null) return 'revoked'
  if (one.keyRevokedAt !== null) return 'key_revoked'
  if (one.validUntil <= now) return 'expired'
  return one.supersededAt === null ? 'current' : 'superseded'
}

const issued = Type.Object(
  {},
  { additionalProperties: true, description: 'The credential, as it was issued.' },
)

export const credentialsShow = read({
  name: 'credentials show',
  http: 'GET /workers/{username}/credential',
  summary: 'Show the current credential of a worker',
  who: { operator: 'viewer' },
  path: { username: usernameField },
  input: {
    proof: Type.Enum([...proofForms], { default: 'native', description: proofForms.join(', ') }),
  },
  output: closedObject({
    credential: issued,
    flaw: orNull(Type.String(), 'Why verifiers reject it, or null.'),
  }),
  refusals: ['credential_not_found', 'signing_key_elsewhere', 'scoring_unavailable'],
  example: { username: 'ada-lovelace', proof: 'native' },
  async run(db, { username, proof: form }, { now, services: { credentials } }) {
    const { publicUrl, formerPublicUrls } = credentials
    const stored = await findCurrentCredential(db, subjectUrl(originOf(publicUrl), username))
    if (stored === undefined)
      return refuse('credential_not_found', {
        message: `${username} has no credential of ${publicUrl}.`,
      })
    const native = wireIssued(stored)
    const flaw = await flawOf(db, stored, now)
    if (form === 'native') return { credential: native, flaw }
    const signers = await credentials.signers()
    if ('refusal' in signers) return signers
    const origins = [publicUrl, ...formerPublicUrls].map(originOf)
    const made = await convertProof(native, form, { origins, signers })
    if ('credential' in made) return { credential: made.credential, flaw }
    return refuse('signing_key_elsewhere', {
      message: `${String(native.id)} was signed by ${made.cannotSignAs}, and its private key is not on this machine.`,
    })
  },
})

function wireIssued({ payload, proof }: StoredCredential): Record<string, unknown> {
  return { ...JSON.parse(payload), proof: JSON.parse(proof) }
}

/** Returns why verifiers reject the credential by now, or null. */
async function flawOf(
  db: Queryable,
  { payload }: StoredCredential,
  now: Date,
): Promise<string | null> {
  const [status] = await findStatuses(db, [{ token: null, vcSha256: sha256(payload) }])
  if (status?.kind !== 'registered')
    throw new Error('a credential is registered under another digest')
  const { revokedAt, keyRevokedAt } = status
  if (revokedAt !== null) return `the credential was revoked on ${wireTime(revokedAt)}`
  if (keyRevokedAt !== null)
    return `the key that signed the credential was revoked on ${wireTime(keyRevokedAt)}`
  const { validUntil } = JSON.parse(payload) as Payload
  return validUntil <= wireTime(now) ? `the credential expired on ${validUntil}` : null
}

export const credentialsExport = read({
  name: 'credentials export',
  http: 'GET /credentials/export',
  summary: 'Read credentials as they were issued, the latest first',
  who: { operator: 'viewer' },
  input: {
    username: Type.Optional({ ...usernameField, 'x-help': 'that name this worker' }),
    limit: limitField,
    after: afterField,
  },
  output: closedObject({ credentials: Type.Array(issued), next: nextField }),
  example: { username: 'ada-lovelace', limit: 200 },
  async run(db, { username, limit, after = null }) {
    const usernameSha256 = username === undefined ? null : usernameDigest(username)
    const found = await findIssuedPage(db, { usernameSha256, after, limit: limit + 1 })
    const { rows, next } = pageOf(found, limit, (one) => one.credentialId)
    return { credentials: rows.map(wireIssued), next }
  },
})

/** Names in one transaction. */
export const revokedMax = 256

const revocation = closedObject({
  revoked: Type.Integer(),
  alreadyRevoked: Type.Integer(),
  notFound: Type.Array(Type.String(), { description: 'The names that no credential has.' }),
  scores: Type.Integer({ description: 'Public scores that wait for a new credential now.' }),
})

export const credentialsRevoke = change({
  name: 'credentials revoke',
  http: 'POST /credentials/revoke',
  summary: 'Revoke credentials for ever',
  who: { operator: 'admin' },
  input: {
    credentials: Type.Array(
      Type.String({
        pattern:
          '^(?:(?:urn:uuid:)?[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|(?:https?://[^\\u0000-\\u0020]*/)?[0-9a-fA-F]{64})$',
        description: 'must be the id, the status token or the digest of a credential',
      }),
      {
        minItems: 1,
        maxItems: revokedMax,
        description: `must have 1 to ${revokedMax} ids, status tokens or digests`,
      },
    ),
  },
  positional: ['credentials'],
  output: revocation,
  refusals: ['invalid_field'],
  example: { credentials: ['01993f2e-5c1a-7b3e-8d4f-2a6b8c0d1e2f'] },
  audit: 'credentials.revoked',
  danger: 'Revoked credentials stay revoked. Public scores among them get new credentials.',
  renderLines: ({ notFound, ...counts }) => [
    ...notFound.map((name) => `not found: ${name}`),
    ...revokedLines({ ...counts, notFound: notFound.length }),
  ],
  async run(tx, { credentials }, { now }) {
    const names = credentials.map(
      (text) =>
        nameById(text) ?? nameByHex(text.slice(text.lastIndexOf('/') + 1), 'token or digest'),
    )
    const known = names.flatMap((name) => name ?? [])
    if (known.length < names.length) throw new Error('the pattern admits a text that is no name')
    const { rows, notFound } = await revokeNamedCredentials(tx, known, now)
    const subjects = rows.filter((row) => row.now).map((row) => row.vcSha256.toString('hex'))
    const output = {
      revoked: subjects.length,
      alreadyRevoked: rows.length - subjects.length,
      notFound: notFound.flatMap((at) => credentials[at] ?? []),
      scores: await countDueReissues(tx, now),
    }
    if (subjects.length === 0) return unchanged(output)
    return changed(output, { subjects, details: { count: subjects.length } })
  },
})

interface Counts {
  revoked: number
  alreadyRevoked: number
  notFound: number
  scores: number
}

export function revokedLines({ revoked, alreadyRevoked, notFound, scores }: Counts): string[] {
  return [
    `${revoked} revoked, ${alreadyRevoked} revoked before, ${notFound} not found`,
    ...(scores > 0
      ? [
          `A jobs process issues new credentials for ${counted(scores, 'public score')}. To hide a score, revoke its evidence or the identity check.`,
        ]
      : []),
  ]
}

export const credentialsRevokeOfKey = change({
  name: 'credentials revoke-of-key',
  http: 'POST /keys/{kid}/credentials/revoke',
  summary: 'Revoke every credential of a signing key that is revoked already',
  who: { operator: 'admin' },
  path: { kid: kidField },
  output: closedObject({ kid: Type.String(), changed: Type.Boolean() }),
  refusals: ['signing_key_not_found', 'signing_key_not_revoked'],
  example: { kid: exampleKid },
  audit: 'keys.credentials_revoked',
  danger: 'Revoked credentials stay revoked. Public scores among them get new credentials.',
  renderLines: ({ kid, changed: isChanged }) => [
    isChanged
      ? `Every credential that ${kid} signed is revoked.`
      : `The credentials that ${kid} signed were revoked before.`,
  ],
  // Only for a revoked key: new credentials of a key that signs would be revoked at once.
  async run(tx, { kid }, { now }) {
    const key = (await findKeys(tx)).find((one) => one.kid === kid)
    if (key === undefined)
      return refuse('signing_key_not_found', { message: `No signing key has the id ${kid}.` })
    if (key.state !== 'revoked')
      return refuse('signing_key_not_revoked', {
        message: `${kid} is ${key.state}. To revoke it and its credentials, run \`assay keys revoke ${kid}\`.`,
      })
    const isChanged = await revokeCredentialsOfKey(tx, kid, now)
    if (!isChanged) return unchanged({ kid, changed: false })
    return changed({ kid, changed: true }, { subjects: [kid] })
  },
})

const batchMax = 256

export const credentialsReissue = change({
  name: 'credentials reissue',
  http: 'POST /credentials/reissue',
  summary: 'Issue the credentials that public scores wait for now, in batches',
  who: { operator: 'admin' },
  output: closedObject({ reissued: Type.Integer(), more: moreField }),
  refusals: ['scoring_unavailable'],
  audit: 'credentials.reissued',
  renderLines: ({ reissued }) => [`${counted(reissued, 'public score')} got a new credential.`],
  async run(tx, _, { now, services }) {
    const issuer = await services.issuer(tx)
    if ('refusal' in issuer) return issuer
    const { snapshots, more } = await reissueSome(tx, issuer, { limit: batchMax, now })
    const count = snapshots.size
    if (count === 0) return unchanged({ reissued: 0 }, { more })
    const entry = { subjects: [issuer.signer.kid], details: { count } }
    return changed({ reissued: count }, entry, { more })
  },
})

export const credentialOperations = [
  credentialsList,
  credentialsShow,
  credentialsExport,
  credentialsRevoke,
  credentialsRevokeOfKey,
  credentialsReissue,
] as const
