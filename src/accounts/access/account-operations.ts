/** The operations on accounts. Those on the members are in `src/accounts/member-operations.ts`. */
import { type Static, Type } from 'typebox'
import { environments, scopes } from '../../edge/http/callers.ts'
import {
  type AccountServices,
  accountField,
  afterField,
  limitField,
  madeId,
  nextField,
  orNull,
  pageOf,
  time,
} from '../../operations/fields.ts'
import { changed, operationsFor } from '../../operations/operation.ts'
import { refuse } from '../../platform/errors.ts'
import { closedObject, listOf } from '../../platform/json/closed-object.ts'
import { renderFields } from '../../platform/render-fields.ts'
import { type Columns, renderTable, sameNames } from '../../platform/render-table.ts'
import { createAccount, isActive } from './manage.ts'
import { findAccounts, findShownKeys, type StoredKey } from './store.ts'

const { read, change } = operationsFor<AccountServices>()

const account = closedObject({ id: Type.String(), name: Type.String(), createdAt: time })
const credits = Type.Integer()

const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** A key of an account, as lists show it. */
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

export const accountsCreate = change({
  name: 'accounts create',
  http: 'POST /accounts',
  summary: 'Create an account',
  who: { operator: 'admin' },
  input: {
    name: Type.String({
      pattern: '^(?!\\s*$)[^\\p{C}]{1,120}$',
      description: 'must be text of 1 to 120 characters, none of them a control character',
      'x-help': 'a name that no other account has',
      oneSpelling: (text: string) => text.trim(),
    }),
  },
  positional: ['name'],
  output: closedObject({ account: closedObject({ ...account.properties, id: madeId }) }),
  refusals: ['invalid_field', 'account_name_taken'],
  example: { name: 'Example Ltd' },
  audit: 'accounts.created',
  renderLines: ({ account: { id, name } }) => [
    `created the account ${name} (${id})`,
    `Next: \`assay api-keys create ${id} --scope scores:read\` and \`assay credits grant ${id} 1000 --reason …\`.`,
  ],
  async run(tx, { name }, { now }) {
    if (uuidForm.test(name))
      return refuse('invalid_field', {
        message: `name has the form of an id and could hide another account. Use a name, not ${name}.`,
      })
    const created = await createAccount(tx, name, now)
    if (created === null)
      return refuse('account_name_taken', {
        message: `An account with the name ${name} exists already.`,
      })
    return changed({ account: created }, { subjects: [created.id] })
  },
})

const accountsList = read({
  name: 'accounts list',
  http: 'GET /accounts',
  summary: 'Show every account, its keys and its credits',
  who: { operator: 'viewer' },
  input: { limit: { ...limitField, default: 1_000 }, after: afterField },
  output: closedObject({
    accounts: listOf({ ...account.properties, activeKeys: Type.Integer(), credits }),
    next: nextField,
  }),
  example: { limit: 1_000 },
  none: 'There is no account yet. Run `assay accounts create NAME`.',
  columns: {
    name: 'name',
    credits: 'credits',
    keys: 'activeKeys',
    created: 'createdAt',
    id: 'id',
  },
  async run(db, { limit, after = null }, { now }) {
    const found = await findAccounts(db, { after, limit: limit + 1, now })
    const { rows, next } = pageOf(found, limit, ({ id }) => id)
    return { accounts: rows.map((one) => ({ ...one, credits: one.balance })), next }
  },
})

const endedMax = 20

const accountsShow = read({
  name: 'accounts show',
  http: 'GET /accounts/{account}',
  summary: 'Show an account, its valid keys and the last ended ones',
  who: { operator: 'viewer' },
  path: { account: accountField },
  output: closedObject({
    account,
    credits,
    suspended: Type.Boolean({ description: 'Its books did not add up: no credit can be used.' }),
    keys: Type.Array(listedKey),
  }),
  refusals: ['account_not_found'],
  example: { account: 'Example Ltd' },
  renderLines: ({ account: { id, name, createdAt }, credits: balance, suspended, keys }) => [
    name,
    ...renderFields({
      id,
      created: createdAt,
      credits: suspended ? `${balance}, suspended: run \`assay credits audit\`` : balance,
    }),
    ...(keys.length === 0 ? [] : ['', ...renderTable(keys, keyColumns)]),
  ],
  async run(db, { account: text }, { now, services }) {
    const named = await services.accounts.named(db, text)
    if ('refusal' in named) return named
    const [found] = await findAccounts(db, { id: named.id, limit: 1, now })
    if (found === undefined) return refuse('account_not_found')
    const keys = await findShownKeys(db, { accountId: named.id, now, endedMax })
    return {
      account: found,
      credits: found.balance,
      suspended: found.isSuspended,
      keys: keys.map((key) => withState(key, now)),
    }
  },
})

export const accountOperations = [accountsCreate, accountsList, accountsShow] as const
