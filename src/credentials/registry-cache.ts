/**
 * In-memory copy of the keys and published lists. A serving process refreshes it every 500 ms.
 * Between refreshes, and while the database is down, the process serves the copy. The revocation
 * status of a single credential is always read from the database.
 */
import { type PublicDocument, publicDocument } from '../edge/http/document.ts'
import type { Db } from '../platform/db/db.ts'
import { findKeys } from './key-store.ts'
import { findPublications, type PublishedList } from './list-store.ts'
import type { ProofForm } from './proof.ts'
import { listTtlSeconds } from './status-list.ts'
import { type SigningKey, type Trust, trustOf } from './trust.ts'

export const registryCacheRefreshMs = 500

export interface RegistryCache {
  /**
   * Reads the keys and lists from the database. On an error the copy stays unchanged and the error
   * is thrown. Concurrent calls share one read.
   */
  refresh(): Promise<void>
  /** Returns the milliseconds since the last successful refresh, or Infinity before the first. */
  ageMs(): number
  trust(): Trust
  keys(): readonly SigningKey[]
  activeKey(): SigningKey | undefined
  /**
   * Returns the signed list as a document. `unknown`: the copy holds no such list. `outdated`: the
   * list is valid for at most `listTtlSeconds` more.
   */
  list(listId: string, form: ProofForm, now: Date): PublicDocument | 'unknown' | 'outdated'
}

interface CachedList extends PublishedList {
  documents: Map<ProofForm, PublicDocument>
}

export function openRegistryCache(db: Db, publicUrls: readonly string[]): RegistryCache {
  let keys: SigningKey[] = []
  let trust: Trust = trustOf(publicUrls, keys)
  let lists = new Map<string, CachedList>()
  let refreshing: Promise<void> | undefined
  let refreshedAt = Number.NEGATIVE_INFINITY

  async function read(): Promise<void> {
    const newKeys = await findKeys(db)
    const known = [...lists.values()]
    const found = await findPublications(db, {
      listIds: known.map((list) => list.listId),
      publications: known.map((list) => list.publication),
    })
    if (JSON.stringify(newKeys) !== JSON.stringify(keys)) {
      trust = trustOf(publicUrls, newKeys)
      keys = newKeys
    }
    lists = new Map(
      found.flatMap(({ listId, fresh }) => {
        const list = fresh === null ? lists.get(listId) : cachedList({ listId, ...fresh })
        return list === undefined ? [] : [[listId, list]]
      }),
    )
    refreshedAt = performance.now()
  }

  return {
    ageMs: () => performance.now() - refreshedAt,
    refresh() {
      refreshing ??= read().finally(() => {
        refreshing = undefined
      })
      return refreshing
    },
    trust: () => trust,
    keys: () => keys,
    activeKey: () => keys.find((key) => key.state === 'active'),
    list(listId, form, now) {
      const list = lists.get(listId)
      if (list === undefined) return 'unknown'
      const secondsLeft = (list.validUntil.getTime() - now.getTime()) / 1_000
      return secondsLeft <= listTtlSeconds ? 'outdated' : documentOf(list, form)
    },
  }
}

/** `validUntil` arrives as text, because the row is part of a JSON value. */
function cachedList(list: PublishedList): CachedList {
  return { ...list, validUntil: new Date(list.validUntil), documents: new Map() }
}

/**
 * Caches serve a list for its `ttl` and no longer, not even while this service does not answer: an
 * older list would show a revoked credential as active.
 */
function documentOf(list: CachedList, form: ProofForm): PublicDocument {
  let document = list.documents.get(form)
  if (document === undefined) {
    const credential = { ...JSON.parse(list.payload), proof: list.proofs[form] }
    document = publicDocument({
      body: JSON.stringify(credential),
      contentType: 'application/ld+json',
      maxAgeSeconds: listTtlSeconds,
      cacheDirectives: 'must-revalidate',
    })
    list.documents.set(form, document)
  }
  return document
}
