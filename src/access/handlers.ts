/** The handlers of API keys. */
import type { Static } from 'typebox'
import { Compile } from 'typebox/compile'
import type { AccountServices } from '../operations/account-field.ts'
import { memberCaller } from '../operations/callers.ts'
import { type Performer, perform } from '../operations/perform.ts'
import type { Handlers } from '../platform/http/endpoint.ts'
import { type Refusal, refuse } from '../platform/http/errors.ts'
import { firstFault } from '../platform/json/shape-fault.ts'
import type { apiKeyContract } from './contract.ts'
import { wireKeyChanged, wireKeyCreated, wireKeyList } from './examples.ts'
import { apiKeysCreate, apiKeysRevoke, apiKeysRotate } from './key-operations.ts'
import { readKeyRequest } from './key-request.ts'
import { type apiKeyRequest, rotateRequest } from './schema.ts'
import { findKeys, type StoredKey } from './store.ts'

const rotationShape = Compile(rotateRequest)

export function apiKeyHandlers(
  performer: Performer<AccountServices>,
): Handlers<typeof apiKeyContract> {
  const { db, clock } = performer
  const stored = async (accountId: string, id: string): Promise<StoredKey> => {
    const key = (await findKeys(db, accountId)).find((one) => one.id === id)
    if (key === undefined) throw new Error(`API key ${id} is gone`)
    return key
  }
  return {
    async listApiKeys({ caller }) {
      return { status: 200, body: wireKeyList(await findKeys(db, caller.accountId)) }
    },

    async createApiKey({ caller, body, requestId }) {
      if (caller.role !== 'owner') return refuse('owner_required')
      const { accountId: account } = caller
      const read = readKeyRequest(body, { accountId: account, now: clock() })
      if ('fault' in read) return invalidField(read.fault)
      const input = { account, ...(body as Static<typeof apiKeyRequest>) }
      const member = memberCaller(caller, requestId)
      const created = await perform(performer, apiKeysCreate, member, input)
      if ('refusal' in created) return plain(created)
      const { id, key } = created.output
      return { status: 201, body: wireKeyCreated(await stored(account, id), key) }
    },

    async rotateApiKey({ caller, path: { keyId }, body, requestId }) {
      if (caller.role !== 'owner') return refuse('owner_required')
      if (!rotationShape.Check(body)) {
        const { field, reason } = firstFault(rotationShape, body)
        return invalidField(`${field ?? 'The body'} ${reason}.`)
      }
      const input = { keyId, overlapHours: body.overlapHours, now: false }
      const member = memberCaller(caller, requestId)
      const rotated = await perform(performer, apiKeysRotate, member, input)
      if ('refusal' in rotated) return plain(rotated)
      const { id, key } = rotated.output
      return { status: 201, body: wireKeyCreated(await stored(caller.accountId, id), key) }
    },

    async revokeApiKey({ caller, path: { keyId }, requestId }) {
      const member = memberCaller(caller, requestId)
      const revoked = await perform(performer, apiKeysRevoke, member, { keyId })
      if ('refusal' in revoked) return plain(revoked)
      return { status: 200, body: wireKeyChanged(await stored(caller.accountId, keyId)) }
    },
  }
}

/** The routes have the messages of the error table. */
function plain({ refusal, cause }: Refusal): Refusal {
  const name = refusal === 'account_not_found' ? 'session_required' : refusal
  return refuse(name, cause === undefined ? {} : { cause })
}

function invalidField(message: string): Refusal {
  return refuse('invalid_field', { message })
}
