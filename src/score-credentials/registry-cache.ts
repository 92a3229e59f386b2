/**
 * What a serving process keeps of the database: the keys and the published lists. `refresh` brings it up to date, a process does so
 * every half second; between, and while the database is down, it serves what it has. Revocation is never answered from here.
 */
import type { Db } from '../platform/db/db.ts'
import { type PublicDocument, publicDocument } from '../platform/http/document.ts'
import { findKeys } from './key-store.ts'
import { findPublications, type PublishedList } from './list-store.ts'
import type { ProofForm } from './proof.ts'
import { listTtlSeconds } from './status-list.ts'
import { type SigningKey, type Trust, trustOf } from './trust.ts'

export const registryCacheRefreshMs = 500

export interface RegistryCache {
  /** Throws what the database throws; the registry cache then stays as it was. Calls at the same time share one read. */
  refresh(): Promise<void>
  /** Milliseconds since the last refresh that succeeded. */
  ageMs(): number
  trust(): Trust
  keys(): readonly SigningKey[]
  activeKey(): SigningKey | undefined
  /** The signed list as a document, or why there is none. */
  list(listId: string, form: ProofForm, now: Date): PublicDocument | 'unknown' | 'outdated'
}

interface CachedList extends PublishedList {
  documents: Map<string, PublicDocument>
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
      return secondsLeft <= listTtlSeconds ? 'outdated' : documentOf(list, form, secondsLeft)
    },
  }
}

/** The row's time comes as text inside JSON. */
function cachedList(list: PublishedList): CachedList {
  return { ...list, validUntil: new Date(list.validUntil), documents: new Map() }
}

const staleIfErrorSeconds = 3_600

/** A cache may serve a stale list for an hour when we do not answer, but never beyond the list's own end. */
function documentOf(list: CachedList, form: ProofForm, secondsLeft: number): PublicDocument {
  const mayGoStale = secondsLeft > listTtlSeconds + staleIfErrorSeconds
  const variant = mayGoStale ? form : `${form}, at its end`
  let document = list.documents.get(variant)
  if (document === undefined) {
    const credential = { ...JSON.parse(list.payload), proof: list.proofs[form] }
    document = publicDocument({
      body: JSON.stringify(credential),
      contentType: 'application/ld+json',
      maxAgeSeconds: listTtlSeconds,
      ...(mayGoStale ? { cacheDirectives: `stale-if-error=${staleIfErrorSeconds}` } : {}),
    })
    list.documents.set(variant, document)
  }
  return document
}
