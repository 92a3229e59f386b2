/**
 * Measures the verify module without HTTP and database, from the bytes of a body to the verdict.
 * Beside it: bare Ed25519 verification with a parsed key, by Node and by the library that verifies
 * here; and the reference libraries, which get their contexts locally and check no status.
 */
import { generateKeyPairSync, sign, verify } from 'node:crypto'
import { type Issuer, signCredential } from '../src/credentials/issue.ts'
import { makeProof, type ProofForm, proofForms } from '../src/credentials/proof.ts'
import { signList } from '../src/credentials/publish-lists.ts'
import { signatureCache } from '../src/credentials/signature-cache.ts'
import { listLength } from '../src/credentials/status-list.ts'
import { vcSha256Of } from '../src/credentials/trust.ts'
import {
  type RegisteredStatus,
  type StatusQuestion,
  verifyCredential,
} from '../src/credentials/verify.ts'
import { ed25519Library } from '../src/platform/crypto/ed25519.ts'
import { parseStrictJson } from '../src/platform/json/strict-json.ts'
import {
  issuedAt,
  type Json,
  now,
  origin,
  score,
  signer,
  trust,
} from '../test/support/build/credentials.ts'
import {
  type PeerForm,
  peerIssues,
  peerVerifies,
  signerSuite,
  verifierSuite,
} from '../test/support/oracle/peer.ts'
import { type Contestant, costsOf, type Finding, report } from './measure.ts'

const credentialsWanted = 1_000
const issuer: Issuer = { origin, signer, validityDays: 365, supersedeRevokes: false }

const issued = Array.from({ length: credentialsWanted }, (_, i) => {
  const token = i.toString(16).padStart(64, '0')
  const slot = { token, listId: 'k3x7qzm2ab', index: i }
  return signCredential(issuer, { ...score({ score: i }), issuedAt }, slot).issued
})

const registry = new Map<string, RegisteredStatus>(
  issued.map(({ statusToken, vcSha256 }) => [
    statusToken,
    {
      kind: 'registered',
      vcSha256: Buffer.from(vcSha256, 'hex'),
      revokedAt: null,
      supersededAt: null,
      keyRevokedAt: null,
    },
  ]),
)

const statusOf = async ({ token }: StatusQuestion): Promise<RegisteredStatus> =>
  registry.get(token?.toString('hex') ?? '') ?? { kind: 'unknown' }

function payloadOf({ proof, ...payload }: { proof?: unknown }): Json {
  if (proof === undefined) throw new Error('a credential has a proof')
  return payload
}

function credentialsInForm(form: ProofForm): Json[] {
  return issued.map(({ credential }) => {
    const payload = payloadOf(credential)
    const signed = { document: payload, shape: origin.shape, jcsSha256: vcSha256Of(payload) }
    const verificationMethod = `${origin.issuer}#${signer.kid}`
    const options = { form, created: credential.validFrom, verificationMethod }
    return { ...payload, proof: makeProof(signed, options, signer) }
  })
}

/** Uses the items in turn, without end. */
function inTurn<Item, Result>(items: readonly Item[], use: (item: Item) => Result): () => Result {
  let next = 0
  return () => use(items[next++ % items.length] as Item)
}

/** Too small to keep any credential until its next turn. */
const tooSmall = signatureCache(2)

async function verifyBody(body: Buffer, signatures = tooSmall): Promise<void> {
  const parsed = parseStrictJson(body)
  if (parsed.kind !== 'value') throw new Error('a credential is strict JSON')
  const context = { trust, signatures, now, statusOf }
  const { valid, reason } = await verifyCredential(parsed.value as Json, null, context)
  if (!valid) throw new Error(`a credential of the benchmark is ${reason}`)
}

function ours(form: ProofForm): Contestant {
  const bodies = credentialsInForm(form).map((credential) =>
    Buffer.from(JSON.stringify(credential)),
  )
  return { name: form, run: inTurn(bodies, (body) => verifyBody(body)), operations: 1_000 }
}

function repeated(): Contestant {
  const body = Buffer.from(JSON.stringify(issued[0]?.credential))
  const signatures = signatureCache()
  return { name: 'repeated', run: () => verifyBody(body, signatures), operations: 3_000 }
}

