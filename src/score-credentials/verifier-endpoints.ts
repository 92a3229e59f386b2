/** The public verifier, and the document that describes how to call it. */
import type { Clock } from '../platform/clock.ts'
import { commonResponses, type RateLimits } from '../platform/http/contract.ts'
import { publicDocument } from '../platform/http/document.ts'
import { type Answer, type Endpoint, endpoint } from '../platform/http/endpoint.ts'
import { UnavailableError } from '../platform/http/errors.ts'
import { schemaVersion } from '../platform/http/identifiers.ts'
import { exampleCredential, examplesFor } from './examples.ts'
import type { Origin } from './payload.ts'
import type { RegistryCache } from './registry-cache.ts'
import { type VerifyResult, verifierDescription, verifyRequest, verifyResult } from './schema.ts'
import { signatureCache } from './signature-cache.ts'
import { type RegisteredStatus, type StatusQuestion, verifyCredential } from './verify.ts'

export interface VerifierParts {
  registryCache: RegistryCache
  publicUrl: string
  origin: Origin
  clock: Clock
  /** Rate limits of one API key. */
  keyLimits: RateLimits
  /** SHA-256 of every engine of this release and of earlier ones. */
  engines: ReadonlySet<string>
  /**
   * Called if a signature verifies but the registry does not contain the credential: the key may be
   * stolen.
   */
  onUnregistered: (kid: string) => void
  askStatus(question: StatusQuestion): Promise<RegisteredStatus>
}

export const verifyPath = '/api/v1/score-vc/verify'
export const verifyBodyBytesMax = 262_144
const anonymousVerifyLimits = { perMinute: 60, perDay: 1_000 } as const
const verifyMediaTypes = ['application/json', 'application/ld+json'] as const

export function verifierEndpoints(parts: VerifierParts): Endpoint[] {
  const { registryCache, publicUrl, origin, clock, keyLimits, engines, onUnregistered, askStatus } =
    parts
  const signatures = signatureCache()
  const description = verifierDescriptionOf(publicUrl, keyLimits)
  const document = publicDocument({
    body: JSON.stringify(description),
    contentType: 'application/json',
    maxAgeSeconds: 3_600,
  })

  return [
    endpoint({
      operationId: 'verifyScoreCredential',
      method: 'POST',
      path: verifyPath,
      area: 'score credentials',
      summary: 'Verify a score credential',
      description:
        'Checks issuer, signature and revocation independently, and the time of validity. A credential that fails is still answered with 200, `valid` false and a `reason`. Send the credential exactly as issued, with one proof of any of the three forms.',
      policy: {
        kind: 'optional-key',
        scope: 'scores:read',
        meter: 'score_lookup',
        anonymous: anonymousVerifyLimits,
        limits: keyLimits,
      },
      priority: 'search',
      body: {
        mediaTypes: verifyMediaTypes,
        schema: verifyRequest,
        bytesMax: verifyBodyBytesMax,
        ambiguousReachesHandler: true,
        examples: { credential: exampleCredential(origin) },
      },
      responses: {
        200: {
          description: 'The findings.',
          schema: verifyResult,
          example: examplesFor(origin).verifyResult,
        },
        400: {
          description:
            'The body is not a JSON object, the version is not supported, or the Idempotency-Key of a call by key is not acceptable.',
        },
        401: { description: 'The API key is not valid.' },
        402: { description: 'The account has too few credits.' },
        403: { description: 'The API key lacks the scope scores:read.' },
        413: { description: `The body is larger than ${verifyBodyBytesMax} bytes.` },
        415: { description: 'The content type is not JSON or JSON-LD.' },
        429: { description: 'Too many calls from this address; retry after Retry-After seconds.' },
        500: { description: 'Unexpected error.' },
        503: {
          description: 'The service is busy, or keys and metering are not available.',
          errors: ['overloaded', 'unavailable', 'metering_suspended'],
        },
      },
      async answer({ body, bodyAmbiguity }): Promise<Answer> {
        const verify = (): Promise<VerifyResult> =>
          verifyCredential(body as Record<string, unknown>, bodyAmbiguity, {
            trust: registryCache.trust(),
            signatures,
            engines,
            now: clock(),
            statusOf: (question) => askStatus(question).catch(unavailableStatus),
          })
        let result = await verify()
        // The key may have been created or activated after the last refresh of the registry cache.
        // Concurrent refreshes share one read.
        if (result.reason === 'unknown_key' && (await isRefreshed(registryCache)))
          result = await verify()
        if (result.reason === 'status_unknown') onUnregistered(kidIn(result.presented))
        return { status: 200, body: result }
      },
    }),
    endpoint({
      operationId: 'describeScoreCredentialVerifier',
      method: 'GET',
      path: verifyPath,
      area: 'score credentials',
      summary: 'How to call the verifier',
      policy: { kind: 'open' },
      document: true,
      priority: 'public',
      responses: {
        200: {
          description: 'The description.',
          schema: verifierDescription,
          example: description,
        },
        ...commonResponses,
      },
      answer: () => ({ document }),
    }),
  ]
}

/**
 * If the database is unavailable, the verdict fails closed (decision D29). Any other error is a
 * defect and is thrown.
 */
function unavailableStatus(error: unknown): RegisteredStatus {
  if (error instanceof UnavailableError) return { kind: 'unavailable' }
  throw error
}

/** Returns false if the database is unavailable; the registry cache then stays unchanged. */
async function isRefreshed(registryCache: RegistryCache): Promise<boolean> {
  try {
    await registryCache.refresh()
    return true
  } catch (error) {
    if (error instanceof UnavailableError) return false
    throw error
  }
}

function kidIn(presented: Record<string, unknown>): string {
  return String(presented.verificationMethod).split('#')[1] ?? ''
}

function verifierDescriptionOf(
  publicUrl: string,
  { perMinute, perDay }: RateLimits,
): Record<string, unknown> {
  return {
    endpoint: `${publicUrl}${verifyPath}`,
    schemaVersion: schemaVersion('score_vc_verify'),
    acceptedContentTypes: [...verifyMediaTypes],
    maxBodyBytes: verifyBodyBytesMax,
    rateLimits: {
      anonymous: anonymousVerifyLimits,
      apiKey: `With scope scores:read: ${perMinute} a minute and ${perDay} a day for each live key; a call is counted on the meter score_lookup.`,
    },
    docs: `${publicUrl}/api/v1/openapi.json`,
  }
}
