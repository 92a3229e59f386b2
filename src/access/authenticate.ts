/**
 * Whose key it is. Every request is decided by the database: a key that was revoked is refused by the next one, on every node
 * (decision D15). Whose it was the last time is remembered only so that its call can be counted and read at once; where that is then charged,
 * the charge tells whether the key is valid. Whoever is answered and not charged is looked up, as is a key that is new here: those of one turn
 * of the event loop together. Those that are not found share one look at the peppers, for anybody can make wrong keys.
 *
 * Cast: `api_keys`, read here; the coalescer; `api_key_uses` and `api_key_moves`, kept in memory and written every half minute by
 * `recordUses`. A crash loses at most that half minute of uses.
 */
import { createSecretKey, type KeyObject } from 'node:crypto'
import type { Clock } from '../platform/clock.ts'
import { coalesce } from '../platform/coalesce.ts'
import type { Keyring } from '../platform/crypto/keyring.ts'
import type { Db } from '../platform/db/db.ts'
import type { Authenticate, SeenKey } from '../platform/http/admission.ts'
import { type PresentedKey, type Scope, scopes } from '../platform/http/callers.ts'
import { UnavailableError } from '../platform/http/errors.ts'
import { RecentMap } from '../platform/recent-map.ts'
import { isAllowedFrom } from './allowed-from.ts'
import { bearerKey, keyDigest } from './api-key.ts'
import { leaveMoves, type Moving } from './move-keys.ts'
import { findMissingPeppers, type MissingPepper } from './peppers.ts'
import { findValidKeys, updateKeyUses, type ValidKey } from './store.ts'

export interface KeyAuthenticator {
  authenticate: Authenticate
  /** Writes down when keys were used since the last time, and which of them rest on a pepper that is on its way out. */
  recordUses(): Promise<void>
  /** Reads the peppers again, and those that active keys rest on. */
  examinePeppers(): Promise<void>
  /** Peppers that active keys rest on and this machine lacks, as last read. Keys under them get 503, all others are served. */
  missingPeppers(): readonly MissingPepper[]
}

/** A database that is frozen costs a caller this and what the limiter waits for it, together less than a second (decision D13). */
const answerWithinMs = 450

/** Keys remembered at most: any more are looked up before anything else. */
const seenMax = 10_000

interface Seen {
  key: PresentedKey & SeenKey
  allowedFrom: string | null
}

export interface KeyAuthenticatorOptions {
  db: Db
  /** A key may rest on any of them. Null while this machine has none; asked until it has. */
  peppers: () => Promise<Keyring | null>
  clock: Clock
}

