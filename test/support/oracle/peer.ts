/**
 * The Digital Bazaar reference libraries ("the peer"), with every context local and no network.
 * They are oracles of the tests and the opponent in benchmarks. They have no type declarations, so
 * this file declares the few types it needs.
 */
import { contextDocument } from '../../../src/standard/context.ts'
import { type Json, origin, publicUrl, vector } from '../build/credentials.ts'

interface Result {
  verified: boolean
  error?: { errors?: { message: string }[] } & Error
  results?: { status?: boolean }[]
}

interface Suite {
  readonly suite: object
}

/** Documents that the document loader answers beside the contexts: status lists and keys. */
export type Documents = Record<string, unknown>

const w3c = await importUntyped<{ contexts: Map<string, unknown> }>(
  '@digitalbazaar/credentials-context',
)
const vc = await importUntyped<{
  issue(options: object): Promise<Json>
  verifyCredential(options: object): Promise<Result>
}>('@digitalbazaar/vc')
const { DataIntegrityProof } = await importUntyped<{
  DataIntegrityProof: new (options: object) => object
}>('@digitalbazaar/data-integrity')
const multikey = await importUntyped<{
  generate(options: object): Promise<{ signer(): object }>
}>('@digitalbazaar/ed25519-multikey')
const statusLists = await importUntyped<{
  checkStatus(options: object): Promise<Result>
}>('@digitalbazaar/vc-bitstring-status-list')
const jsonld = await importUntyped<{
  default: { canonize(document: unknown, options: object): Promise<string> }
}>('jsonld')

const verificationMethod = `${origin.issuer}#${vector.key.publicKeyMultibase}`

/** The key and its controller, as a resolver returns them for our did:web document. */
const keyDocuments: Documents = {
  [verificationMethod]: {
    '@context': 'https://w3id.org/security/multikey/v1',
    id: verificationMethod,
    type: 'Multikey',
    controller: origin.issuer,
    publicKeyMultibase: vector.key.publicKeyMultibase,
  },
  [origin.issuer]: {
    '@context': ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/multikey/v1'],
    id: origin.issuer,
    assertionMethod: [verificationMethod],
  },
}

function documentLoader(documents: Documents = {}) {
  const ours: Documents = {
    ...keyDocuments,
    [origin.contextUrl]: contextDocument(publicUrl),
    ...documents,
  }
  return async (documentUrl: string) => {
    const document = ours[documentUrl] ?? w3c.contexts.get(documentUrl)
    if (document === undefined) throw new Error(`the peer asked for the unknown ${documentUrl}`)
    return { contextUrl: null, documentUrl, document }
  }
}

export type PeerForm = 'eddsa-rdfc-2022' | 'eddsa-jcs-2022'

async function cryptosuiteOf(form: PeerForm, purpose: 'sign' | 'verify'): Promise<object> {
  const module = await importUntyped<{
    cryptosuite?: object
    createSignCryptosuite?(): object
    createVerifyCryptosuite?(): object
  }>(`@digitalbazaar/${form}-cryptosuite`)
  const made =
    purpose === 'sign' ? module.createSignCryptosuite?.() : module.createVerifyCryptosuite?.()
  const suite = module.cryptosuite ?? made
  if (suite === undefined) throw new Error(`${form} has no suite`)
  return suite
}

export async function verifierSuite(form: PeerForm): Promise<Suite> {
  const cryptosuite = await cryptosuiteOf(form, 'verify')
  return { suite: new DataIntegrityProof({ cryptosuite }) }
}

/** Returns a suite that signs with the vector's key at the vector's time. */
export async function signerSuite(form: PeerForm): Promise<Suite> {
  const key = await multikey.generate({
    id: verificationMethod,
    controller: origin.issuer,
    seed: Buffer.from(vector.key.ed25519SeedHex, 'hex'),
  })
  const cryptosuite = await cryptosuiteOf(form, 'sign')
  const date = '2026-05-14T09:00:00Z'
  return { suite: new DataIntegrityProof({ signer: key.signer(), date, cryptosuite }) }
}

