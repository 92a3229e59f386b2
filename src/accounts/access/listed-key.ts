/** An API key as operators and members see it. */
import { type Static, Type } from 'typebox'
import { environments, scopes } from '../../edge/http/callers.ts'
import { orNull, time } from '../../operations/fields.ts'
import { closedObject } from '../../platform/json/closed-object.ts'
import { type Columns, sameNames } from '../../platform/render-table.ts'
import { isActive } from './manage.ts'
import type { StoredKey } from './store.ts'

export const listedKey = closedObject({
  id: Type.String(),
  shown: Type.String({ description: 'The beginning and the end of the key.' }),
  name: Type.String(),
  environment: Type.Enum([...environments]),
  scopes: Type.Array(Type.Enum([...scopes])),
  allowedFrom: orNull(Type.Array(Type.String()), 'Networks; null: any.'),
  state: Type.Enum(['active', 'expired', 'revoked']),
  createdAt: time,
  expiresAt: orNull(time, 'Null: valid until it is revoked.'),
  revokedAt: orNull(time, 'Null unless it is revoked.'),
  lastUsedAt: orNull(time, 'Up to a minute behind; null if it was never used.'),
})
export type ListedKey = Static<typeof listedKey>

export function withState(key: StoredKey, now: Date) {
  const ended = key.revokedAt === null ? 'expired' : 'revoked'
  return { ...key, state: isActive(key, now) ? 'active' : ended } as const
}

export const keyColumns = {
  id: 'id',
  key: 'shown',
  ...sameNames('state', 'name'),
  scopes: ({ scopes: rights }) => rights.join(' '),
  from: ({ allowedFrom }) => allowedFrom?.join(' ') ?? 'anywhere',
  created: 'createdAt',
  ends: ({ expiresAt, revokedAt }) => revokedAt ?? expiresAt,
  lastUsed: 'lastUsedAt',
} satisfies Columns<ListedKey>
