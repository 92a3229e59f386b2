/** Examples of the contract, and API keys in the closed shape of the wire. */
import type { Static } from 'typebox'
import { wireTime } from '../platform/clock.ts'
import { schemaVersion } from '../platform/http/identifiers.ts'
import type { apiKeyChanged, apiKeyCreated, apiKeyList } from './schema.ts'
import type { StoredKey } from './store.ts'

type WireKey = Static<typeof apiKeyChanged>['apiKey']

function wireKey(key: StoredKey): WireKey {
  const { id, name, environment, shown, scopes, allowedFrom, predecessor } = key
  return {
    id,
    name,
    environment,
    shown,
    scopes,
    allowedFrom,
    predecessor,
    createdAt: wireTime(key.createdAt),
    expiresAt: key.expiresAt && wireTime(key.expiresAt),
    revokedAt: key.revokedAt && wireTime(key.revokedAt),
    lastUsedAt: key.lastUsedAt && wireTime(key.lastUsedAt),
  }
}

export function wireKeyList(keys: readonly StoredKey[]): Static<typeof apiKeyList> {
  return { schemaVersion: schemaVersion('api_keys'), apiKeys: keys.map(wireKey) }
}

export function wireKeyChanged(key: StoredKey): Static<typeof apiKeyChanged> {
  return { schemaVersion: schemaVersion('api_key'), apiKey: wireKey(key) }
}

export function wireKeyCreated(stored: StoredKey, key: string): Static<typeof apiKeyCreated> {
  return { schemaVersion: schemaVersion('api_key_create'), apiKey: wireKey(stored), key }
}

const exampleStored: StoredKey = {
  id: '019f8a52-4f00-7000-8000-000000000011',
  accountId: '019f8a52-4f00-7000-8000-000000000012',
  environment: 'test',
  shown: 'svc_test_7Qm3',
  name: 'payroll-sync',
  scopes: ['candidates:read', 'scores:read'],
  allowedFrom: null,
  predecessor: null,
  createdAt: new Date('2026-05-14T09:00:00Z'),
  expiresAt: null,
  revokedAt: null,
  lastUsedAt: null,
}

export const exampleKeyRequest = {
  name: 'payroll-sync',
  environment: 'test',
  scopes: ['candidates:read', 'scores:read'],
} as const

export const exampleKeyList = wireKeyList([exampleStored])
export const exampleKeyChanged = wireKeyChanged({
  ...exampleStored,
  revokedAt: new Date('2026-06-02T08:14:00Z'),
})
export const exampleKeyCreated = wireKeyCreated(
  exampleStored,
  'svc_test_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ',
)
