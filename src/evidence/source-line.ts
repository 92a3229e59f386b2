/** Pure: a source as the operator describes it, held against what its kind allows. */
import type { Fault } from '../platform/json/shape-fault.ts'
import { KeyRefused, publicKeyOfKid, trustedPublicKey } from '../score-credentials/signing-key.ts'
import { type Refused, refused, valueReader } from './line-reader.ts'
import { type SourceLine, sourceLine } from './schema.ts'
import { type SourceKindName, sourceKindNames, sourceKinds } from './source-kinds.ts'

export interface Source {
  id: string
  name: string
  kind: SourceKindName
  /** Permille. */
  assurance: number
  /** Whoever answers for it. */
  group: string
  /** Of its Open Badges; null where it sends none. */
  issuer: string | null
  /** `z6Mk…`, sound; none without an issuer. */
  publicKeys: readonly string[]
}

export const readSourceLine = valueReader(sourceLine)

/** Without an assurance it is trusted as far as its kind allows. */
export function sourceOf(line: SourceLine): Source | Refused {
  const { id, name, kind, assurance, group } = line
  const { assuranceMax, group: sharedGroup } = sourceKinds[kind]
  if (assurance !== undefined && assurance > assuranceMax)
    return refused('assurance', `is at most ${assuranceMax} for a source of this kind`)
  if (sharedGroup !== undefined && group !== undefined && group !== sharedGroup)
    return refused('group', `is always ${sharedGroup} for a source of this kind`)
  const own = sharedGroup ?? group
  if (own === undefined) return refused('group', 'is missing: name who answers for the source')
  if (sharedGroup === undefined && sharedGroups.has(own))
    return refused('group', 'is kept for sources of another kind')
  const { issuer = null } = line
  const publicKeys = line.publicKeys ?? ownKeyOf(issuer)
  const fault = faultOfKeys(issuer, publicKeys)
  if (fault !== null) return { refused: fault }
  return { id, name, kind, assurance: assurance ?? assuranceMax, group: own, issuer, publicKeys }
}

/** A did:key says its key by itself. */
function ownKeyOf(issuer: string | null): string[] {
  return issuer?.startsWith('did:key:') ? [issuer.slice('did:key:'.length)] : []
}

function faultOfKeys(issuer: string | null, publicKeys: readonly string[]): Fault | null {
  const wrong = (reason: string): Fault => ({ field: 'publicKeys', reason })
  if (issuer === null) return publicKeys.length > 0 ? wrong('are of nobody: name the issuer') : null
  if (publicKeys.length === 0) return wrong('are missing: the issuer is known by its keys')
  return publicKeys.every(isSound) ? null : wrong('hold a key that is no sound Ed25519 key')
}

function isSound(kid: string): boolean {
  const publicKey = publicKeyOfKid(kid)
  if (publicKey === null) return false
  try {
    trustedPublicKey(publicKey)
    return true
  } catch (error) {
    if (error instanceof KeyRefused) return false
    throw error
  }
}

const sharedGroups: ReadonlySet<string | undefined> = new Set(
  sourceKindNames.map((kind) => sourceKinds[kind].group),
)
