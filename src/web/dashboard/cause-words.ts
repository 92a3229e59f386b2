/** Pure: the stored cause of a refused call in words, and the page where it is mended. */
import type { ErrorCauses, ErrorName } from '../../platform/errors.ts'
import { count, shortDate } from '../text.ts'

type Names = ReadonlyMap<string, string>

interface CallOf {
  error: string | null
  cause: Readonly<Record<string, unknown>> | null
  keyId: string | null
}

const notFound =
  (what: string) =>
  ({ used, limit }: { used: number; limit: number }): string =>
    `${what} ${count(used)} of ${count(limit)} not-found answers used this minute`

/** One line for each error with a cause. */
const lines: {
  [Name in keyof ErrorCauses]: (cause: ErrorCauses[Name], key: string, names: Names) => string
} = {
  insufficient_scope: ({ needed, held }, key) =>
    `Needs ${needed}; ${key} has ${held.length === 0 ? 'no scope' : held.join(', ')}`,
  invalid_parameter: ({ in: place, name, rule }) =>
    name === null ? rule : `Parameter ${name} in the ${place}: ${rule}`,
  invalid_field: ({ rule }) => rule,
  invalid_json: ({ rule }) => rule,
  rate_limited: ({ bucket, limit, windowS, resetS }) =>
    `Limit of ${bucket === 'calls' ? 'the key' : 'not-found answers'}: ${count(limit)} ${windowS === 60 ? 'a minute' : 'a day'}. Free again ${count(resetS)} s after the call`,
  insufficient_credits: ({ price, balance }) =>
    `Costs ${price === 1 ? '1 credit' : `${count(price)} credits`}, the balance was ${count(balance)}`,
  candidate_not_found: notFound('No public candidate has this handle.'),
  score_not_found: notFound('No public score has this id.'),
  score_credential_not_found: notFound('The score has no credential.'),
  webhook_endpoints_maximum: ({ count: has, max }) =>
    `The account has ${count(has)} active endpoints, of ${count(max)} that it may have`,
  api_keys_maximum: ({ count: has, max }) =>
    `The account has ${count(has)} valid keys, of ${count(max)} that it may have`,
  idempotency_key_reused: ({ made }) =>
    `The Idempotency-Key made ${made} before, with other content`,
  idempotency_key_spent: ({ made }) => `The Idempotency-Key made ${made}, which was deleted`,
  invalid_api_key: ({ endedAt, successorId }, _, names) =>
    `Key ended ${shortDate(new Date(endedAt))}${successorId === null ? '' : `, replaced by ${names.get(successorId) ?? successorId}`}`,
}

/** Returns the cause as one line, or an empty text if none is stored. */
export function causeLine({ error, cause, keyId }: CallOf, names: Names): string {
  if (cause === null || error === null || !Object.hasOwn(lines, error)) return ''
  const line = lines[error as keyof ErrorCauses] as (
    cause: object,
    key: string,
    names: Names,
  ) => string
  // A rule of the contract can name a parameter as code, and this line is plain text.
  return line(cause, names.get(keyId ?? '') ?? 'the key', names).replaceAll('`', '')
}

/** The page on which the cause is mended. */
export function nextStep({ error, cause }: CallOf): { label: string; url: string } | null {
  const needed = cause?.needed
  const steps: Partial<Record<ErrorName, { label: string; url: string }>> = {
    insufficient_scope: {
      label: `Create a key with ${typeof needed === 'string' ? needed : 'this scope'}`,
      url: '/dashboard/keys/new',
    },
    test_key: { label: 'Create a live key', url: '/dashboard/keys/new' },
    insufficient_credits: { label: 'See the credits', url: '/dashboard/usage' },
    webhook_endpoints_maximum: { label: 'See the endpoints', url: '/dashboard/webhooks' },
    api_keys_maximum: { label: 'See the keys', url: '/dashboard/keys' },
    invalid_api_key: { label: 'See the keys', url: '/dashboard/keys' },
    rate_limited: { label: 'How limits work', url: '/docs/api-keys#limits' },
  }
  return steps[error as ErrorName] ?? null
}
