/**
 * The endpoints of discovery, except the key documents, which belong to score credentials.
 */
import { type Contract, commonResponses } from '../platform/http/contract.ts'
import { errorTable } from '../platform/http/errors.ts'
import { wellKnownPath } from '../platform/http/identifiers.ts'
import { exampleDiscovery, exampleEnvelope, exampleManifest, exampleRelease } from './examples.ts'
import {
  documentationPage,
  engineDiscovery,
  enginePath,
  errorDescription,
  errorNamePath,
  manifestPath,
  markdownType,
  openApi,
  openApiPath,
  pagePath,
  pagesPath,
  provenanceEnvelope,
  provenancePath,
  releaseManifest,
} from './schema.ts'

const shared = {
  method: 'GET',
  area: 'discovery',
  policy: { kind: 'open' },
  document: true,
  priority: 'public',
} as const

const openApiShared = {
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
}

export const discoveryContract = {
  getOpenApi: { ...openApiShared, path: openApiPath },
  getWellKnownOpenApi: {
    ...openApiShared,
    path: wellKnownPath('openapi'),
    description: 'The same document as at /api/v1/openapi.json.',
  },
  getEngineDiscovery: {
    ...shared,
    path: enginePath,
    summary: 'Skill standard, engine and credentials: what is used here and where it is',
    responses: {
      200: {
        description: 'The description.',
        schema: engineDiscovery,
        example: exampleDiscovery,
      },
      ...commonResponses,
    },
  },
  getReleaseManifest: {
    ...shared,
    path: manifestPath,
    summary: 'The release that runs here, file by file',
    responses: {
      200: { description: 'The manifest.', schema: releaseManifest, example: exampleManifest },
      ...commonResponses,
    },
  },
  getEngineProvenance: {
    ...shared,
    path: provenancePath,
    summary: 'Where the bytes of the engine come from, signed by the operator',
    description:
      'An in-toto statement (slsa.dev/provenance/v1) in a DSSE envelope, under the key that signs score credentials.',
    extension: true,
    responses: {
      200: { description: 'The envelope.', schema: provenanceEnvelope, example: exampleEnvelope },
      ...commonResponses,
      503: {
        description: 'No signing key is here, or the engine was refused when the service started.',
        errors: ['signing_not_configured', 'unavailable', 'overloaded'],
      },
    },
  },
  getDocumentationPage: {
    ...shared,
    path: `${pagesPath}{page}`,
    summary: 'How scores are computed, and what changed from release to release',
    extension: true,
    pathParameters: pagePath,
    responses: {
      200: {
        description: 'The page, in Markdown.',
        schema: documentationPage,
        contentType: markdownType,
        example: exampleRelease.pages.scoring,
      },
      ...commonResponses,
      404: { description: 'There is no such page.', errors: ['not_found'] },
    },
  },
  getErrorDescription: {
    ...shared,
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
  },
} satisfies Contract
