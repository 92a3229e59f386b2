/**
 * Authenticates API keys. Each request looks its key up in the database, so every node rejects a
 * revoked key on the next request (decision D15). The look-ups of one turn of the event loop share
 * a statement. Unknown keys share one check of the peppers, because any caller can make up keys.
 *
 * Tables: reads `api_keys`. Writes `api_key_uses` and `api_key_moves` in `recordUses`, every half
 * minute.
 * Crash: at most half a minute of uses is lost.
 */
import { createSecretKey, type KeyObject } from 'node:crypto'
import { batched } from '../platform/batching.ts'
import type { Clock } from '../platform/clock.ts'
import type { Keyring } from '../platform/crypto/keyring.ts'
import type { Db } from '../platform/db/db.ts'
import type { Authenticate } from '../platform/http/admission.ts'
import type { PresentedKey } from '../platform/http/callers.ts'
import { UnavailableError } from '../platform/http/errors.ts'
import { isAllowedFrom } from './allowed-from.ts'
import { bearerKey, keyDigest } from './api-key.ts'
import { type PendingMove, proposeMoves } from './move-keys.ts'
import { findMissingPeppers, type MissingPepper } from './peppers.ts'
import { findValidKeys, updateKeyUses, type ValidKey } from './store.ts'

export interface KeyAuthenticator {
  authenticate: Authenticate
  /**
   * Writes the last use of each key since the last call, and proposes moves for keys under an old
   * pepper.
   */
  recordUses(): Promise<void>
  /** Reads the peppers again, and the peppers under which active keys were made. */
  examinePeppers(): Promise<void>
  /**
   * Returns the peppers of active keys that this machine lacks, as of the last read. Keys under
   * them get 503; all others are served.
   */
  missingPeppers(): readonly MissingPepper[]
}

export interface KeyAuthenticatorOptions {
  db: Db
  /**
   * Returns the peppers under which keys may have been made, or null if this machine has none yet.
   * Called again until it returns some.
   */
  peppers: () => Promise<Keyring | null>
  clock: Clock
}

export function openKeyAuthenticator(options: KeyAuthenticatorOptions): KeyAuthenticator {
  const { db, clock } = options
  let uses = new Map<string, Date>()
  let pendingMoves = new Map<string, PendingMove>()
  const rings = openRings(options, () => {
    // The digests were made with the pepper that was present before.
    pendingMoves = new Map()
  })
  const lookUp = batched<readonly string[], ValidKey | undefined>({
    name: 'API keys',
    run: (presented) => findEach(db, presented, clock()),
    deadline: 'databaseAnswer',
  })
  return {
    async authenticate(authorization, address) {
      const key = bearerKey(authorization)
      if (key === null) return null
      const open = rings.current() ?? (await rings.use())
      const digests = open.peppers.map((pepper) => keyDigest(key, pepper))
      const row = await lookUp(digests.map((digest) => digest.toString('hex')))
      if (row === undefined) {
        await rings.refuseUncertain(open)
        return null
      }
      if (!isAllowedFrom(row.allowedFrom, address)) return null
      uses.set(row.id, clock())
      const [digest] = digests
      if (digest !== undefined && row.pepper !== open.present && open === rings.current())
        pendingMoves.set(row.id, { keyId: row.id, digest })
      return presentedKey(row)
    },

    async recordUses() {
      if (uses.size === 0) return
      const recorded = uses
      const ring = rings.current()?.all
      const moves = [...pendingMoves.values()]
      uses = new Map()
      pendingMoves = new Map()
      try {
        await updateKeyUses(db, recorded)
      } catch (error) {
        // Uses recorded since then are newer.
        uses = new Map([...recorded, ...uses])
        throw error
      }
      if (ring !== undefined && moves.length > 0) await proposeMoves(db, ring, moves)
    },

    examinePeppers: () => rings.examine(),
    missingPeppers: () => rings.missing(),
  }
}

/** Keeps the peppers in use. `onChange` is called when others replace them. */
function openRings({ db, peppers, clock }: KeyAuthenticatorOptions, onChange: () => void) {
  /** Undefined until a pepper has been read. */
  let ring: OpenRing | undefined
  let missing: readonly MissingPepper[] = []
  const readRing = async (): Promise<OpenRing> => {
    const opened = await openRing(db, await peppers(), clock())
    missing = opened.missing
    return opened
  }
  /** Shares one read among all callers that wait. */
  const readShared = batched<void, OpenRing>({
    name: 'peppers of API keys',
    run: async (callers) => {
      const opened = await readRing()
      return callers.map(() => opened)
    },
    deadline: 'databaseAnswer',
  })

  /**
   * Uses the peppers of `now` if they differ from those of `before`, and returns whether they do.
   */
  function adopt(before: OpenRing, now: OpenRing): boolean {
    if (namesOf(now) === namesOf(before)) return false
    ring = now
    onChange()
    return true
  }

  return {
    current: () => ring,
    missing: () => missing,

    async use(): Promise<OpenRing> {
      const open = ring ?? (await readShared())
      // Without a pepper, the next call reads again: creating the first key creates the first
      // pepper.
      if (open.peppers.length > 0) ring ??= open
      return open
    },

    /**
     * Throws `UnavailableError` unless a key that these peppers do not find is certainly invalid.
     * If active keys need a missing pepper, this machine cannot tell an unknown key from a key
     * under that pepper. Both get 503, so that no client discards a valid key after a 401.
     */
    async refuseUncertain(before: OpenRing): Promise<void> {
      if (adopt(before, await readShared()))
        throw new UnavailableError('the peppers of API keys have changed')
      const [first] = missing
      if (first !== undefined) throw new UnavailableError(first.message)
    },

    async examine(): Promise<void> {
      const now = await readRing()
      if (ring !== undefined) adopt(ring, now)
    },
  }
}

interface OpenRing {
  /** The keyring without the peppers whose bytes differ from those that made the keys. */
  all: Keyring
  /** Kid of the first pepper. New keys are made with it. */
  present: string | undefined
  peppers: readonly KeyObject[]
  missing: readonly MissingPepper[]
}

async function openRing(db: Db, keyring: Keyring | null, now: Date): Promise<OpenRing> {
  const ring = keyring ?? new Map<string, Uint8Array>()
  const missing = await findMissingPeppers(db, ring, now)
  const all = new Map([...ring].filter(([kid]) => missing.every((one) => one.kid !== kid)))
  const [present] = all.keys()
  const peppers = [...all.values()].map((each) => createSecretKey(each))
  return { all, present, peppers, missing }
}

function namesOf({ all }: OpenRing): string {
  return [...all.keys()].join()
}

/**
 * Looks up all presented keys in one statement. Concurrent calls with the same key share one index
 * probe.
 */
async function findEach(
  db: Db,
  presented: readonly (readonly string[])[],
  now: Date,
): Promise<(ValidKey | undefined)[]> {
  const rows = await findValidKeys(db, [...new Set(presented.flat())], now)
  const byDigest = new Map(rows.map((key) => [key.digest, key]))
  return presented.map((digests) => {
    const digest = digests.find((one) => byDigest.has(one))
    return digest === undefined ? undefined : byDigest.get(digest)
  })
}

/** Returns the key as the HTTP layer sees it. */
export function presentedKey({
  id,
  accountId,
  environment,
  scopes,
  balance,
  suspended,
}: ValidKey): PresentedKey {
  return {
    caller: { kind: 'key', keyId: id, accountId, environment },
    scopes,
    credits: { balance, suspended },
  }
}
