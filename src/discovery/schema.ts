/**
 * Wire shapes of discovery. Open objects: members beyond those of the specification are extensions
 * of this service.
 */
import { Type } from 'typebox'
import {
  dateTime,
  openObject,
  schemaVersionField,
  text,
  urlLengthMax,
} from '../edge/http/fields.ts'
import { wellKnownPath } from '../edge/http/identifiers.ts'
import { closedObject } from '../platform/json/closed-object.ts'

export const openApiPath = '/api/v1/openapi.json'
export const enginePath = wellKnownPath('engine')
export const manifestPath = wellKnownPath('score-core-release-manifest')

const open = { additionalProperties: true }

export const openApi = Type.Object(
  {
    openapi: text(16, 'The version of OpenAPI.'),
    info: openObject('The title and the version of the interface.'),
    paths: openObject('Every path with its operations.'),
  },
  { title: 'OpenApiDocument', description: 'An OpenAPI 3.1 document.', ...open },
)

export const engineDiscovery = Type.Object(
  {
    schema_version: schemaVersionField('engine_discovery'),
    issuer: text(urlLengthMax, 'The did:web identifier of this service.'),
    standard: openObject('The skill standard: its version and addresses.'),
    engine: openObject('The engine that computes scores: its version and digest.'),
    score_vc: openObject('The credentials of this service: proof forms and addresses.'),
  },
  open,
)

export const releaseManifest = Type.Object(
  {
    schema_version: schemaVersionField('score_core.release_manifest'),
    generated_at: dateTime('When the manifest was made.'),
    engine: openObject('The engine of the release.'),
    binary: openObject('The file of the engine, with its digest.'),
    release: openObject('The release that is running.'),
    content_hashes: Type.Optional(
      Type.Array(Type.Object({}, open), { description: 'The files of the release, with digests.' }),
    ),
  },
  open,
)

export const errorNamePath = Type.Object({
  name: Type.String({ description: 'The error value.' }),
})

export const errorDescription = closedObject(
  {
    error: text(64, 'Names the error.'),
    status: Type.Integer({ minimum: 400, maximum: 599, description: 'The HTTP status.' }),
    keyedStatus: Type.Optional(
      Type.Integer({
        minimum: 400,
        maximum: 599,
        description: 'The HTTP status on routes that need an API key, if it is another one.',
      }),
    ),
    message: text(1_000, 'The usual text of the error.'),
    advice: text(1_000, 'The next step for the caller.'),
  },
  { title: 'ErrorDescription' },
)
