/** The routes of score credentials (spec §4.1, §4.3). */
import { Type } from 'typebox'
import { type Clock, wireTime } from '../platform/clock.ts'
import { coalesce } from '../platform/coalesce.ts'
import type { Db } from '../platform/db.ts'
import { type PublicDocument, publicDocument } from '../platform/document.ts'
import {
  type Answer,
  commonResponses,
  type Endpoint,
  endpoint,
  type RateLimits,
} from '../platform/endpoint.ts'
import { refuse, UnavailableError } from '../platform/errors.ts'
import { schemaVersion } from '../platform/identifiers.ts'
import { exampleCredential, exampleStatusList, examplesFor } from './examples.ts'
import { didDocumentOf, publicKeyDocumentOf, publicKeyPath } from './key-documents.ts'
import type { Mirror } from './mirror.ts'
import { originOf, statusListPath, statusPath } from './payload.ts'
import { type ProofForm, proofForms } from './proof.ts'
import {
  credentialStatus,
  didDocument,
  publicKeyDocument,
  statusListCredential,
  statusTokenPath,
  statusTokenQuery,
  type VerifyResult,
  verifierDescription,
  verifyRequest,
  verifyResult,
} from './schema.ts'
import { signatureCache } from './signature-cache.ts'
import { listIdPattern } from './status-list.ts'
import { findStatuses } from './store.ts'
import { type RegisteredStatus, type StatusQuestion, verifyCredential } from './verify.ts'

export interface ScoreCredentialsOptions {
  db: Db
  mirror: Mirror
  publicUrl: string
  clock: Clock
  /** Calls of one API key to the verifier. */
  keyLimits: RateLimits
  /** SHA-256 of every engine of this release and those before it. */
  engines: ReadonlySet<string>
  /** Called when a signature is right and the registry does not know the credential: a key may be stolen. */
  onUnregistered: (kid: string) => void
}

export const verifyPath = '/api/v1/score-vc/verify'
export const verifyBodyBytesMax = 262_144
export const anonymousVerifyLimits = { perMinute: 60, perDay: 1_000 } as const
const verifyMediaTypes = ['application/json', 'application/ld+json'] as const
const ldJson = 'application/ld+json'
const keyDocumentMaxAgeSeconds = 300
/** A database that is frozen costs a caller this and what the limiter waited for it, together less than a second (decision D13). */
const answerWithinMs = 450

