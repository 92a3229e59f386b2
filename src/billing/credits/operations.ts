/** The operations on the credits of accounts, and on the ledger that records them. */
import { type Static, Type } from 'typebox'
import {
  type AccountServices,
  accountField,
  afterRow,
  limitField,
  moreField,
  nextField,
  ownerNamed,
  pageOf,
  timeField,
} from '../../operations/fields.ts'
import { changed, operationsFor, unchanged } from '../../operations/operation.ts'
import { wireTime } from '../../platform/clock.ts'
import { counted } from '../../platform/counted.ts'
import { refuse } from '../../platform/errors.ts'
import { closedObject, listOf } from '../../platform/json/closed-object.ts'
import { type Cell } from '../../platform/render-fields.ts'
import { archiveMonth } from './archive.ts'
import { findArchivedSumsOf } from './archive-store.ts'
import { enterCredits, signed } from './credits.ts'
import { monthOf, monthPattern } from './months.ts'
import { findCreditAccount, findUsage, resumeRepaired } from './store.ts'

const { read, change } = operationsFor<AccountServices>()

const account = Type.String({ description: 'The id of the account.' })
const name = Type.String({ description: 'The name of the account.' })
const count = Type.Integer()
const creditsMax = 999_999_999_999

/** A text of one line that is not blank. */
function lineField(lengthMax: number, help: string) {
  return Type.String({
    minLength: 1,
    maxLength: lengthMax,
    pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]*[^\\x00-\\x20\\x7f-\\xa0][^\\x00-\\x1f\\x7f-\\x9f]*$',
    description: `must be 1 to ${lengthMax} characters, none of them a control character`,
    'x-help': help,
    oneSpelling: (text: string) => text.trim(),
  })
}

const entryInput = {
  reason: lineField(500, 'kept in the ledger'),
  reference: Type.Optional(
    lineField(
      150,
      'your own name for it, such as an invoice number: each is entered once; default: a new name',
    ),
  ),
  again: Type.Boolean({
    default: false,
    description: 'enter it also if an equal entry was made in the last ten minutes',
    'x-flag': 'yes',
  }),
}

const entered = closedObject({
  account,
  name,
  delta: count,
  balance: count,
  reference: Type.String(),
})

function enteredLine({ name: of, delta, balance }: Static<typeof entered>): string[] {
  return [`${of}: ${signed(delta)}, now ${counted(balance, 'credit')}`]
}

const entryRefusals = [
  'account_not_found',
  'credit_entry_repeated',
  'credit_reference_used',
  'credits_too_few',
] as const

interface EntryInput {
  account: string
  credits: number
  reason: string
  reference?: string
  again: boolean
}

/**
 * Enters credits. A reference of the operator's own says that this is another entry; without one, an
 * Idempotency-Key names the entry, and an equal entry of the last ten minutes refuses it.
 */
async function enter(
  tx: Parameters<typeof enterCredits>[0],
  kind: 'grant' | 'adjustment',
  { account: named, credits: delta, reason, reference, again }: EntryInput,
  context: Parameters<typeof ownerNamed>[2] & { idempotencyKey: string | null },
) {
  const of = await ownerNamed(tx, named, context)
  if ('refusal' in of) return of
  const done = await enterCredits(tx, {
    accountId: of.id,
    accountName: of.name,
    kind,
    delta,
    reason,
    reference: reference ?? context.idempotencyKey ?? undefined,
    isFirst: reference === undefined && !again,
  })
  if ('refusal' in done) return done
  const { balance } = done
  return changed(
    { account: of.id, name: of.name, delta, ...done },
    { subjects: [of.id], details: { credits: delta, balance } },
  )
}

