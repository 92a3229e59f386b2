/** Wire shapes of usage and credits. Their routes are extensions of the specification. */
import { Type } from 'typebox'
import { dateTime, schemaVersionField, text, textOrNull } from '../platform/http/fields.ts'

const closed = { additionalProperties: false }
const day = (description: string) =>
  Type.String({ format: 'date', pattern: '^[1-9]\\d{3}-\\d{2}-\\d{2}$', description })

/** The groups of the ledger, and the status, which the request log knows. */
export const usageGroups = ['day', 'meter', 'operation', 'key', 'status'] as const
export type UsageGroup = (typeof usageGroups)[number]

const dayParameter = (description: string) =>
  Type.Optional(
    Type.String({ pattern: '^[1-9]\\d{3}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])$', description }),
  )

export const usageQuery = Type.Object({
  from: dayParameter('First day, such as 2026-05-01, in UTC. By default 30 days before `to`.'),
  to: dayParameter('Last day, in UTC. By default today.'),
  by: Type.Enum([...usageGroups], {
    type: 'string',
    default: 'day',
    description:
      'One of day, meter, operation, key and status; day unless given. With status, all calls of the request log are counted, also those that cost nothing.',
  }),
})

export const usage = Type.Object(
  {
    schemaVersion: schemaVersionField('usage'),
    from: day('The first day, in UTC.'),
    to: day('The last day, in UTC.'),
    by: Type.Enum([...usageGroups], { type: 'string', description: 'The group of each row.' }),
    rows: Type.Array(
      Type.Object(
        {
          group: text(64, 'The day, meter, operation id, id of the key, or status.'),
          calls: Type.Integer({
            minimum: 0,
            description: 'Calls that were charged; by status all calls.',
          }),
          refunded: Type.Integer({
            minimum: 0,
            description: 'The number of these calls that were refunded.',
          }),
          credits: Type.Integer({ description: 'Credits that were charged and not refunded.' }),
        },
        { ...closed, title: 'UsageRow', description: 'The calls of one group.' },
      ),
      { description: 'One row for each group with calls.' },
    ),
  },
  { ...closed, title: 'Usage' },
)

const ledgerCursor = Type.Optional(
  Type.String({
    pattern: '^[1-9][0-9]{0,14}$',
    description: 'From the Link header with rel="next" of the page before.',
  }),
)

export const ledgerCsvType = 'text/csv; charset=utf-8; header=present'

export const ledgerCsvQuery = Type.Object({ cursor: ledgerCursor })

export const ledgerQuery = Type.Object({
  limit: Type.String({
    pattern: '^([1-9][0-9]?|100)$',
    default: '20',
    description: 'A whole number from 1 to 100; 20 unless given.',
    published: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
  }),
  cursor: ledgerCursor,
})

export const entryKinds = ['grant', 'adjustment', 'charge', 'void'] as const

export const credits = Type.Object(
  {
    schemaVersion: schemaVersionField('credits'),
    balance: Type.Integer({ minimum: 0, description: 'Whole credits.' }),
    suspended: Type.Boolean({ description: 'Whether charges wait until the books are checked.' }),
    entries: Type.Array(
      Type.Object(
        {
          at: dateTime('When the entry was made.'),
          kind: Type.Enum([...entryKinds], {
            type: 'string',
            description: 'A void refunds a charge.',
          }),
          credits: Type.Integer({ description: 'Added to the balance; negative for a charge.' }),
          meter: textOrNull(64, 'The meter of a charge. Null for other entries.'),
          operation: textOrNull(64, 'Operation id of the call. Null without a call.'),
          apiKeyId: textOrNull(36, 'Id of the key that made the call. Null without a call.'),
          requestId: textOrNull(64, 'X-Request-Id of the call. Null without a call.'),
          reason: textOrNull(
            500,
            'The reason of a grant or an adjustment. Null for other entries.',
          ),
        },
        { ...closed, title: 'CreditEntry', description: 'One entry of the ledger.' },
      ),
      { maxItems: 100, description: 'The newest entry comes first.' },
    ),
  },
  { ...closed, title: 'Credits' },
)
