/**
 * Pure: the engine discovery document. Scores come from the operator's own engine: this service signs, publishes and verifies what it
 * is given, so the document names no engine of its own and says where each credential names the one it came from.
 */
import { nativeProofType, schemaVersion, wellKnownPath } from '../platform/identifiers.ts'

/** What is published of the vocabulary. */
export interface StandardFacts {
  version: string
  catalogHash: string
  skillCount: number
  license: string
}

/** How credentials are signed now. */
export interface SigningFacts {
  issuer: string
  proofForms: readonly string[]
  /** `<issuer>#<kid>` of the active key; null where signing is not configured. */
  verificationMethod: string | null
}

export interface EngineFacts {
  standard: StandardFacts
  signing: SigningFacts
  /** The absolute URL (with `{name}` for what varies) of a declared operation. */
  urlOf: (operationId: string) => string
}

export function engineDiscoveryOf(
  publicUrl: string,
  { standard, signing, urlOf }: EngineFacts,
): Record<string, unknown> {
  return {
    schema_version: schemaVersion('engine_discovery'),
    issuer: signing.issuer,
    standard: {
      version: standard.version,
      catalog_url: urlOf('listSkills'),
      skill_url_template: urlOf('getSkill'),
      context_url: urlOf('getSkillStandardContext'),
      bands_url: urlOf('getScoreBands'),
      catalog_hash: standard.catalogHash,
      skill_count: standard.skillCount,
      license: standard.license,
    },
    engine: {
      lifecycle: 'external',
      description:
        'Scores are computed by the engine of the operator. Each credential names the version of the engine and the SHA-256 of its binary.',
      score_scale: { min: 0, max: 1_000 },
      credential_fields: ['engineId', 'engineVersion', 'engineBinarySha256'],
      manifest_url: `${publicUrl}${wellKnownPath('score-core-release-manifest')}`,
    },
    score_vc: {
      proof_type: nativeProofType,
      proof_forms: signing.proofForms,
      issuer: signing.issuer,
      signing_configured: signing.verificationMethod !== null,
      verification_method: signing.verificationMethod,
      public_key_url: urlOf('getScoreCredentialPublicKey'),
      did_url: urlOf('getDidDocument'),
      verify_url: urlOf('verifyScoreCredential'),
      status_url_template: urlOf('getScoreCredentialStatus'),
      status_list_url_template: urlOf('getScoreCredentialStatusList'),
    },
    links: { openapi: urlOf('getOpenApi'), verifier: urlOf('describeScoreCredentialVerifier') },
  }
}
