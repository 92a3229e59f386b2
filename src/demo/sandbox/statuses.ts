/**
 * The revocation status of sandbox credentials: by token, and as a signed list. Nothing is stored.
 * Every node of a deployment serves the same list, byte for byte.
 */
import type { Origin } from '../../credentials/payload.ts'
import { type ProofForm, proofForms } from '../../credentials/proof.ts'
import {
  bitsOf,
  listRefreshSeconds,
  listTtlSeconds,
  statusListPayload,
  statusListProofs,
} from '../../credentials/status-list.ts'
import { type PublicDocument, publicDocument } from '../../edge/http/document.ts'
import type { Clock } from '../../platform/clock.ts'
import { sandboxListId, sandboxSigner } from './credentials.ts'
import type { SandboxCandidate } from './sandbox-candidates.ts'

export interface SandboxStatuses {
  /**
   * Returns when the credential was revoked, or null while it is active. Returns undefined if no
   * credential has the token, or if the digest is not that of the credential.
   */
  revokedAt(token: string, vcSha256: string | undefined): Date | null | undefined
  /** Returns the signed list, or null if there is no such list. */
  list(listId: string, form: ProofForm): PublicDocument | null
}

const revokedAt = new Date('2026-06-01T10:00:00Z')
const refreshMs = listRefreshSeconds * 1_000

export function sandboxStatuses(
  candidates: readonly SandboxCandidate[],
  { origin, clock }: { origin: Origin; clock: Clock },
): SandboxStatuses {
  const credentials = candidates.flatMap(({ own }) => own ?? [])
  const byToken = new Map(credentials.map((own) => [own.statusToken, own]))
  const revoked = credentials.filter(({ isRevoked }) => isRevoked)
  const bits = bitsOf(revoked.map(({ listIndex }) => listIndex))
  let published: { at: number; documents: ReadonlyMap<ProofForm, PublicDocument> } | undefined

  function sign(at: number): ReadonlyMap<ProofForm, PublicDocument> {
    const payload = statusListPayload(origin, {
      listId: sandboxListId,
      bits,
      publishedAt: new Date(at),
    })
    const proofs = statusListProofs(payload, origin, sandboxSigner())
    const documentOf = (form: ProofForm): PublicDocument =>
      publicDocument({
        body: JSON.stringify({ ...payload, proof: proofs[form] }),
        contentType: 'application/ld+json',
        maxAgeSeconds: listTtlSeconds,
        cacheDirectives: 'must-revalidate',
      })
    return new Map(proofForms.map((form) => [form, documentOf(form)]))
  }

  return {
    revokedAt(token, vcSha256) {
      const own = byToken.get(token)
      if (own === undefined || (vcSha256 ?? own.vcSha256) !== own.vcSha256) return undefined
      return own.isRevoked ? revokedAt : null
    },
    list(listId, form) {
      if (listId !== sandboxListId) return null
      const at = Math.floor(clock().getTime() / refreshMs) * refreshMs
      if (published?.at !== at) published = { at, documents: sign(at) }
      return published.documents.get(form) ?? null
    },
  }
}
