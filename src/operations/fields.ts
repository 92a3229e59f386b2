/** Fields that the input and output of many operations have. */
import { type TSchema, Type } from 'typebox'
import { dayOf, instantOf } from '../platform/clock.ts'
import type { Queryable } from '../platform/db/db.ts'
import type { Refusal } from '../platform/errors.ts'
import type { Owner } from './operation.ts'

export function orNull<Schema extends TSchema>(schema: Schema, description = '') {
  return Type.Union([schema, Type.Null()], { description })
}

/** The id of a record that a change creates. A dry run does not show it. */
export const madeId = Type.String({ 'x-made': true })

/** A time of an output, as `wireTime` writes it. */
export const time = Type.String({ format: 'date-time' })

/** The name of a user in an output. */
export const userName = orNull(Type.String(), 'Null if the user has given no name.')

/** Searches a list. `help` says in which fields. */
export function findField(help: string) {
  return Type.Optional(
    Type.String({
      pattern: '^[^\\u0000-\\u001f]{1,200}$',
      description: 'must have 1 to 200 characters, none of them a control character',
      'x-help': help,
    }),
  )
}

/** The id of a record. `shownBy` is the operation whose list shows such ids. */
export function idField(thing: string, shownBy: string) {
  return Type.String({
    pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
    description: `must be the id of ${thing}, a UUID`,
    oneSpelling: (id: string) => id.toLowerCase(),
    'x-shown-by': shownBy,
  })
}

/** A SHA-256 in hex. */
export function digestField(thing: string, shownBy: string) {
  return Type.String({
    pattern: '^[0-9a-f]{64}$',
    description: `must be ${thing}, a SHA-256 of 64 hex characters`,
    oneSpelling: (digest: string) => digest.toLowerCase(),
    'x-shown-by': shownBy,
  })
}

export function flagField(description: string) {
  return Type.Boolean({ default: false, description })
}

/** Rows of one page. The command line reads as many pages as its `--limit` needs. */
export const limitField = Type.Integer({
  minimum: 1,
  maximum: 1_000,
  default: 200,
  description: 'at most so many',
})

/** The page after a row, which `next` names in this form. */
export function afterRow(pattern: string) {
  const description = 'must be the member `next` of the page before'
  return Type.Optional(Type.String({ pattern, description }))
}

/** The page after the row with this id. */
export const afterField = afterRow('^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')

/** The member of a list that leads to its next page. */
export const nextField = Type.Union([Type.String(), Type.Null()], {
  description: 'The value of `after` for the next page, or null after the last row.',
})

/** A long change declares it. `perform` sets it if it ended before the last batch. */
export const moreField = Type.Optional(
  Type.Literal(true, { description: 'Present if items are left: send the same request again.' }),
)

/** Returns at most `limit` rows of the `limit + 1` that were read, and the id of the next page. */
export function pageOf<Row>(
  rows: readonly Row[],
  limit: number,
  idOf: (row: Row) => string,
): { rows: Row[]; next: string | null } {
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  return { rows: shown, next: last === undefined ? null : idOf(last) }
}

/** The start of a day in UTC, or a time with its zone. Seconds may be left out. */
export function timeField(help: string) {
  return Type.String({
    format: 'date-time',
    description: 'must be a day or a time in UTC, such as 2026-05-14T09:00Z',
    'x-help': help,
    oneSpelling: (text: string) => {
      const time = text.replace(/T(\d\d:\d\d)(?=[Z+-])/, 'T$1:00')
      return (dayOf(text) ?? instantOf(time))?.toISOString() ?? text
    },
  })
}

export interface AccountServices {
  accounts: {
    named(db: Queryable, text: string): Promise<NamedAccount | Refusal<'account_not_found'>>
    /** Returns the names of accounts by id. */
    names(db: Queryable, ids: readonly string[]): Promise<ReadonlyMap<string, string>>
  }
}

export interface NamedAccount {
  id: string
  name: string
}

export const accountField = Type.String({
  minLength: 1,
  maxLength: 120,
  description: 'name or id of the account',
  'x-shown-by': 'accounts list',
})

/** Returns the account that the operator names with `text`, or that a member or a key has. */
export async function ownerNamed(
  db: Queryable,
  text: string,
  { owner, services }: { owner: Owner; services: AccountServices },
): Promise<NamedAccount | Refusal<'account_not_found'>> {
  return services.accounts.named(db, owner === 'any' ? text : owner.userId)
}

/** Adds the name of the account to rows that have its id as `userId`. */
export async function withAccounts<Row extends { userId: string }>(
  db: Queryable,
  rows: readonly Row[],
  { accounts }: AccountServices,
): Promise<(Row & { account: string })[]> {
  const names = await accounts.names(db, [...new Set(rows.map(({ userId }) => userId))])
  return rows.map((row) => ({ ...row, account: names.get(row.userId) ?? row.userId }))
}

/** Returns whose rows a list shows. Null: those of all accounts, if an operator names none. */
export async function listOwner(
  db: Queryable,
  text: string | undefined,
  context: { owner: Owner; services: AccountServices },
): Promise<Owner | Refusal<'account_not_found'>> {
  if (text === undefined || context.owner !== 'any') return context.owner
  const account = await context.services.accounts.named(db, text)
  return 'refusal' in account ? account : { userId: account.id }
}
