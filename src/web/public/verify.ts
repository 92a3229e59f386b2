/**
 * The verify page. A form posts the document; the answer shows the verdict of the service, and a
 * script adds that of the browser. `/verify#z=…` holds a document, packed with raw deflate.
 */
import { Type } from 'typebox'
import type { Clock } from '../../platform/clock.ts'
import { formType } from '../../platform/http/contract.ts'
import { type Answer, type Endpoint, endpoint } from '../../platform/http/endpoint.ts'
import { refuse, UnavailableError } from '../../platform/http/errors.ts'
import { isJsonObject } from '../../platform/json/json-object.ts'
import { parseStrictJson } from '../../platform/json/strict-json.ts'
import { didDocumentOf } from '../../score-credentials/documents.ts'
import { originOf } from '../../score-credentials/payload.ts'
import type { RegistryCache } from '../../score-credentials/registry-cache.ts'
import {
  anonymousVerifyLimits,
  verifyBodyBytesMax,
  verifyPagePath,
} from '../../score-credentials/schema.ts'
import type { Verifier } from '../../score-credentials/verifier.ts'
import { pageDocument, publicEndpoint, type Site, viewAnswer } from '../public-page.ts'
import { publicRefusalPage } from '../refusal-page.ts'
import { readInput } from './verify-input.ts'
import { type FormView, issuerKeysPath, resultView, startView, statusView } from './verify-view.ts'

export interface VerifyPageOptions {
  clock: Clock
  verifier: Verifier
  /** Holds the keys of every address of this deployment. */
  registryCache: Pick<RegistryCache, 'keys'>
  formerPublicUrls: readonly string[]
  /** Returns a credential of the demo by its name. Null: there is no demo. */
  demoDocument: ((name: string) => Promise<string | null>) | null
}

export const demoWords = [
  { name: 'valid', word: 'Valid' },
  { name: 'revoked', word: 'Revoked' },
  { name: 'tampered', word: 'Tampered' },
  { name: 'expired', word: 'Expired' },
  { name: 'superseded', word: 'Superseded' },
  { name: 'wrong-issuer', word: 'Wrong issuer' },
] as const

/** Percent-encoding makes up to three bytes of one. */
const formBytesMax = 3 * verifyBodyBytesMax + 1_024

export function verifyPages(site: Site, options: VerifyPageOptions): Endpoint[] {
  const { demoDocument, registryCache, formerPublicUrls } = options
  const origins = [site.publicUrl, ...formerPublicUrls].map(originOf)
  const form: FormView = { demos: demoDocument === null ? [] : demoWords, origins }
  const start = pageDocument(site, startView(form))
  const check = (given: string, demo?: string) => answerTo(given, { ...options, site, form, demo })
  return [
    publicEndpoint(site, {
      name: 'verify page',
      path: verifyPagePath,
      answer: () => ({ document: start }),
    }),
    // A page may not fetch from another host, so it gets the keys of former addresses here.
    publicEndpoint(site, {
      name: 'verify issuer',
      path: `${issuerKeysPath}/{host}/did.json`,
      pathParameters: Type.Object({ host: Type.String() }),
      answer({ path }) {
        const origin = origins.find(({ url }) => new URL(url).host === path.host)
        const keys = registryCache.keys()
        return origin === undefined || keys.length === 0
          ? refuse('not_found')
          : { status: 200, body: didDocumentOf(origin, keys) }
      },
    }),
    endpoint({
      operationId: 'verify form',
      method: 'POST',
      path: verifyPagePath,
      area: 'pages',
      summary: 'Check a credential without a script',
      policy: { kind: 'page', limits: anonymousVerifyLimits },
      priority: 'read',
      responses: {},
      refusalPage: publicRefusalPage(site.host),
      body: {
        mediaTypes: [formType],
        schema: Type.Object({}),
        bytesMax: formBytesMax,
        ambiguousReachesHandler: false,
        examples: {},
      },
      answer: ({ body }) => check((body as Record<string, string>).document ?? ''),
    }),
    ...(demoDocument === null
      ? []
      : [
          publicEndpoint(site, {
            name: 'verify demo',
            path: `${verifyPagePath}/demo/{name}`,
            pathParameters: Type.Object({ name: Type.String() }),
            limits: anonymousVerifyLimits,
            async answer({ path }) {
              const isKnown = demoWords.some(({ name }) => name === path.name)
              const text = isKnown ? await demoDocument(path.name) : null
              return text === null ? refuse('not_found') : check(text, path.name)
            },
          }),
        ]),
  ]
}

interface Asked extends VerifyPageOptions {
  site: Site
  form: FormView
  demo: string | undefined
}

async function answerTo(given: string, { site, form, demo, ...asked }: Asked): Promise<Answer> {
  const input = readInput(given)
  const refused = (problem: string, text = '') =>
    viewAnswer(site, { ...startView({ ...form, problem, text }), isIndexed: false }, 400)
  if (input.kind === 'problem') return refused(input.message)
  if (input.kind === 'status')
    return viewAnswer(site, statusView(await stateOf(input.token, asked), form))
  const { text } = input
  const read = parseStrictJson(Buffer.from(text))
  if (read.kind === 'invalid')
    return refused(
      'This is not JSON. Paste the whole document, from the first { to the last }.',
      text.slice(0, shownMax),
    )
  if (!isJsonObject(read.value))
    return refused('This JSON is no object, so it is no credential.', text.slice(0, shownMax))
  const ambiguity = read.kind === 'ambiguous' ? read.why : null
  const result = await asked.verifier.verify(read.value, ambiguity)
  const document = read.kind === 'value' ? read.value : null
  const { publicUrl, host } = site
  return viewAnswer(
    site,
    resultView({ ...form, text, document, result, publicUrl, host, now: asked.clock(), demo }),
  )
}

/** Characters of a refused input that the form shows again. */
const shownMax = 20_000

async function stateOf(token: Buffer, { verifier }: VerifyPageOptions) {
  try {
    const status = await verifier.askStatus({ token, vcSha256: token })
    if (status.kind !== 'registered') return status.kind
    return status.revokedAt === null ? 'active' : 'revoked'
  } catch (error) {
    if (error instanceof UnavailableError) return 'unavailable'
    throw error
  }
}
