/**
 * Authenticates API keys. Each request looks its key up in the database, so every node rejects a
 * revoked key on the next request (decision D15). The look-ups of one turn of the event loop share
 * a statement.
 *
 * Tables: reads `api_keys`. Writes `api_key_uses` in `recordUses`, every half minute.
 * Crash: at most half a minute of uses is lost.
 */
import type { Authenticate, ExpectKey, FindEndedKey } from '../../edge/http/admission.ts'
import type { PresentedKey } from '../../edge/http/callers.ts'
import { batched } from '../../platform/batching.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Db } from '../../platform/db/db.ts'
import { RecentMap } from '../../platform/recent-map.ts'
import { bearerKey, isAllowedFrom, keyDigest } from './api-key.ts'
import { findEndedKey, findValidKeys, updateKeyUses, type ValidKey } from './store.ts'

interface KeyAuthenticator {
  authenticate: Authenticate
  expectedKey: ExpectKey
  endedKey: FindEndedKey
  /** Writes the last use of each key since the last call. */
  recordUses(): Promise<void>
}

/** Keys to remember. */
const lastValidMax = 10_000

interface KeyAuthenticatorOptions {
  db: Db
  clock: Clock
}

export function openKeyAuthenticator({ db, clock }: KeyAuthenticatorOptions): KeyAuthenticator {
  let uses = new Map<string, Date>()
  /** By digest: what the last look-up returned. */
  const lastValid = new RecentMap<ValidKey>(lastValidMax)
  const lookUp = batched<string, ValidKey | undefined>({
    name: 'API keys',
    run: (digests) => findEach(db, digests, clock()),
    deadline: 'databaseAnswer',
  })
  return {
    async authenticate(authorization, address) {
      const key = bearerKey(authorization)
      if (key === null) return null
      const digest = keyDigest(key).toString('hex')
      // During an outage no call begins that could only be refused.
      const row = await lookUp(digest).catch((error: unknown) => {
        lastValid.delete(digest)
        throw error
      })
      if (row === undefined) lastValid.delete(digest)
      else lastValid.set(digest, row)
      if (row === undefined || !isAllowedFrom(row.allowedFrom, address)) return null
      uses.set(row.id, clock())
      return presentedKey(row)
    },

    expectedKey(authorization, address) {
      const key = bearerKey(authorization)
      const row = key === null ? undefined : lastValid.get(keyDigest(key).toString('hex'))
      return row !== undefined && isAllowedFrom(row.allowedFrom, address) ? presentedKey(row) : null
    },

    async endedKey(authorization) {
      const key = bearerKey(authorization)
      const found = key === null ? undefined : await findEndedKey(db, keyDigest(key), clock())
      if (found === undefined) return null
      const { id, accountId, endedAt, successorId } = found
      return { accountId, keyId: id, cause: { endedAt: endedAt.toISOString(), successorId } }
    },

    async recordUses() {
      if (uses.size === 0) return
      const recorded = uses
      uses = new Map()
      try {
        await updateKeyUses(db, recorded)
      } catch (error) {
        // Uses recorded since then are newer.
        uses = new Map([...recorded, ...uses])
        throw error
      }
    },
  }
}

/**
 * Looks up all presented keys in one statement. Concurrent calls with the same key share one index
 * probe.
 */
async function findEach(
  db: Db,
  digests: readonly string[],
  now: Date,
): Promise<(ValidKey | undefined)[]> {
  const rows = await findValidKeys(db, [...new Set(digests)], now)
  const byDigest = new Map(rows.map((key) => [key.digest, key]))
  return digests.map((digest) => byDigest.get(digest))
}

/** Returns the key as the HTTP layer sees it. */
export function presentedKey(validKey: ValidKey): PresentedKey {
  const { id, accountId, environment, scopes, balance, suspended } = validKey
  return {
    caller: { kind: 'key', keyId: id, accountId, environment },
    scopes,
    credits: { balance, suspended },
  }
}