export const creditsGrant = change({
  name: 'credits grant',
  http: 'POST /accounts/{account}/credits',
  summary: 'Give credits to an account',
  who: { operator: 'admin' },
  path: { account: accountField },
  input: {
    credits: Type.Integer({
      minimum: 1,
      maximum: creditsMax,
      description:
        'must be a whole number of at most twelve digits, at least 1; `credits adjust` takes credits away',
      'x-help': 'a whole number',
    }),
    ...entryInput,
  },
  positional: ['account', 'credits'],
  output: entered,
  refusals: entryRefusals,
  example: {
    account: 'Example Ltd',
    credits: 1_000,
    reason: 'first order',
    reference: 'INV-2026-017',
    again: false,
  },
  audit: 'credits.granted',
  renderLines: enteredLine,
  run: (tx, input, context) => enter(tx, 'grant', input, context),
})

export const creditsAdjust = change({
  name: 'credits adjust',
  http: 'POST /accounts/{account}/credits/adjust',
  summary: 'Correct the credits of an account, up or down',
  who: { operator: 'admin' },
  path: { account: accountField },
  input: {
    credits: Type.Integer({
      minimum: -creditsMax,
      maximum: creditsMax,
      not: { const: 0 },
      description: 'must be a whole number of at most twelve digits other than 0',
      'x-help': 'how many more; below 0 how many fewer',
    }),
    ...entryInput,
  },
  output: entered,
  refusals: entryRefusals,
  example: { account: 'Example Ltd', credits: -20, reason: 'granted twice', again: false },
  audit: 'credits.adjusted',
  renderLines: enteredLine,
  run: (tx, input, context) => enter(tx, 'adjustment', input, context),
})

const creditsShow = read({
  name: 'credits show',
  http: 'GET /accounts/{account}/credits',
  summary: 'Show the balance of an account',
  who: { operator: 'viewer' },
  path: { account: accountField },
  output: closedObject({
    account,
    name,
    balance: count,
    suspended: Type.Boolean({ description: 'Whether its calls are refused.' }),
  }),
  refusals: ['account_not_found'],
  example: { account: 'Example Ltd' },
  renderLines: ({ name: of, balance, suspended }) => [
    `${of}: ${counted(balance, 'credit')}${suspended ? ', suspended: `assay credits audit` says why' : ''}`,
  ],
  async run(db, { account: named }, context) {
    const of = await ownerNamed(db, named, context)
    if ('refusal' in of) return of
    const found = await findCreditAccount(db, of.id)
    const suspended = found !== undefined && found.suspendedAt !== null
    return { account: of.id, name: of.name, balance: found?.balance ?? 0, suspended }
  },
})

/** The output has a second list, so the type of a row does not say which fields it has. */
function fieldOf(field: string) {
  return (row: object): Cell => Reflect.get(row, field)
}

const dayMs = 86_400_000

const usageAfter = afterRow(
  '^[0-9]{4}-[0-9]{2}-[0-9]{2}/[^/\\u0000-\\u001f]{1,100}/[^/\\u0000-\\u001f]{1,100}$',
)

