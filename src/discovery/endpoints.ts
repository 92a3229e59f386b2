/** The routes of discovery, except the key document, which belongs to score credentials. */

import { commonResponses } from '../platform/http/contract.ts'
import { type PublicDocument, publicDocument } from '../platform/http/document.ts'
import { type Endpoint, endpoint } from '../platform/http/endpoint.ts'
import { type ErrorName, errorTable, refuse } from '../platform/http/errors.ts'
import { wellKnownPath } from '../platform/http/identifiers.ts'
import { engineDiscoveryOf, type SigningFacts, type StandardFacts } from './engine.ts'
import { type EngineFacts, exampleEngine } from './engine-facts.ts'
import { openApiDocument } from './openapi.ts'
import type { WebhookDeclaration } from './openapi-webhooks.ts'
import { type PageName, pageNames } from './pages.ts'
import {
  type Envelope,
  type EnvelopeSigner,
  exampleEnvelope,
  type ProvenanceFacts,
  provenanceStatement,
  signedEnvelope,
} from './provenance.ts'
import { exampleRelease, type ReleaseFacts, releaseManifestOf } from './release-manifest.ts'
import {
  documentationPage,
  engineDiscovery,
  errorDescription,
  errorNamePath,
  openApi,
  pagePath,
  provenanceEnvelope,
  releaseManifest,
} from './schema.ts'

export interface DiscoveryOptions {
  /** Base address without a trailing slash, e.g. `https://scores.example.org` (decision D3). */
  publicUrl: string
  /**
   * Returns every endpoint of the service, these included. Called when the first document is made.
   */
  endpoints: () => readonly Endpoint[]
  webhooks: readonly WebhookDeclaration[]
  release: ReleaseFacts
  /** Called at each request: the engine may be recalled while the service runs. */
  engine: () => EngineFacts
  standard: StandardFacts
  /** Called at each request: a key may become active while the service runs. */
  signing: () => SigningFacts
  /**
   * Returns the active key, or undefined if no key is active or its private half is not on this
   * machine.
   */
  signer: () => Promise<EnvelopeSigner | undefined>
}

const maxAgeSeconds = 300
const exampleKid = 'z6MkvDqGT54cXesYGvABpF1UapVNwjCqRcafi4Px6Thv5T3Z'