function bare(): Contestant[] {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const signed = Array.from({ length: credentialsWanted }, (_, i) => {
    const bytes = Buffer.alloc(64, i)
    return { bytes, signature: sign(null, bytes, privateKey) }
  })
  const verifyOne = inTurn(signed, ({ bytes, signature }) => {
    if (!verify(null, bytes, publicKey, signature)) throw new Error('a signature verifies')
  })
  const signOne = inTurn(signed, ({ bytes }) => sign(null, bytes, privateKey))
  const { verify: verifyByLibrary, name } = ed25519Library()
  const x = publicKey.export({ format: 'jwk' }).x ?? ''
  const key = { publicKey: Buffer.from(x, 'base64url'), keyObject: publicKey }
  const verifyOneByLibrary = inTurn(signed, ({ bytes, signature }) => {
    if (!verifyByLibrary(bytes, key, signature)) throw new Error('a signature verifies')
  })
  return [
    { name: 'bare verify', run: verifyOne, operations: 1_000 },
    { name: `bare verify by ${name}`, run: verifyOneByLibrary, operations: 2_000 },
    { name: 'bare sign', run: signOne, operations: 2_000 },
  ]
}

async function peers(form: PeerForm): Promise<Contestant[]> {
  const [verifier, issuing] = [await verifierSuite(form), await signerSuite(form)]
  const credentials = credentialsInForm(form)
  const payloads = credentials.map(payloadOf)
  const verifyOne = inTurn(credentials, async (credential) => {
    const verified = await peerVerifies(credential, verifier, now)
    if (verified !== true) throw new Error(verified)
  })
  return [
    { name: `peer ${form}`, run: verifyOne, operations: 60 },
    {
      name: `peer issues ${form}`,
      run: inTurn(payloads, (payload) => peerIssues(payload, issuing)),
      operations: 60,
    },
  ]
}

function issue(): Contestant {
  let index = 0
  const run = () => {
    const slot = { token: 'ab'.repeat(32), listId: 'k3x7qzm2ab', index: index++ % listLength }
    return signCredential(issuer, { ...score(), issuedAt }, slot)
  }
  return { name: 'issue', run, operations: 2_000 }
}

/** A list with one revoked credential in a hundred: bits, gzip, three signatures. */
function rebuild(): Contestant {
  const indexes = Array.from({ length: 983 }, (_, i) => (i * 7_919) % listLength)
  const list = { listId: 'k3x7qzm2ab', revision: 1, indexes, publishedAt: now }
  return { name: 'list rebuild', run: () => signList({ origin, signer }, list), operations: 100 }
}

const here = ed25519Library().name
const costs = await costsOf([
  ...bare(),
  ...proofForms.map(ours),
  repeated(),
  issue(),
  rebuild(),
  ...(await peers('eddsa-rdfc-2022')),
  ...(await peers('eddsa-jcs-2022')),
])

function perSecond(name: string): Finding {
  return { name, value: 1e6 / costs.of(name), unit: '/cpu s' }
}

function ratio(name: string, [fast, slow]: readonly [string, string], min?: number): Finding {
  const value = costs.ratio(fast, slow)
  return { name, value, unit: '×', ...(min === undefined ? {} : { target: { min } }) }
}

report('verify module', [
  ...costs.names.map(perSecond),
  ratio('native / bare verify', ['native', 'bare verify'], 0.68),
  ratio(`native / bare verify by ${here}`, ['native', `bare verify by ${here}`]),
  ratio('eddsa-rdfc-2022 / bare verify', ['eddsa-rdfc-2022', 'bare verify'], 0.6),
  ratio('eddsa-jcs-2022 / bare verify', ['eddsa-jcs-2022', 'bare verify']),
  ratio('native / peer rdfc verify', ['native', 'peer eddsa-rdfc-2022'], 10),
  ratio('rdfc / peer rdfc verify', ['eddsa-rdfc-2022', 'peer eddsa-rdfc-2022'], 10),
  ratio('jcs / peer jcs verify', ['eddsa-jcs-2022', 'peer eddsa-jcs-2022']),
  ratio('repeated / first (native)', ['repeated', 'native'], 3),
  ratio('issue / bare sign', ['issue', 'bare sign'], 0.38),
  ratio('issue / peer rdfc issue', ['issue', 'peer issues eddsa-rdfc-2022']),
  ratio('issue / peer jcs issue', ['issue', 'peer issues eddsa-jcs-2022']),
])
