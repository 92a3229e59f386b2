/** The handlers of score credentials. */
import type { RateLimits } from '../edge/http/contract.ts'
import {
  type PublicDocument,
  type PublicDocumentOptions,
  publicDocument,
} from '../edge/http/document.ts'
import type { Answer, Handlers } from '../edge/http/endpoint.ts'
import { batched } from '../platform/batching.ts'
import type { Clock } from '../platform/clock.ts'
import { refuse, UnavailableError } from '../platform/errors.ts'
import type { scoreCredentialContract } from './contract.ts'
import {
  didDocumentOf,
  publicKeyDocumentOf,
  statusDocumentOf,
  verifierDescriptionOf,
} from './documents.ts'
import { type Origin, originOf } from './payload.ts'
import type { RegistryCache } from './registry-cache.ts'
import { listFormOf } from './schema.ts'
import { listIdPattern } from './status-list.ts'
import type { Verifier } from './verifier.ts'

export interface ScoreCredentialOptions {
  verifier: Verifier
  registryCache: RegistryCache
  clock: Clock
  publicUrl: string
  /**
   * Former values of `publicUrl`. A request that names the host of a former origin receives the
   * documents of that origin (decision D55).
   */
  formerPublicUrls?: readonly string[]
  /** Rate limits of one API key. */
  keyLimits: RateLimits
}

/** A cache must not show a revoked key for longer, not even while this service does not answer. */
const keyCaching: Caching = { maxAgeSeconds: 300, cacheDirectives: 'must-revalidate' }
const descriptionMaxAgeSeconds = 3_600

export function scoreCredentialHandlers(
  options: ScoreCredentialOptions,
): Handlers<typeof scoreCredentialContract> {
  const { verifier, registryCache, clock, publicUrl, formerPublicUrls = [], keyLimits } = options
  const { askStatus, verify } = verifier
  const own = originDocuments(originOf(publicUrl))
  const former = new Map(
    formerPublicUrls.map(originOf).map((origin) => [origin.url, originDocuments(origin)]),
  )
  const documentsOf = (formerOrigin: string | null): OriginDocuments =>
    former.get(formerOrigin ?? '') ?? own
  const refreshCache = batched<string, void>({
    name: 'status list',
    run: async (listIds) => {
      await registryCache.refresh()
      return listIds.map(() => undefined)
    },
    deadline: 'databaseAnswer',
  })
  const description = jsonDocument(verifierDescriptionOf(publicUrl, keyLimits), {
    maxAgeSeconds: descriptionMaxAgeSeconds,
  })

  return {
    getScoreCredentialPublicKey({ query, formerOrigin }) {
      const active = registryCache.activeKey()
      if (active === undefined) return refuse('signing_not_configured')
      // The closed document has no member for the revocation of a key, so a revoked key is not
      // served.
      const sound = registryCache.keys().filter((key) => key.state !== 'revoked')
      const key = query.kid === undefined ? active : sound.find((k) => k.kid === query.kid)
      if (key === undefined) return refuse('not_found', { message: 'No key has this kid.' })
      return documentsOf(formerOrigin)(key, publicKeyDocumentOf)
    },
    getDidDocument({ formerOrigin }) {
      const keys = registryCache.keys()
      if (keys.length === 0) return refuse('signing_not_configured')
      return documentsOf(formerOrigin)(keys, didDocumentOf)
    },
    async getScoreCredentialStatus({ path, query }) {
      const token = Buffer.from(path.statusToken, 'hex')
      const status = await askStatus({ token, vcSha256: token })
      const isMatch =
        status.kind === 'registered' &&
        (query.vcSha256 === undefined || status.vcSha256.toString('hex') === query.vcSha256)
      // Unknown token and wrong digest get the same body, so a caller cannot guess a digest.
      if (!isMatch) return refuse('status_token_not_found')
      return { status: 200, body: statusDocumentOf(status.revokedAt, clock()) }
    },
    getScoreCredentialStatusList({ path, query }) {
      if (registryCache.activeKey() === undefined) return refuse('signing_not_configured')
      const listed = (): Answer =>
        listAnswer(registryCache.list(path.listId, listFormOf(query), clock()))
      const cached = listed()
      const mayBeYounger = 'refusal' in cached && listIdPattern.test(path.listId)
      // A cached list is answered at once. A list that is not cached may be younger than the last
      // refresh.
      return mayBeYounger ? refreshCache(path.listId).then(listed) : cached
    },
    async verifyScoreCredential({ body, bodyAmbiguity }) {
      const presented = body as Record<string, unknown>
      return { status: 200, body: await verify(presented, bodyAmbiguity) }
    },
    describeScoreCredentialVerifier: () => ({ document: description }),
  }
}

/** Throws `UnavailableError` if the list was not renewed in time. */
function listAnswer(list: ReturnType<RegistryCache['list']>): Answer {
  if (list === 'unknown') return refuse('status_list_not_found')
  if (list === 'outdated') throw new UnavailableError('the status list is past its validity')
  return { document: list }
}

type OriginDocuments = <State extends object>(
  state: State,
  make: (origin: Origin, state: State) => Record<string, unknown>,
) => { document: PublicDocument }

/**
 * Builds each document of an origin once for each state of the registry cache. The state is the
 * identity of an array or key: the cache replaces them and never changes them.
 */
function originDocuments(origin: Origin): OriginDocuments {
  const made = new WeakMap<object, PublicDocument>()
  return (state, make) => {
    let document = made.get(state)
    if (document === undefined) {
      document = jsonDocument(make(origin, state), keyCaching)
      made.set(state, document)
    }
    return { document }
  }
}

type Caching = Pick<PublicDocumentOptions, 'maxAgeSeconds' | 'cacheDirectives'>

function jsonDocument(body: Record<string, unknown>, caching: Caching): PublicDocument {
  return publicDocument({
    body: JSON.stringify(body),
    contentType: 'application/json',
    ...caching,
  })
}
