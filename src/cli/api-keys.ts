/** `assay api-keys create|list|rotate|restrict|revoke`: a key is printed once, by the command that makes it. */
import { allowedNetworksMax, networkText } from '../access/allowed-from.ts'
import {
  activeKeysMax,
  createKey,
  overlapHoursMax,
  restrictKey,
  revokeKey,
  rotateKey,
} from '../access/manage.ts'
import { PepperRefused } from '../access/peppers.ts'
import { findKeys } from '../access/store.ts'
import { peppersMade } from '../app/peppers.ts'
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { systemClock, wireTime } from '../platform/clock.ts'
import { type Environment, environments, type Scope, scopes } from '../platform/http/callers.ts'
import { accountNamed, nameGiven } from './accounts.ts'
import { lineOfKey, toldKey } from './api-keys-told.ts'
import { done, type Outcome } from './output.ts'
import { CommandError, UsageError } from './run.ts'
import { withDatabase } from './with-database.ts'

export interface CreateKeyFlags {
  scope: string[]
  environment: string
  name: string
  expiresDays?: string
  allowFrom?: string[]
}

const shownOnce = 'This is the only time that the key is shown.'

export function createApiKeyCommand(
  config: Config,
  named: string,
  flags: CreateKeyFlags,
): Promise<Outcome> {
  const wanted = {
    name: nameGiven(flags.name),
    environment: environmentGiven(flags.environment),
    scopes: scopesGiven(flags.scope),
    allowedFrom: flags.allowFrom === undefined ? null : networksGiven(flags.allowFrom),
  }
  const days =
    flags.expiresDays === undefined ? null : whole('--expires-days', flags.expiresDays, [1, 3_650])
  return withDatabase(config, async (db) => {
    const { id: accountId } = await accountNamed(db, named)
    const peppers = await peppersMade(config)
    const now = systemClock()
    const expiresAt = days === null ? null : new Date(now.getTime() + days * 86_400_000)
    const made = await db
      .transaction(async (tx) => {
        const created = await createKey(tx, { ...wanted, accountId, expiresAt }, { peppers, now })
        if (created.outcome !== 'created') return created
        const details = { account: accountId, environment: wanted.environment }
        const entry = {
          actor: operator(),
          action: 'api_keys.created',
          subjects: [created.id],
          details,
        } as const
        await recordAction(tx, entry, now)
        return created
      })
      .catch(explainPepper)
    if (made.outcome === 'no such account') throw new CommandError(`There is no account ${named}.`)
    if (made.outcome === 'too many keys')
      throw new CommandError(`The account has ${activeKeysMax} active keys: revoke one first.`)
    const { id, key } = made
    return done({ ok: true, id, key, expiresAt: expiresAt && wireTime(expiresAt) }, [
      key,
      `id ${id}`,
      shownOnce,
    ])
  })
}

export function listApiKeysCommand(config: Config, named: string): Promise<Outcome> {
  return withDatabase(config, async (db) => {
    const account = await accountNamed(db, named)
    const now = systemClock()
    const keys = (await findKeys(db, account.id)).map((key) => toldKey(key, now))
    const lines = keys.length > 0 ? keys.map(lineOfKey) : ['The account has no API key.']
    return done({ ok: true, keys }, lines)
  })
}

export function rotateApiKeyCommand(
  config: Config,
  id: string,
  flags: { overlapHours: string; now?: boolean },
): Promise<Outcome> {
  const keyId = keyIdGiven(id)
  const overlapHours = flags.now
    ? 0
    : whole('--overlap-hours', flags.overlapHours, [0, overlapHoursMax])
  return withDatabase(config, async (db) => {
    const peppers = await peppersMade(config)
    const now = systemClock()
    const made = await db
      .transaction(async (tx) => {
        const rotated = await rotateKey(tx, { id: keyId, overlapHours }, { peppers, now })
        if (rotated.outcome !== 'created') return rotated
        const details = { successor: rotated.id, overlapHours }
        const entry = {
          actor: operator(),
          action: 'api_keys.rotated',
          subjects: [keyId],
          details,
        } as const
        await recordAction(tx, entry, now)
        return rotated
      })
      .catch(explainPepper)
    if (made.outcome === 'no such key') throw new CommandError(`There is no API key ${keyId}.`)
    if (made.outcome === 'not active') throw new CommandError('The key is revoked or has expired.')
    if (made.outcome === 'rotated before')
      throw new CommandError('The key has a successor already: rotate that one.')
    const predecessorEndsAt = wireTime(made.predecessorEndsAt)
    const end =
      overlapHours === 0 ? 'The old key is revoked.' : `The old key ends at ${predecessorEndsAt}.`
    return done({ ok: true, id: made.id, key: made.key, predecessorEndsAt }, [
      made.key,
      `id ${made.id}`,
      shownOnce,
      end,
    ])
  })
}