export function openKeyAuthenticator({
  db,
  peppers,
  clock,
}: KeyAuthenticatorOptions): KeyAuthenticator {
  /** Undefined until a pepper has been read. */
  let ring: OpenRing | undefined
  let missing: readonly MissingPepper[] = []
  let uses = new Map<string, Date>()
  let moving = new Map<string, Moving>()
  const seen = new RecentMap<Seen>(seenMax)
  const lookUp = coalesce<readonly string[], ValidKey | undefined>({
    name: 'API keys',
    run: (presented) => findEach(db, presented, clock()),
    deadlineMs: answerWithinMs,
  })
  const ringNow = coalesce<void, OpenRing>({
    name: 'peppers of API keys',
    run: async (callers) => {
      const found = await openRing(db, await peppers(), clock())
      missing = found.missing
      return callers.map(() => found)
    },
    deadlineMs: answerWithinMs,
  })

  /** Returns whether the peppers are others than `before`; they are used from then on. */
  async function hasChanged(before: OpenRing): Promise<boolean> {
    const now = await ringNow()
    if (namesOf(now) === namesOf(before)) return false
    ring = now
    // They were digested with what was the first pepper then.
    moving = new Map()
    return true
  }

  /**
   * Throws `UnavailableError` unless a key that these peppers do not find is certainly not valid. If active keys rest on a missing pepper,
   * an unknown key and a key under that pepper look the same here: both get 503, so that no client discards a valid key after a 401.
   */
  async function refuseUncertain(before: OpenRing): Promise<void> {
    if (await hasChanged(before)) throw new UnavailableError('the peppers of API keys have changed')
    const [first] = missing
    if (first !== undefined) throw new UnavailableError(first.message)
  }

  return {
    async authenticate(authorization, { address, onSeen }) {
      const key = bearerKey(authorization)
      if (key === null) return null
      const open = ring ?? (await ringNow())
      // Without a pepper it is read again by the next call: the first key that is made makes one.
      if (open.peppers.length > 0) ring ??= open
      const digests = open.peppers.map((pepper) => keyDigest(key, pepper).toString('hex'))
      const [name = ''] = digests
      const before = seen.get(name)
      // Whoever presents it from elsewhere spends nothing of its limit.
      if (before !== undefined && isAllowedFrom(before.allowedFrom, address)) {
        const isProven = await onSeen(before.key)?.catch((error: unknown) => {
          // Nobody knows what it is now: the next call looks before anything is begun.
          seen.delete(name)
          throw error
        })
        if (isProven === true) {
          uses.set(before.key.caller.keyId, clock())
          return before.key
        }
      }
      const found = await lookUp(digests)
      if (found === undefined) {
        seen.delete(name)
        await refuseUncertain(open)
        return null
      }
      const { allowedFrom, pepper } = found
      const isMoving = pepper !== open.present
      const isProvable = allowedFrom === null && !isMoving && !found.suspended && found.balance > 0
      const told = { ...presentedKey(found), isProvable }
      const now = { key: told, allowedFrom }
      if (before === undefined || !isSame(before, now)) seen.set(name, now)
      if (!isAllowedFrom(allowedFrom, address)) return null
      uses.set(found.id, clock())
      if (isMoving && open === ring)
        moving.set(found.id, { keyId: found.id, digest: Buffer.from(name, 'hex') })
      return told
    },

    async recordUses() {
      if (uses.size === 0) return
      const recorded = uses
      const left = ring === undefined ? undefined : { ring: ring.all, moving: [...moving.values()] }
      uses = new Map()
      moving = new Map()
      try {
        await updateKeyUses(db, recorded)
      } catch (error) {
        // Later uses of the same keys are the newer ones.
        uses = new Map([...recorded, ...uses])
        throw error
      }
      if (left !== undefined && left.moving.length > 0) await leaveMoves(db, left.ring, left.moving)
    },

    async examinePeppers() {
      if (ring === undefined) await ringNow()
      else await hasChanged(ring)
    },

    missingPeppers: () => missing,
  }
}

/** Equal texts of scopes are one list. */
function isSame(one: Seen, other: Seen): boolean {
  return (
    one.allowedFrom === other.allowedFrom &&
    one.key.isProvable === other.key.isProvable &&
    one.key.scopes === other.key.scopes
  )
}

interface OpenRing {
  /** Without peppers that have other bytes than those keys were made with. */
  all: Keyring
  /** The kid of the first, which keys are made with. */
  present: string | undefined
  peppers: readonly KeyObject[]
  missing: readonly MissingPepper[]
}

async function openRing(db: Db, given: Keyring | null, now: Date): Promise<OpenRing> {
  const ring = given ?? new Map<string, Uint8Array>()
  const missing = await findMissingPeppers(db, ring, now)
  const all = new Map([...ring].filter(([kid]) => missing.every((one) => one.kid !== kid)))
  const [present] = all.keys()
  const peppers = [...all.values()].map((each) => createSecretKey(each))
  return { all, present, peppers, missing }
}

function namesOf({ all }: OpenRing): string {
  return [...all.keys()].join()
}

/** One statement for all: who presents the same key at the same time shares its probe. */
async function findEach(
  db: Db,
  presented: readonly (readonly string[])[],
  now: Date,
): Promise<(ValidKey | undefined)[]> {
  const rows = await findValidKeys(db, [...new Set(presented.flat())], now)
  const found = new Map(rows.map((key) => [key.digest, key]))
  return presented.map((digests) => {
    const digest = digests.find((one) => found.has(one))
    return digest === undefined ? undefined : found.get(digest)
  })
}

/** What the edge is told of it. */
export function presentedKey({
  id,
  accountId,
  environment,
  scopes: held,
  balance,
  suspended,
}: ValidKey): PresentedKey {
  return {
    caller: { kind: 'key', keyId: id, accountId, environment },
    scopes: scopesOf(held),
    credits: { balance, suspended },
  }
}

/** Few are different. */
const known = new Map<string, readonly Scope[]>()

function scopesOf(text: string): readonly Scope[] {
  const before = known.get(text)
  if (before !== undefined) return before
  const named = text.split(' ')
  const told = scopes.filter((scope) => named.includes(scope))
  known.set(text, told)
  return told
}
