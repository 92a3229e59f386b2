/** An API key for a person to read: its beginning and its end, never the key. */
import { isActive } from '../access/manage.ts'
import type { StoredKey } from '../access/store.ts'
import { wireTime } from '../platform/clock.ts'

export function toldKey(key: StoredKey, now: Date) {
  const { id, shown, name, environment, scopes, allowedFrom, createdAt, expiresAt, revokedAt } = key
  const { lastUsedAt, pepper } = key
  return {
    id,
    shown,
    name,
    environment,
    scopes,
    allowedFrom,
    pepper,
    state: isActive(key, now) ? 'active' : revokedAt === null ? 'expired' : 'revoked',
    createdAt: wireTime(createdAt),
    expiresAt: expiresAt && wireTime(expiresAt),
    revokedAt: revokedAt && wireTime(revokedAt),
    lastUsedAt: lastUsedAt && wireTime(lastUsedAt),
  }
}

export function lineOfKey(key: ReturnType<typeof toldKey>): string {
  const dates = [
    `created ${key.createdAt}`,
    key.expiresAt && `ends ${key.expiresAt}`,
    key.revokedAt && `revoked ${key.revokedAt}`,
    key.lastUsedAt === null ? 'never used' : `used ${key.lastUsedAt}`,
  ]
  const { id, shown, state, scopes, allowedFrom, pepper, name } = key
  const rights = [...scopes, ...(allowedFrom === null ? [] : [`from ${allowedFrom.join(' ')}`])]
  return `${id}  ${shown}  ${state.padEnd(7)}  ${rights.join(' ')}  ${name}  pepper ${pepper}, ${dates.filter(Boolean).join(', ')}`
}
