/**
 * Pure: whether a credential is signed by one of the keys given. `eddsa-jcs-2022` alone (vc-di-eddsa §3.3): Ed25519 over
 * SHA-256(JCS(proof without its value)) ‖ SHA-256(JCS(document without proof)), which takes no JSON-LD and no context.
 */
import { verify } from 'node:crypto'
import { sha256 } from '../platform/crypto/bytes.ts'
import { instantOf } from '../platform/instant.ts'
import { canonicalJson } from '../platform/json/canonical-json.ts'
import { isJsonObject } from '../platform/json/json-object.ts'
import { signatureOf } from '../score-credentials/proof.ts'
import { publicKeyOfKid, trustedPublicKey } from '../score-credentials/signing-key.ts'

type Json = Record<string, unknown>
type Fault = { field: string; reason: string }

/** The digest of what is signed, or why it is not. `publicKeys` are sound, and written as `z6Mk…`. */
export function badgeProofFault(
  credential: Json,
  { publicKeys, now }: { publicKeys: readonly string[]; now: Date },
): { sha256: string } | Fault {
  const { proof: presented, ...document } = credential
  const chosen = chosenProof(presented)
  if ('reason' in chosen) return chosen
  const { proofValue, ...options } = chosen.proof
  const optionsFault = faultOfOptions(options, { document, now })
  if (optionsFault !== null) return optionsFault
  const keys = keysFor(options.verificationMethod, publicKeys)
  if (keys.length === 0)
    return fault('verificationMethod', 'is a key that the source is not registered with')
  const signature = typeof proofValue === 'string' ? signatureOf(proofValue) : null
  if (signature === null) return fault('proofValue', 'must be base58btc of 64 bytes')
  const digest = sha256(canonicalJson(document))
  const signed = Buffer.concat([sha256(canonicalJson(options)), digest])
  const holds = keys.some((kid) => verify(null, signed, keyOf(kid), signature))
  return holds
    ? { sha256: digest.toString('hex') }
    : fault('proofValue', 'does not hold: the badge was changed, or signed by another key')
}

const proofsMax = 8

/** The one that is checked, of several that are independent of each other. */
function chosenProof(presented: unknown): { proof: Json } | Fault {
  const proofs = (Array.isArray(presented) ? presented : [presented]).filter(isJsonObject)
  if (proofs.length === 0) return { field: 'proof', reason: 'is missing' }
  if (proofs.length > proofsMax) return { field: 'proof', reason: `are more than ${proofsMax}` }
  const isOf = (suite: string) => (proof: Json) =>
    proof.type === 'DataIntegrityProof' && proof.cryptosuite === suite
  const jcs = proofs.find(isOf('eddsa-jcs-2022'))
  if (jcs !== undefined) return { proof: jcs }
  return proofs.some(isOf('eddsa-rdfc-2022'))
    ? fault('cryptosuite', 'eddsa-rdfc-2022 is not checked here: ask for eddsa-jcs-2022')
    : fault('cryptosuite', 'must be eddsa-jcs-2022 of a DataIntegrityProof')
}

/** A context that the proof was not made for could give the terms another meaning: it must be the document's own, to the letter. */
function faultOfOptions(
  options: Json,
  { document, now }: { document: Json; now: Date },
): Fault | null {
  const { proofPurpose, expires, previousProof, '@context': context } = options
  if (proofPurpose !== 'assertionMethod') return fault('proofPurpose', 'must be assertionMethod')
  if (previousProof !== undefined) return fault('previousProof', 'is not supported')
  if (context !== undefined && canonicalJson(context) !== canonicalJson(document['@context']))
    return fault('@context', 'is not the context of the badge')
  if (expires === undefined) return null
  const end = typeof expires === 'string' ? instantOf(expires) : null
  if (end === null) return fault('expires', 'must be a date-time with a zone')
  return end <= now ? fault('expires', 'is past') : null
}

/** A method whose name holds a key is that key; the name of any other says nothing that we could look up. */
function keysFor(method: unknown, publicKeys: readonly string[]): readonly string[] {
  if (typeof method !== 'string') return []
  const named = /z6Mk[1-9A-HJ-NP-Za-km-z]{44}$/.exec(method)?.[0]
  return named === undefined ? publicKeys : publicKeys.filter((kid) => kid === named)
}

function keyOf(kid: string) {
  const publicKey = publicKeyOfKid(kid)
  if (publicKey === null) throw new Error('a source has a key that is none')
  return trustedPublicKey(publicKey)
}

function fault(field: string, reason: string): Fault {
  return { field: `proof.${field}`, reason }
}
