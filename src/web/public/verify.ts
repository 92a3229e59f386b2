/**
 * The verify page. A form posts a link, a handle or a document; the answer shows the verdict of the
 * service, and a script adds that of the browser. `/verify?of=…` checks the current credential of a
 * person; `/verify#z=…` holds a document, packed with raw deflate.
 */
import { Type } from 'typebox'
import { didDocumentOf } from '../../credentials/documents.ts'
import { originOf } from '../../credentials/payload.ts'
import type { RegistryCache } from '../../credentials/registry-cache.ts'
import {
  anonymousVerifyLimits,
  type VerifyResult,
  verifyBodyBytesMax,
  verifyPagePath,
} from '../../credentials/schema.ts'
import type { Verifier } from '../../credentials/verifier.ts'
import { type Answer, type Endpoint, endpoint } from '../../edge/http/endpoint.ts'
import type { Clock } from '../../platform/clock.ts'
import { refuse, UnavailableError } from '../../platform/errors.ts'
import { isJsonObject } from '../../platform/json/closed-object.ts'
import { parseStrictJson } from '../../platform/json/strict-json.ts'
import type { CandidateReads } from '../../workers/candidates/reads.ts'
import { formBody, redirect } from '../layout.ts'
import { pageDocument, publicEndpoint, type Site, viewAnswer } from '../public-page.ts'
import { publicRefusalPage } from '../refusal-page.ts'
import {
  noCredential,
  nothingPublic,
  readInput,
  readName,
  type VerifyInput,
} from './verify-input.ts'
import {
  type FormView,
  type Holder,
  issuerKeysPath,
  resultView,
  startView,
  statusView,
} from './verify-view.ts'

export interface VerifyPageOptions {
  clock: Clock
  verifier: Verifier
  /** Holds the keys of every address of this deployment. */
  registryCache: Pick<RegistryCache, 'keys'>
  formerPublicUrls: readonly string[]
  /** Reads what is public about a person, and the current credential. */
  candidates: CandidateReads
  /** Null: the operator has given no name. */
  operatorName: string | null
  areProfilesIndexed: boolean
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

/** A page costs a look-up of the person and a check. */
const pageLimits = { perMinute: 120, perDay: 20_000 }

export function verifyPages(site: Site, options: VerifyPageOptions): Endpoint[] {
  const { demoDocument, registryCache, formerPublicUrls } = options
  const origins = [site.publicUrl, ...formerPublicUrls].map(originOf)
  const form: FormView = { demos: demoDocument === null ? [] : demoWords, origins }
  const start = pageDocument(site, startView(form))
  const context = { publicUrls: [site.publicUrl, ...formerPublicUrls] }
  const check = (input: VerifyInput, demo?: string) =>
    answerTo(input, { ...options, site, form, demo })
  return [
    publicEndpoint(site, {
      name: 'verify page',
      path: verifyPagePath,
      // The public name of a person or a score. A document has no place in an address.
      queryParameters: Type.Object({ of: Type.Optional(Type.String({ maxLength: 200 })) }),
      limits: pageLimits,
      isFreeWithoutQuery: true,
      answer: ({ query: { of } }) =>
        of === undefined ? { document: start } : check(readName(of, context)),
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
      // Percent-encoding makes up to three bytes of one.
      body: formBody(3 * verifyBodyBytesMax + 1_024),
      answer({ body }) {
        const input = readInput((body as Record<string, string>).document ?? '', context)
        // The address of a person or a score can be shared, and the way back to it works.
        return 'of' in input ? redirect(nameUrl(input.of)) : check(input)
      },
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
              return text === null
                ? refuse('not_found')
                : check({ kind: 'document', text }, path.name)
            },
          }),
        ]),
  ]
}

/** The handle of a person keeps its @, which needs no encoding in a query. */
function nameUrl(of: string): string {
  return `${verifyPagePath}?of=${encodeURIComponent(of).replace('%40', '@')}`
}

interface Asked extends VerifyPageOptions {
  site: Site
  form: FormView
  demo: string | undefined
}

async function answerTo(input: VerifyInput, asked: Asked): Promise<Answer> {
  const { site, form, candidates } = asked
  const refused = (problem: string, { text = '', status = 400 } = {}) =>
    viewAnswer(site, startView({ ...form, problem, text }), status)
  if (input.kind === 'problem') return refused(input.message)
  if (input.kind === 'status')
    return viewAnswer(site, statusView(await stateOf(input.token, asked), form))
  if (input.kind !== 'document') {
    const read = await candidates.credential(input, 'native')
    if (!('credential' in read))
      return refused(read.missing === 'score' ? nothingPublic : noCredential, { status: 404 })
    const text = JSON.stringify(read.credential, null, 2)
    return answerTo({ kind: 'document', text }, asked)
  }
  const { text, note } = input
  const read = parseStrictJson(Buffer.from(text))
  if (read.kind === 'invalid' || !isJsonObject(read.value))
    return refused('This JSON is no object, so it is no credential.', {
      text: text.slice(0, shownMax),
    })
  const ambiguity = read.kind === 'ambiguous' ? read.why : null
  const result = await asked.verifier.verify(read.value, ambiguity)
  const document = read.kind === 'value' ? read.value : null
  const holder = await holderOf(result, asked)
  const { publicUrl, host } = site
  const { operatorName, areProfilesIndexed, demo } = asked
  const now = asked.clock()
  const shown = { text, note, document, result, holder, now, demo }
  return viewAnswer(
    site,
    resultView({ ...form, ...shown, publicUrl, host, operatorName, areProfilesIndexed }),
  )
}

/** The profile of a former address has the same path at the present one. */
async function holderOf(
  { credential, presented }: VerifyResult,
  { form, candidates }: Asked,
): Promise<Holder | null> {
  const subject = credential?.subject ?? ''
  const prefix = form.origins.map(({ url }) => `${url}/u/`).find((one) => subject.startsWith(one))
  if (prefix === undefined) return null
  const username = subject.slice(prefix.length)
  // The verdict stands without the profile.
  const found = await candidates.candidate(username).catch(absentIfUnavailable)
  const current = found?.detail.score?.scoreVc?.sha256
  const isCurrent = current !== undefined && current === presented.payloadSha256
  return { username, detail: found?.detail ?? null, isCurrent }
}

function absentIfUnavailable(error: unknown): null {
  if (error instanceof UnavailableError) return null
  throw error
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