const noStatusCheck = async () => ({ verified: true })

/**
 * Verifies the credential with the peer, without a status check. Returns true or the text of the
 * error.
 */
export async function peerVerifies(
  credential: Json,
  { suite }: Suite,
  now: Date,
): Promise<true | string> {
  const result = await vc.verifyCredential({
    credential,
    suite,
    now,
    documentLoader: documentLoader(),
    checkStatus: noStatusCheck,
  })
  return result.verified || errorText(result)
}

/**
 * Verifies signature, dates and status with the peer. `fetchUrl` is the only access to `did:web`
 * documents, keys, contexts and status lists; only the W3C contexts are local.
 */
export async function peerVerdict(
  credential: Json,
  { suites, now, fetchUrl }: { suites: Suite[]; now: Date; fetchUrl(url: string): Promise<Json> },
): Promise<'valid' | 'revoked' | { error: string }> {
  const suite = suites.map((one) => one.suite)
  const documentLoader = async (documentUrl: string) => {
    const document = w3c.contexts.get(documentUrl) ?? (await resolve(documentUrl, fetchUrl))
    return { contextUrl: null, documentUrl, document }
  }
  const options = { credential, suite, documentLoader }
  const signed = await vc.verifyCredential({ ...options, now, checkStatus: noStatusCheck })
  if (!signed.verified) return { error: errorText(signed) }
  const status = await statusLists.checkStatus(options)
  if (!status.verified) return { error: errorText(status) }
  return status.results?.[0]?.status === false ? 'valid' : 'revoked'
}

/** Resolves a did:web id (with a percent-encoded port), one of its keys by fragment, or a URL. */
async function resolve(url: string, fetchUrl: (url: string) => Promise<Json>): Promise<unknown> {
  if (!url.startsWith('did:web:')) return fetchUrl(url)
  const [did = '', fragment] = url.split('#')
  const host = decodeURIComponent(did.slice('did:web:'.length))
  const document = await fetchUrl(`https://${host}/.well-known/did.json`)
  if (fragment === undefined) return document
  const methods = document.verificationMethod as Json[]
  const method = methods.find(({ id }) => id === url)
  if (method === undefined) throw new Error(`${did} has no key ${fragment}`)
  return { '@context': 'https://w3id.org/security/multikey/v1', ...method }
}

/**
 * Issues a credential with the peer. `documents` are contexts that the payload names, in addition
 * to the W3C contexts and ours.
 */
export function peerIssues(
  payload: Json,
  { suite }: Suite,
  documents: Documents = {},
): Promise<Json> {
  const loader = documentLoader(documents)
  return vc.issue({ credential: structuredClone(payload), suite, documentLoader: loader })
}

/**
 * Returns the bit that the peer reads for a credential in `list`, after it has checked the list's
 * signature. Throws the peer's error.
 */
export async function peerStatusBit(credential: Json, list: Json, { suite }: Suite) {
  const result = await statusLists.checkStatus({
    credential,
    suite,
    documentLoader: documentLoader({ [String(list.id)]: list }),
  })
  if (!result.verified) throw new Error(errorText(result))
  return result.results?.[0]?.status
}

/** Returns the RDFC-1.0 canonical form, computed by `jsonld` in safe mode. */
export function peerNQuads(document: Json): Promise<string> {
  return jsonld.default.canonize(document, {
    algorithm: 'RDFC-1.0',
    format: 'application/n-quads',
    safe: true,
    documentLoader: documentLoader(),
  })
}

function errorText({ error, results }: Result): string {
  const messages = error?.errors?.map(({ message }) => message)
  return messages?.join('; ') ?? error?.message ?? JSON.stringify(results)
}

/**
 * Imports a module without type declarations. `name` is not a literal, so the compiler does not
 * look for them.
 */
async function importUntyped<Module>(name: string): Promise<Module> {
  return (await import(name)) as Module
}
