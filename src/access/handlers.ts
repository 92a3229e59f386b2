/** The handlers of API keys. */
import { Compile } from 'typebox/compile'
import type { ActionContext } from '../audit/action.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db/db.ts'
import type { SessionCaller } from '../platform/http/callers.ts'
import type { Handlers } from '../platform/http/endpoint.ts'
import { type Refusal, refuse } from '../platform/http/errors.ts'
import { firstFault } from '../platform/json/shape-fault.ts'
import type { apiKeyContract } from './contract.ts'
import { wireKeyChanged, wireKeyCreated, wireKeyList } from './examples.ts'
import { readKeyRequest } from './key-request.ts'
import { activeKeysMax, createApiKey } from './manage.ts'
import { revokeOwnKey, rotateOwnKey } from './manage-own.ts'
import { rotateRequest } from './schema.ts'
import { findKeys, type StoredKey } from './store.ts'

export interface ApiKeyOptions {
  db: Db
  clock: Clock
}

const rotationShape = Compile(rotateRequest)

export function apiKeyHandlers({ db, clock }: ApiKeyOptions): Handlers<typeof apiKeyContract> {
  const contextOf = ({ userId }: SessionCaller): ActionContext => ({
    db,
    clock,
    actor: `user ${userId}`,
  })
  const stored = async (accountId: string, id: string): Promise<StoredKey> => {
    const key = (await findKeys(db, accountId)).find((one) => one.id === id)
    if (key === undefined) throw new Error(`API key ${id} is gone`)
    return key
  }
  return {
    async listApiKeys({ caller }) {
      return { status: 200, body: wireKeyList(await findKeys(db, caller.accountId)) }
    },

    async createApiKey({ caller, body }) {
      if (caller.role !== 'owner') return refuse('owner_required')
      const { accountId } = caller
      const read = readKeyRequest(body, { accountId, now: clock() })
      if ('fault' in read) return invalidField(read.fault)
      const created = await createApiKey(contextOf(caller), read.key)
      if (created.outcome === 'no such account') return refuse('session_required')
      if (created.outcome === 'too many keys')
        return refuse('api_keys_maximum', { cause: { count: activeKeysMax, max: activeKeysMax } })
      const key = await stored(accountId, created.id)
      return { status: 201, body: wireKeyCreated(key, created.key) }
    },

    async rotateApiKey({ caller, path: { keyId: id }, body }) {
      if (caller.role !== 'owner') return refuse('owner_required')
      if (!rotationShape.Check(body)) {
        const { field, reason } = firstFault(rotationShape, body)
        return invalidField(`${field ?? 'The body'} ${reason}.`)
      }
      const { accountId } = caller
      const request = { id, accountId, overlapHours: body.overlapHours }
      const rotated = await rotateOwnKey(contextOf(caller), request)
      if (rotated.outcome === 'no such key') return refuse('api_key_not_found')
      if (rotated.outcome !== 'created') return refuse('api_key_not_rotatable')
      const key = await stored(accountId, rotated.id)
      return { status: 201, body: wireKeyCreated(key, rotated.key) }
    },

    async revokeApiKey({ caller, path: { keyId: id } }) {
      if (caller.role !== 'owner') return refuse('owner_required')
      const { accountId } = caller
      if ((await revokeOwnKey(contextOf(caller), { id, accountId })) === 'unknown')
        return refuse('api_key_not_found')
      return { status: 200, body: wireKeyChanged(await stored(accountId, id)) }
    },
  }
}

function invalidField(message: string): Refusal {
  return refuse('invalid_field', { message })
}
