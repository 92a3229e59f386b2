/**
 * Pure: the engine discovery document: the skill standard, the engine that computes scores, the
 * credentials, and the address of each.
 */
import {
  didPath,
  publicKeyPath,
  statusListPath,
  statusPath,
  verifyPath,
} from '../credentials/schema.ts'
import { nativeProofType, schemaVersion } from '../edge/http/identifiers.ts'
import { standardUrls } from '../standard/context.ts'
import { pagePathOf } from './docs-page.ts'
import type { EngineFacts, LoadedEngine } from './engine-facts.ts'
import { manifestPath, openApiPath } from './schema.ts'

/** Published facts about the vocabulary. */
export interface StandardFacts {
  version: string
  catalogHash: string
  skillCount: number
  license: string
}

/** The present way of signing credentials. */
export interface SigningFacts {
  issuer: string
  proofForms: readonly string[]
  /** `<issuer>#<kid>` of the active key, or null if signing is not set up. */
  verificationMethod: string | null
}

export interface DiscoveryFacts {
  standard: StandardFacts
  engine: EngineFacts
  signing: SigningFacts
  publicUrl: string
}

export function engineDiscoveryOf(discoveryFacts: DiscoveryFacts): Record<string, unknown> {
  const { standard, engine, signing, publicUrl } = discoveryFacts
  const { id, version, loaded } = engine
  const urls = standardUrls(publicUrl)
  return {
    schema_version: schemaVersion('engine_discovery'),
    issuer: signing.issuer,
    standard: {
      version: standard.version,
      catalog_url: urls.skills,
      skill_url_template: urls.skill('{id}'),
      context_url: urls.context,
      bands_url: urls.bands,
      catalog_hash: standard.catalogHash,
      skill_count: standard.skillCount,
      license: standard.license,
    },
    engine: {
      id,
      version,
      ...(loaded === null ? refusedEngine(engine) : loadedEngine(loaded, engine.state)),
      score_scale: { min: 0, max: 1_000 },
      credential_fields: ['engineId', 'engineVersion', 'engineBinarySha256'],
      algorithm_url: `${publicUrl}${pagePathOf('docs/scoring.md')}`,
      manifest_url: `${publicUrl}${manifestPath}`,
    },
    score_vc: {
      proof_type: nativeProofType,
      proof_forms: signing.proofForms,
      issuer: signing.issuer,
      signing_configured: signing.verificationMethod !== null,
      verification_method: signing.verificationMethod,
      public_key_url: `${publicUrl}${publicKeyPath}`,
      did_url: `${publicUrl}${didPath}`,
      verify_url: `${publicUrl}${verifyPath}`,
      status_url_template: `${publicUrl}${statusPath}{statusToken}`,
      status_list_url_template: `${publicUrl}${statusListPath}{listId}`,
    },
    links: { openapi: `${publicUrl}${openApiPath}`, verifier: `${publicUrl}${verifyPath}` },
  }
}

/** Scores that were issued before stay, and each names the engine that computed it. */
function refusedEngine({ state }: EngineFacts): Record<string, unknown> {
  return {
    lifecycle: 'refused',
    refusal: state,
    description:
      'The engine of this release was refused when the service started: no score is computed or issued until that is put right.',
    binary_sha256: null,
    golden_vectors_sha256: null,
    parameters: null,
  }
}

const recalled = {
  lifecycle: 'recalled',
  description:
    'The operator found the engine of this release to be wrong: no score is computed or issued until another one is installed.',
}

/** The parameters have the names of the engine, in the spelling of this document. */
function loadedEngine(engine: LoadedEngine, state: string): Record<string, unknown> {
  return {
    ...(state === 'recalled' ? recalled : { lifecycle: 'stable' }),
    binary_sha256: engine.binarySha256,
    golden_vectors_sha256: engine.goldenSha256,
    parameters: {
      ...Object.fromEntries(
        Object.entries(engine.parameters).map(([name, value]) => [snakeCase(name), value]),
      ),
      table_sha256: engine.tableSha256,
    },
  }
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