export interface RestrictKeyFlags {
  allowFrom?: string[]
  anywhere?: boolean
}

export function restrictApiKeyCommand(
  config: Config,
  id: string,
  flags: RestrictKeyFlags,
): Promise<Outcome> {
  const keyId = keyIdGiven(id)
  if ((flags.allowFrom === undefined) !== (flags.anywhere === true))
    throw new UsageError('Either --allow-from or --anywhere.')
  const allowedFrom = flags.allowFrom === undefined ? null : networksGiven(flags.allowFrom)
  return withDatabase(config, async (db) => {
    const result = await db.transaction(async (tx) => {
      const restricted = await restrictKey(tx, keyId, allowedFrom)
      if (restricted !== 'restricted') return restricted
      const details = { networks: allowedFrom?.length ?? 0 }
      const entry = { action: 'api_keys.restricted', subjects: [keyId], details } as const
      await recordAction(tx, { actor: operator(), ...entry }, systemClock())
      return restricted
    })
    if (result === 'unknown') throw new CommandError(`There is no API key ${keyId}.`)
    if (result === 'revoked') throw new CommandError('The key is revoked.')
    const from = allowedFrom === null ? 'anywhere' : `${allowedFrom.join(', ')} alone`
    return done({ ok: true, id: keyId, allowedFrom }, [`${keyId} may be used from ${from}`])
  })
}

export function revokeApiKeyCommand(config: Config, id: string): Promise<Outcome> {
  const keyId = keyIdGiven(id)
  return withDatabase(config, async (db) => {
    const result = await db.transaction(async (tx) => {
      const now = systemClock()
      const revoked = await revokeKey(tx, keyId, now)
      if (revoked === 'revoked')
        await recordAction(
          tx,
          { actor: operator(), action: 'api_keys.revoked', subjects: [keyId], details: {} },
          now,
        )
      return revoked
    })
    if (result === 'unknown') throw new CommandError(`There is no API key ${keyId}.`)
    const told =
      result === 'before'
        ? 'was revoked before'
        : 'is revoked: no request with it is served any more'
    return done({ ok: true, id: keyId, result }, [`${keyId} ${told}`])
  })
}

function explainPepper(error: unknown): never {
  if (error instanceof PepperRefused) throw new CommandError(error.message)
  throw error
}

function environmentGiven(text: string): Environment {
  const environment = environments.find((known) => known === text)
  if (environment === undefined) throw new UsageError('--environment is live or test.')
  return environment
}

function scopesGiven(texts: readonly string[]): Scope[] {
  return [...new Set(texts)].map((text) => {
    const scope = scopes.find((known) => known === text)
    if (scope === undefined) throw new UsageError(`--scope is one of ${scopes.join(', ')}.`)
    return scope
  })
}

function networksGiven(texts: readonly string[]): string[] {
  const networks = texts.map((text) => {
    const network = networkText(text)
    if (network === null)
      throw new UsageError(
        '--allow-from takes addresses and networks, such as 192.0.2.7 or 2001:db8::/32.',
      )
    return network
  })
  const different = [...new Set(networks)]
  if (different.length > allowedNetworksMax)
    throw new UsageError(`--allow-from takes at most ${allowedNetworksMax} networks.`)
  return different
}

function keyIdGiven(text: string): string {
  const id = text.toLowerCase()
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id))
    throw new UsageError('A key is named by its id, a UUID: `assay api-keys list` shows it.')
  return id
}

function whole(name: string, text: string, [min, max]: [number, number]): number {
  const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max))
    throw new UsageError(`${name} is a whole number from ${min} to ${max}.`)
  return value
}