export const creditsUsage = read({
  name: 'credits usage',
  http: 'GET /accounts/{account}/credits/usage',
  summary: 'Show the credits that an account spent, by day, meter and operation',
  who: { operator: 'viewer' },
  path: { account: accountField },
  input: {
    since: Type.Optional(timeField('in UTC; default: 30 days before the end')),
    until: Type.Optional(timeField('in UTC, not included; default: now')),
    limit: { ...limitField, default: 1_000 },
    after: usageAfter,
  },
  output: closedObject({
    account,
    usage: listOf({
      day: Type.String({ description: 'In UTC, such as 2026-05-14.' }),
      meter: Type.String(),
      operation: Type.String(),
      calls: count,
      refunded: count,
      credits: count,
    }),
    next: nextField,
    credits: Type.Integer({ description: 'The sum of the rows of all pages.' }),
    archived: listOf(
      { month: Type.String(), entries: count, credits: count },
      {
        description: 'Months of this time whose calls are in files, and not in the rows.',
      },
    ),
  }),
  refusals: ['account_not_found', 'invalid_field'],
  example: { account: 'Example Ltd', since: '2026-05-01', until: '2026-06-01', limit: 1_000 },
  none: 'Nothing was charged.',
  columns: Object.fromEntries(
    ['day', 'meter', 'operation', 'calls', 'refunded', 'credits'].map((name) => [
      name,
      fieldOf(name),
    ]),
  ),
  renderLines: ({ usage, credits, archived }) => [
    ...(usage.length === 0 ? [] : [`${counted(credits, 'credit')} in all`]),
    ...archived.map(
      (one) =>
        `${one.month} is archived: ${counted(one.credits, 'credit')} in the whole month are in its file and not in this list`,
    ),
  ],
  async run(db, { account: named, limit, after, ...asked }, context) {
    const until = asked.until === undefined ? context.now : new Date(asked.until)
    const since =
      asked.since === undefined ? new Date(until.getTime() - 30 * dayMs) : new Date(asked.since)
    if (since > until)
      return refuse('invalid_field', {
        message: `since is ${wireTime(since)}, after its end ${wireTime(until)}. Use an earlier day.`,
      })
    const of = await ownerNamed(db, named, context)
    if ('refusal' in of) return of
    const [day = '', meter = '', operation = ''] = after?.split('/') ?? []
    const found = await findUsage(db, {
      accountId: of.id,
      since,
      until,
      after: after === undefined ? null : { day, meter, operation },
      limit: limit + 1,
    })
    const months = { from: monthOf(since), to: monthOf(new Date(until.getTime() - 1)) }
    const sums = await findArchivedSumsOf(db, of.id, months)
    const archived = sums.map(({ month, entries, delta }) => ({ month, entries, credits: -delta }))
    const { rows, next } = pageOf(found, limit, (row) =>
      [row.day, row.meter, row.operation].join('/'),
    )
    return { account: of.id, usage: rows, next, credits: found.at(0)?.sum ?? 0, archived }
  },
})

const batchMax = 500

export const creditsResume = change({
  name: 'credits resume',
  http: 'POST /credits/resume',
  summary: 'Charge suspended accounts again whose balance is the sum of its entries',
  who: { operator: 'admin' },
  output: closedObject({
    resumed: Type.Integer({ description: 'How many accounts.' }),
    accountIds: Type.Array(Type.String(), {
      description: 'The ids of the last batch of at most 500.',
    }),
    more: moreField,
  }),
  audit: 'credits.resumed',
  renderLines: ({ resumed }) => [
    resumed === 0
      ? 'No suspended account adds up.'
      : `${counted(resumed, 'account')} charged again.`,
  ],
  async run(tx) {
    const ids = await resumeRepaired(tx, batchMax)
    const output = { resumed: ids.length, accountIds: ids }
    if (ids.length === 0) return unchanged(output)
    return changed(output, { subjects: ids }, { more: ids.length === batchMax })
  },
})

/** It writes a file of this machine, so only the command line performs it. */
export const creditsArchive = change({
  name: 'credits archive',
  http: 'POST /credits/archive',
  summary: 'Write the entries of a past month to a file, and delete them from the ledger',
  who: { operator: 'admin' },
  input: {
    month: Type.String({
      pattern: monthPattern,
      description: 'must be a month, such as 2026-05',
    }),
    out: Type.String({ description: 'a new file; keep it as long as you keep books' }),
  },
  output: closedObject({
    month: Type.String(),
    entries: count,
    credits: count,
    sha256: Type.String(),
    out: Type.String(),
  }),
  refusals: ['credit_month_state'],
  example: { month: '2026-05', out: '2026-05.ndjson' },
  audit: 'credits.archived',
  async run(tx, { month, out }, { now }) {
    const archive = await archiveMonth(tx, { month, path: out, now })
    if ('refusal' in archive) return archive
    const { entries, delta, fileSha256 } = archive
    const sha256 = fileSha256.toString('hex')
    return changed(
      { month, entries, credits: -delta, sha256, out },
      { subjects: [], details: { month, entries, sha256 } },
    )
  },
})

/** In the order of the help. */
export const creditOperations = [
  creditsGrant,
  creditsAdjust,
  creditsShow,
  creditsUsage,
  creditsResume,
] as const
