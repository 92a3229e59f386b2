/**
 * Wire shapes of discovery. Open objects: members beyond those of the specification are extensions
 * of this service.
 */
import { Type } from 'typebox'
import { schemaVersion, wellKnownPath } from '../platform/http/identifiers.ts'

export const openApiPath = '/api/v1/openapi.json'
export const enginePath = wellKnownPath('engine')
export const manifestPath = wellKnownPath('score-core-release-manifest')
export const provenancePath = wellKnownPath('score-core-provenance')

const open = { additionalProperties: true }

export const openApi = Type.Object(
  {
    openapi: Type.String(),
    info: Type.Object({}, open),
    paths: Type.Object({}, open),
  },
  { title: 'OpenApiDocument', ...open },
)

export const engineDiscovery = Type.Object(
  {
    schema_version: Type.Literal(schemaVersion('engine_discovery')),
    issuer: Type.String(),
    standard: Type.Object({}, open),
    engine: Type.Object({}, open),
    score_vc: Type.Object({}, open),
  },
  open,
)

export const releaseManifest = Type.Object(
  {
    schema_version: Type.Literal(schemaVersion('score_core.release_manifest')),
    generated_at: Type.String({ format: 'date-time' }),
    engine: Type.Object({}, open),
    binary: Type.Object({}, open),
    release: Type.Object({}, open),
    content_hashes: Type.Optional(Type.Array(Type.Object({}, open))),
  },
  open,
)

export const errorNamePath = Type.Object({
  name: Type.String({ description: 'The error value.' }),
})

export const errorDescription = Type.Object(
  { error: Type.String(), status: Type.Integer(), message: Type.String(), advice: Type.String() },
  { title: 'ErrorDescription', additionalProperties: false },
)

/** Envelope of DSSE v1.0. */
export const provenanceEnvelope = Type.Object(
  {
    payloadType: Type.Literal('application/vnd.in-toto+json'),
    payload: Type.String({ description: 'The statement, in base64.' }),
    signatures: Type.Array(
      Type.Object(
        {
          keyid: Type.String({ description: 'The verification method of the key.' }),
          sig: Type.String({ description: 'Ed25519, in base64.' }),
        },
        { additionalProperties: false },
      ),
      { minItems: 1, maxItems: 1 },
    ),
  },
  { title: 'ProvenanceEnvelope', additionalProperties: false },
)