export function scoreCredentialEndpoints(options: ScoreCredentialsOptions): Endpoint[] {
  const { db, mirror, publicUrl, clock, keyLimits, engines, onUnregistered } = options
  const origin = originOf(publicUrl)
  const examples = examplesFor(origin)
  const signatures = signatureCache()
  const askStatus = coalesce<StatusQuestion, RegisteredStatus>({
    name: 'credential status',
    run: (questions) => findStatuses(db, questions),
    deadlineMs: answerWithinMs,
  })
  const refreshMirror = coalesce<string, void>({
    name: 'status list',
    run: async (listIds) => {
      await mirror.refresh()
      return listIds.map(() => undefined)
    },
    deadlineMs: answerWithinMs,
  })
  const verifierDocument = publicDocument({
    body: JSON.stringify(verifierDescriptionOf(publicUrl, keyLimits)),
    contentType: 'application/json',
    maxAgeSeconds: 3_600,
  })
  const keyDocuments = new WeakMap<object, PublicDocument>()

  /** Made once for each state of the mirror: its arrays are replaced, never changed. */
  function remembered(
    of: object,
    make: () => Record<string, unknown>,
  ): { document: PublicDocument } {
    let document = keyDocuments.get(of)
    if (document === undefined) {
      document = publicDocument({
        body: JSON.stringify(make()),
        contentType: 'application/json',
        maxAgeSeconds: keyDocumentMaxAgeSeconds,
      })
      keyDocuments.set(of, document)
    }
    return { document }
  }

  return [
    endpoint({
      operationId: 'getScoreCredentialPublicKey',
      method: 'GET',
      path: publicKeyPath,
      area: 'discovery',
      summary: 'The public key that signs score credentials',
      description:
        'The active key; with `kid` (an extension) an older one in the same shape. Only the public key is published.',
      policy: { kind: 'open' },
      document: true,
      shed: 1,
      queryParameters: Type.Object({
        kid: Type.Optional(
          Type.String({
            pattern: '^z6Mk[1-9A-HJ-NP-Za-km-z]{44}$',
            description: 'Fragment of a verification method.',
          }),
        ),
      }),
      responses: {
        200: { description: 'The key.', schema: publicKeyDocument, example: examples.publicKey },
        ...commonResponses,
        404: { description: 'No key has this kid, or it was revoked.', errors: ['not_found'] },
        503: {
          description: 'Signing is not configured.',
          errors: ['signing_not_configured', 'overloaded'],
        },
      },
      answer({ query }) {
        const active = mirror.activeKey()
        if (active === undefined) return refuse('signing_not_configured')
        // The closed shape has no place to say that a key was revoked.
        const sound = mirror.keys().filter((key) => key.state !== 'revoked')
        const key = query.kid === undefined ? active : sound.find((k) => k.kid === query.kid)
        if (key === undefined) return refuse('not_found', { message: 'No key has this kid.' })
        return remembered(key, () => publicKeyDocumentOf(origin, key))
      },
    }),
    endpoint({
      operationId: 'getDidDocument',
      method: 'GET',
      path: '/.well-known/did.json',
      area: 'discovery',
      summary: 'The issuer as a did:web document',
      description:
        'Every key that ever signed, as Multikey; a compromised one has left assertionMethod.',
      extension: true,
      policy: { kind: 'open' },
      document: true,
      shed: 1,
      responses: {
        200: { description: 'The DID document.', schema: didDocument, example: examples.did },
        ...commonResponses,
        503: {
          description: 'Signing is not configured.',
          errors: ['signing_not_configured', 'overloaded'],
        },
      },
      answer() {
        const keys = mirror.keys()
        if (keys.length === 0) return refuse('signing_not_configured')
        return remembered(keys, () => didDocumentOf(origin, keys))
      },
    }),
    endpoint({
      operationId: 'getScoreCredentialStatus',
      method: 'GET',
      path: `${statusPath}{statusToken}`,
      area: 'score credentials',
      summary: 'Whether a credential is revoked, by its status token',
      description:
        'Read live. The answer tells nothing of the person, the score, the evidence or the reason.',
      policy: { kind: 'open' },
      shed: 1,
      pathParameters: statusTokenPath,
      queryParameters: statusTokenQuery,
      responses: {
        200: { description: 'The status.', schema: credentialStatus, example: examples.status },
        ...commonResponses,
        404: {
          description: 'No credential has this token, or none with this digest.',
          errors: ['status_token_not_found'],
        },
        500: { description: 'Unexpected error.' },
        503: {
          description: 'The registry does not answer.',
          errors: ['unavailable', 'overloaded'],
        },
      },
      async answer({ path, query }) {
        const token = Buffer.from(path.statusToken, 'hex')
        const status = await askStatus({ token, vcSha256: token })
        const isMatch =
          status.kind === 'registered' &&
          (query.vcSha256 === undefined || status.vcSha256.toString('hex') === query.vcSha256)
        // One body for both, so that no digest can be guessed.
        if (!isMatch) return refuse('status_token_not_found')
        return { status: 200, body: statusBody(status.revokedAt, clock()) }
      },
    }),
    endpoint({
      operationId: 'getScoreCredentialStatusList',
      method: 'GET',
      path: `${statusListPath}{listId}`,
      area: 'score credentials',
      summary: 'A signed list of revocations (W3C Bitstring Status List)',
      description:
        'Holds a revocation within two seconds. `proof` (an extension) picks the form of the signature.',
      policy: { kind: 'open' },
      document: true,
      shed: 1,
      pathParameters: Type.Object({
        listId: Type.String({ minLength: 1, description: 'As in statusListCredential.' }),
      }),
      queryParameters: Type.Object({
        proof: Type.Optional(
          Type.Union(
            proofForms.map((form) => Type.Literal(form)),
            { description: `One of ${proofForms.join(', ')}; eddsa-rdfc-2022 unless given.` },
          ),
        ),
      }),
      responses: {
        200: {
          description: 'The signed list.',
          schema: statusListCredential,
          contentType: ldJson,
          example: exampleStatusList(origin),
        },
        ...commonResponses,
        404: { description: 'There is no such list.', errors: ['status_list_not_found'] },
        500: { description: 'Unexpected error.' },
        503: {
          description: 'Signing is not configured, or the list could not be renewed in time.',
        },
      },
      answer({ path, query }) {
        if (mirror.activeKey() === undefined) return refuse('signing_not_configured')
        const listed = (): Answer => listAnswer(mirror.list(path.listId, formOf(query), clock()))
        const found = listed()
        const mayBeYounger = 'refusal' in found && listIdPattern.test(path.listId)
        // A list that the mirror has is answered in this turn; one it lacks may be younger than the mirror.
        return mayBeYounger ? refreshMirror(path.listId).then(listed) : found
      },
    }),
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
      shed: 5,
      body: {
        mediaTypes: verifyMediaTypes,
        schema: verifyRequest,
        bytesMax: verifyBodyBytesMax,
        ambiguousReachesHandler: true,
        examples: { credential: exampleCredential(origin) },
      },
      responses: {
        200: { description: 'The findings.', schema: verifyResult, example: examples.verifyResult },
        400: { description: 'The body is not a JSON object, or the version is not supported.' },
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
            trust: mirror.trust(),
            signatures,
            engines,
            now: clock(),
            statusOf: (question) => askStatus(question).catch(unavailableStatus),
          })
        let result = await verify()
        // The key may be younger than the mirror. Readers at the same time share one read.
        if (result.reason === 'unknown_key' && (await isRefreshed(mirror))) result = await verify()
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
      shed: 1,
      responses: {
        200: {
          description: 'The description.',
          schema: verifierDescription,
          example: verifierDescriptionOf(publicUrl, keyLimits),
        },
        ...commonResponses,
      },
      answer: () => ({ document: verifierDocument }),
    }),
  ]
}