export function discoveryEndpoints(options: DiscoveryOptions): Endpoint[] {
  const { publicUrl, endpoints, webhooks, release, engine, standard, signing, signer } = options
  const contract = made(() => jsonDocument(openApiDocument(endpoints(), { publicUrl, webhooks })))
  const errorDocuments = made(
    () =>
      new Map(
        (Object.keys(errorTable) as ErrorName[]).map((name) => [
          name as string,
          jsonDocument({ error: name, ...errorTable[name] }),
        ]),
      ),
  )
  const pages = made(() => pageDocuments(release))
  const manifest = madeFor()
  const description = madeFor()
  const provenance = madeFor()

  function urlOf(operationId: string): string {
    const found = endpoints().find((declared) => declared.operationId === operationId)
    if (found === undefined) throw new Error(`no operation is called ${operationId}`)
    return `${publicUrl}${found.path}`
  }

  const shared = {
    method: 'GET',
    area: 'discovery',
    policy: { kind: 'open' },
    document: true,
    priority: 'public',
  } as const
  const contractRoute = {
    ...shared,
    summary: 'The contract of this interface (OpenAPI 3.1)',
    responses: {
      200: {
        description: 'The contract.',
        schema: openApi,
        example: {
          openapi: '3.1.0',
          info: { title: 'The contract in short', version: '2026-05-14' },
          paths: {},
        },
      },
      ...commonResponses,
    },
    answer: () => ({ document: contract() }),
  }

  return [
    endpoint({ ...contractRoute, operationId: 'getOpenApi', path: '/api/v1/openapi.json' }),
    endpoint({
      ...contractRoute,
      operationId: 'getWellKnownOpenApi',
      path: wellKnownPath('openapi'),
      description: 'The same document as at /api/v1/openapi.json.',
    }),
    endpoint({
      ...shared,
      operationId: 'getEngineDiscovery',
      path: wellKnownPath('engine'),
      summary: 'Skill standard, engine and credentials: what is used here and where it is',
      responses: {
        200: {
          description: 'The description.',
          schema: engineDiscovery,
          // Made on demand: it names routes of modules that are not declared yet.
          get example() {
            const { issuer, proofForms } = signing()
            const verificationMethod = `${issuer}#${exampleKid}`
            const facts = { issuer, proofForms, verificationMethod }
            return engineDiscoveryOf({ standard, engine: exampleEngine, signing: facts, urlOf })
          },
        },
        ...commonResponses,
      },
      answer() {
        const facts = { standard, engine: engine(), signing: signing(), urlOf }
        const key = `${facts.engine.state} ${facts.signing.verificationMethod}`
        return { document: description(key, () => jsonDocument(engineDiscoveryOf(facts))) }
      },
    }),
    endpoint({
      ...shared,
      operationId: 'getReleaseManifest',
      path: wellKnownPath('score-core-release-manifest'),
      summary: 'The release that runs here, file by file',
      responses: {
        200: {
          description: 'The manifest.',
          schema: releaseManifest,
          get example() {
            return releaseManifestOf({ release: exampleRelease, engine: exampleEngine, urlOf })
          },
        },
        ...commonResponses,
      },
      answer() {
        const facts = { release, engine: engine(), urlOf }
        const make = () => jsonDocument(releaseManifestOf(facts))
        return { document: manifest(facts.engine.state, make) }
      },
    }),
    endpoint({
      ...shared,
      operationId: 'getEngineProvenance',
      path: wellKnownPath('score-core-provenance'),
      summary: 'Where the bytes of the engine come from, signed by the operator',
      description:
        'An in-toto statement (slsa.dev/provenance/v1) in a DSSE envelope, under the key that signs score credentials.',
      extension: true,
      responses: {
        200: {
          description: 'The envelope.',
          schema: provenanceEnvelope,
          example: exampleEnvelope,
        },
        ...commonResponses,
        503: {
          description:
            'No signing key is here, or the engine was refused when the service started.',
          errors: ['signing_not_configured', 'unavailable', 'overloaded'],
        },
      },
      async answer() {
        const { loaded } = engine()
        if (loaded === null)
          return refuse('unavailable', { message: 'The engine of this release was refused.' })
        const by = await signer()
        if (by === undefined) return refuse('signing_not_configured')
        const facts = { engine: loaded, release, issuer: signing().issuer, urlOf }
        return { document: provenance(by.keyid, () => jsonDocument(envelopeOf(facts, by))) }
      },
    }),
    endpoint({
      ...shared,
      operationId: 'getDocumentationPage',
      path: '/docs/{page}',
      summary: 'How scores are computed, and what changed from release to release',
      extension: true,
      pathParameters: pagePath,
      responses: {
        200: {
          description: 'The page, in Markdown.',
          schema: documentationPage,
          contentType: markdown,
          example: exampleRelease.pages.scoring,
        },
        ...commonResponses,
        404: { description: 'There is no such page.', errors: ['not_found'] },
      },
      answer({ path }) {
        const document = pages().get(path.page as PageName)
        return document === undefined ? refuse('not_found') : { document }
      },
    }),
    endpoint({
      ...shared,
      operationId: 'getErrorDescription',
      path: '/docs/errors/{name}',
      summary: 'What an error means and what to do',
      description: 'Every error answer links here.',
      extension: true,
      pathParameters: errorNamePath,
      responses: {
        200: {
          description: 'The error.',
          schema: errorDescription,
          example: { error: 'rate_limited', ...errorTable.rate_limited },
        },
        ...commonResponses,
        404: { description: 'No error has this name.', errors: ['not_found'] },
      },
      answer({ path }) {
        const document = errorDocuments().get(path.name)
        return document === undefined ? refuse('not_found') : { document }
      },
    }),
  ]
}

/** Returns a function that makes its result in the first call and keeps it. */
function made<Made>(make: () => Made): () => Made {
  let kept: Made | undefined
  return () => (kept ??= make())
}

/**
 * Returns a function that makes its document again whenever the key differs from the previous call.
 */
function madeFor(): (key: string, make: () => PublicDocument) => PublicDocument {
  let last: { key: string; document: PublicDocument } | undefined
  return (key, make) => {
    if (last === undefined || last.key !== key) last = { key, document: make() }
    return last.document
  }
}

function envelopeOf(facts: ProvenanceFacts, signer: EnvelopeSigner): Envelope {
  return signedEnvelope(provenanceStatement(facts), signer)
}

const markdown = 'text/markdown; charset=utf-8'

function pageDocuments({ pages }: ReleaseFacts): Map<PageName, PublicDocument> {
  return new Map(
    pageNames.flatMap((name) => {
      const body = pages[name]
      if (body === undefined) return []
      return [[name, publicDocument({ body, contentType: markdown, maxAgeSeconds })] as const]
    }),
  )
}

function jsonDocument(body: object): PublicDocument {
  return publicDocument({
    body: JSON.stringify(body),
    contentType: 'application/json',
    maxAgeSeconds,
  })
}
