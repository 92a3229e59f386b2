/** The handlers of discovery. */
import type { Operation } from '../edge/http/contract.ts'
import { type PublicDocument, publicDocument } from '../edge/http/document.ts'
import type { Answer, Handlers } from '../edge/http/endpoint.ts'
import { linkHeader } from '../edge/http/link-header.ts'
import { type ErrorName, type ErrorRow, errorTable, refuse } from '../platform/errors.ts'
import type { discoveryContract } from './contract.ts'
import { engineDiscoveryOf, type SigningFacts, type StandardFacts } from './engine.ts'
import type { EngineFacts } from './engine-facts.ts'
import { openApiDocument } from './openapi.ts'
import type { WebhookDeclaration } from './openapi-webhooks.ts'
import { type ReleaseFacts, releaseManifestOf } from './release-manifest.ts'

export interface DiscoveryOptions {
  /** Name of the cookie that holds a session. */
  sessionCookie: string
  /** Base address without a trailing slash, e.g. `https://scores.example.org` (decision D3). */
  publicUrl: string
  /** Every operation of the service. */
  operations: readonly Operation[]
  webhooks: readonly WebhookDeclaration[]
  release: ReleaseFacts
  /** Called at each request: the engine may be recalled while the service runs. */
  engine: () => EngineFacts
  standard: StandardFacts
  /** Called at each request: a key may become active while the service runs. */
  signing: () => SigningFacts
  /** Returns the page about an error, for browsers. */
  errorPage: (error: ErrorName) => PublicDocument
}

const maxAgeSeconds = 300

export function discoveryHandlers(options: DiscoveryOptions): Handlers<typeof discoveryContract> {
  const { publicUrl, sessionCookie, operations, webhooks, release, engine, standard, signing } =
    options
  const contract = lastDocument({
    Link: linkHeader([{ url: '/docs/api', rel: 'alternate', type: 'text/html' }]),
  })
  const description = lastDocument()
  const manifest = lastDocument()
  const errors = errorDocuments(options.errorPage)

  const getOpenApi = () => ({
    document: contract('', () =>
      openApiDocument(operations, { publicUrl, webhooks, sessionCookie }),
    ),
  })
  return {
    getOpenApi,
    getWellKnownOpenApi: getOpenApi,
    getEngineDiscovery() {
      const facts = { standard, engine: engine(), signing: signing(), publicUrl }
      const key = `${facts.engine.state} ${facts.signing.verificationMethod}`
      return { document: description(key, () => engineDiscoveryOf(facts)) }
    },
    getReleaseManifest() {
      const facts = { release, engine: engine(), publicUrl }
      return { document: manifest(facts.engine.state, () => releaseManifestOf(facts)) }
    },
    getErrorDescription: ({ path }) => documentAnswer(errors.get(path.name)),
  }
}

function documentAnswer(document: PublicDocument | undefined): Answer {
  return document === undefined ? refuse('not_found') : { document }
}

/**
 * Returns a function that makes its document again whenever the key differs from the previous call.
 */
function lastDocument(
  headers: Record<string, string> = {},
): (key: string, make: () => object) => PublicDocument {
  let last: { key: string; document: PublicDocument } | undefined
  return (key, make) => {
    if (last === undefined || last.key !== key)
      last = { key, document: jsonDocument(make(), headers) }
    return last.document
  }
}

/** Each is made at its first request. */
function errorDocuments(page: DiscoveryOptions['errorPage']) {
  const made = new Map<string, PublicDocument>()
  return {
    get(name: string): PublicDocument | undefined {
      if (!Object.hasOwn(errorTable, name)) return undefined
      const error = name as ErrorName
      const document = made.get(error) ?? errorDocument(error, page(error))
      made.set(error, document)
      return document
    },
  }
}

function errorDocument(error: ErrorName, page: PublicDocument): PublicDocument {
  const { command: _, ...row }: ErrorRow = errorTable[error]
  return publicDocument({
    body: JSON.stringify({ error, ...row }),
    contentType: 'application/json',
    maxAgeSeconds,
    page,
  })
}

function jsonDocument(body: object, headers: Record<string, string>): PublicDocument {
  return publicDocument({
    body: JSON.stringify(body),
    contentType: 'application/json',
    maxAgeSeconds,
    headers,
  })
}
