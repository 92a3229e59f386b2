/**
 * Pure: verification of a credential's proof against a list of keys. Only `eddsa-jcs-2022` of the
 * W3C recommendation vc-di-eddsa is supported. It signs SHA-256(JCS(proof without its value)) ‖
 * SHA-256(JCS(document without proof)) with Ed25519, so it needs neither JSON-LD nor contexts.
 */
import { verify } from 'node:crypto'
import { signatureOf } from '../../credentials/proof.ts'
import { publicKeyOfKid, trustedPublicKey } from '../../credentials/signing-key.ts'
import { sha256 } from '../../platform/crypto/bytes.ts'
import { instantOf } from '../../platform/instant.ts'
import { canonicalJson } from '../../platform/json/canonical-json.ts'
import { isJsonObject } from '../../platform/json/json-object.ts'

type Json = Record<string, unknown>
type Fault = { field: string; reason: string }

/**
 * Returns the SHA-256 of the document without proof, or the reason for rejecting the proof. Every
 * text of `publicKeys` is a valid Ed25519 key in the form `z6Mk…`.
 */
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

/**
 * Selects the proof to verify. Several proofs of one document are independent of each other, so one
 * is enough.
 */
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

/**
 * Checks the proof options. The context of a proof must equal the context of the document, because
 * another context could give its terms another meaning.
 */
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

/**
 * Returns the keys to try. A verification method whose name ends in a key allows only that key; any
 * other name is not resolved.
 */
function keysFor(method: unknown, publicKeys: readonly string[]): readonly string[] {
  if (typeof method !== 'string') return []
  const named = /z6Mk[1-9A-HJ-NP-Za-km-z]{44}$/.exec(method)?.[0]
  return named === undefined ? publicKeys : publicKeys.filter((kid) => kid === named)
}

function keyOf(kid: string) {
  const publicKey = publicKeyOfKid(kid)
  if (publicKey === null) throw new Error('a source has an invalid key')
  return trustedPublicKey(publicKey)
}

function fault(field: string, reason: string): Fault {
  return { field: `proof.${field}`, reason }
}
