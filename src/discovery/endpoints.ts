/** The routes of discovery (spec §4.1), but for the key document, which belongs to score credentials. */
import { type PublicDocument, publicDocument } from '../platform/document.ts'
import { commonResponses, type Endpoint, endpoint } from '../platform/endpoint.ts'
import { type ErrorName, errorTable, refuse } from '../platform/errors.ts'
import { wellKnownPath } from '../platform/identifiers.ts'
import { engineDiscoveryOf, type SigningFacts, type StandardFacts } from './engine.ts'
import { openApiDocument } from './openapi.ts'
import type { WebhookDeclaration } from './openapi-webhooks.ts'
import { exampleRelease, type ReleaseFacts, releaseManifestOf } from './release-manifest.ts'
import {
  engineDiscovery,
  errorDescription,
  errorNamePath,
  openApi,
  releaseManifest,
} from './schema.ts'

export interface DiscoveryOptions {
  /** Without a trailing slash, e.g. `https://scores.example.org` (decision D3). */
  publicUrl: string
  /** Every endpoint of the service, these included; asked for when the first document is made. */
  endpoints: () => readonly Endpoint[]
  webhooks: readonly WebhookDeclaration[]
  release: ReleaseFacts
  standard: StandardFacts
  /** Asked for at each request: a key may become active while the service runs. */
  signing: () => SigningFacts
}

const maxAgeSeconds = 300
const exampleKid = 'z6MkvDqGT54cXesYGvABpF1UapVNwjCqRcafi4Px6Thv5T3Z'

export function discoveryEndpoints(options: DiscoveryOptions): Endpoint[] {
  const { publicUrl, endpoints, webhooks, release, standard, signing } = options
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
  const manifest = made(() => jsonDocument(releaseManifestOf(publicUrl, release)))
  const engineOf = (facts: SigningFacts) =>
    engineDiscoveryOf(publicUrl, { standard, signing: facts, urlOf })
  let engine: { madeFor: string | null; document: PublicDocument } | undefined

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
    shed: 1,
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
          // Not made now: it names routes of rooms that are yet to be declared.
          get example() {
            const { issuer, proofForms } = signing()
            return engineOf({ issuer, proofForms, verificationMethod: `${issuer}#${exampleKid}` })
          },
        },
        ...commonResponses,
      },
      answer() {
        const facts = signing()
        if (engine === undefined || engine.madeFor !== facts.verificationMethod)
          engine = { madeFor: facts.verificationMethod, document: jsonDocument(engineOf(facts)) }
        return { document: engine.document }
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
          example: releaseManifestOf(publicUrl, exampleRelease),
        },
        ...commonResponses,
      },
      answer: () => ({ document: manifest() }),
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

/** Made by the first call, then kept. */
function made<Made>(make: () => Made): () => Made {
  let kept: Made | undefined
  return () => (kept ??= make())
}

function jsonDocument(body: object): PublicDocument {
  return publicDocument({
    body: JSON.stringify(body),
    contentType: 'application/json',
    maxAgeSeconds,
  })
}
