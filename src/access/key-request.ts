/** Pure: a request to make an API key for an account, checked and brought to its one form. */
import type { Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { scopes } from '../platform/http/callers.ts'
import { firstFault } from '../platform/json/shape-fault.ts'
import { networkText } from './allowed-from.ts'
import type { NewKey } from './manage.ts'
import { apiKeyRequest } from './schema.ts'

const dayMs = 86_400_000
const shape = Compile(apiKeyRequest)

/** Returns the key to make, or a sentence that begins with the field that is wrong. */
export function readKeyRequest(
  body: unknown,
  { accountId, now }: { accountId: string; now: Date },
): { key: NewKey } | { fault: string } {
  if (!shape.Check(body)) {
    const { field, reason } = firstFault(shape, body)
    return { fault: `${field ?? 'The body'} ${reason}.` }
  }
  const {
    name,
    environment,
    scopes: wanted,
    validDays,
    allowedFrom,
  }: Static<typeof apiKeyRequest> = body
  const networks = allowedFrom?.map(networkText) ?? null
  const wrong = networks?.indexOf(null) ?? -1
  if (wrong >= 0) return { fault: `allowedFrom holds no network: ${allowedFrom?.[wrong]}.` }
  return {
    key: {
      accountId,
      environment,
      name: name.trim(),
      scopes: scopes.filter((scope) => wanted.includes(scope)),
      allowedFrom: networks?.filter((network) => network !== null) ?? null,
      expiresAt: validDays === undefined ? null : new Date(now.getTime() + validDays * dayMs),
    },
  }
}
