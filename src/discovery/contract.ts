/**
 * The endpoints of discovery, except the key documents, which belong to score credentials.
 */
import { type Contract, documentResponses } from '../edge/http/contract.ts'
import { wellKnownPath } from '../edge/http/identifiers.ts'
import { errorTable } from '../platform/errors.ts'
import { exampleDiscovery, exampleManifest } from './examples.ts'
import {
  engineDiscovery,
  enginePath,
  errorDescription,
  errorNamePath,
  manifestPath,
  openApi,
  openApiPath,
  releaseManifest,
} from './schema.ts'

const json = documentResponses()
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
  responses: json('The contract.', openApi, {
    openapi: '3.1.0',
    info: { title: 'The contract in short', version: '2026-05-14' },
    paths: {},
  }),
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
    summary: 'The skill standard, engine and credentials of this service, with their addresses',
    responses: json('The description.', engineDiscovery, exampleDiscovery),
  },
  getReleaseManifest: {
    ...shared,
    path: manifestPath,
    summary: 'The files of the running release',
    responses: json('The manifest.', releaseManifest, exampleManifest),
  },
  getErrorDescription: {
    ...shared,
    path: '/docs/errors/{name}',
    summary: 'The meaning of an error, and the next step',
    description: 'Every error answer links here.',
    extension: true,
    pathParameters: errorNamePath,
    responses: {
      ...json('The error.', errorDescription, {
        error: 'rate_limited',
        ...errorTable.rate_limited,
      }),
      404: { description: 'No error has this name.', errors: ['not_found'] },
    },
  },
} satisfies Contract