function formOf(query: { proof?: ProofForm }): ProofForm {
  return query.proof ?? 'eddsa-rdfc-2022'
}

/** Throws `UnavailableError` for a list that could not be renewed in time. */
function listAnswer(list: ReturnType<Mirror['list']>): Answer {
  if (list === 'unknown') return refuse('status_list_not_found')
  if (list === 'outdated') throw new UnavailableError('the status list is past its validity')
  return { document: list }
}

/** Exactly the closed shape: `revokedAt` only when revoked. */
function statusBody(revokedAt: Date | null, checkedAt: Date): Record<string, unknown> {
  return {
    schemaVersion: schemaVersion('score_vc_status'),
    status: revokedAt === null ? 'active' : 'revoked',
    revoked: revokedAt !== null,
    ...(revokedAt === null ? {} : { revokedAt: wireTime(revokedAt) }),
    checkedAt: wireTime(checkedAt),
  }
}

/** The store does not answer: the verdict says so and fails closed (decision D29). Anything else is a defect and stays one. */
function unavailableStatus(error: unknown): RegisteredStatus {
  if (error instanceof UnavailableError) return { kind: 'unavailable' }
  throw error
}

/** False where the database does not answer: then the mirror stays as it was. */
async function isRefreshed(mirror: Mirror): Promise<boolean> {
  try {
    await mirror.refresh()
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
      apiKey: `With scope scores:read: ${perMinute} a minute and ${perDay} a day for each key; a call is counted on the meter score_lookup.`,
    },
    docs: `${publicUrl}/api/v1/openapi.json`,
  }
}
