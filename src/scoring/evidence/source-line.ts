/**
 * Pure: parses a source as the operator describes it and checks it against the limits of its kind.
 */
import { KeyRefused, publicKeyOfKid, trustedPublicKey } from '../../credentials/signing-key.ts'
import type { Fault } from '../../platform/json/shape-fault.ts'
import {
  assuranceMin,
  type Refused,
  refused,
  type SourceKindName,
  type SourceLine,
  sourceKindNames,
  sourceKinds,
  sourceLine,
  valueReader,
} from './schema.ts'

export interface Source {
  id: string
  name: string
  kind: SourceKindName
  /** In permille. */
  assurance: number
  /** Party that answers for the source. Sources of one group are not independent. */
  group: string
  /** Issuer of the source's Open Badges, or null if it sends none. */
  issuer: string | null
  /** Valid keys in the form `z6Mk…`; empty if there is no issuer. */
  publicKeys: readonly string[]
}

export const readSourceLine = valueReader(sourceLine)

/** Returns the source of a line. The default assurance is the maximum of its kind. */
export function sourceOf(line: SourceLine): Source | Refused {
  const { id, name, kind, assurance, group } = line
  const { assuranceMax, group: sharedGroup } = sourceKinds[kind]
  if (assurance !== undefined && assurance > assuranceMax)
    return refused('assurance', `is at most ${assuranceMax} for a source of this kind`)
  if (assurance !== undefined && assurance > 0 && assurance < assuranceMin)
    return refused('assurance', `is ${assurance}: use 0, or a number from ${assuranceMin} on`)
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

/** Returns the key inside a did:key. */
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
