/** Wire shapes of usage and credits. Their routes are extensions of the specification. */
import { Type } from 'typebox'
import { schemaVersion } from '../platform/http/identifiers.ts'

const closed = { additionalProperties: false }
const time = Type.String({ format: 'date-time' })
const day = Type.String({ format: 'date', pattern: '^[1-9]\\d{3}-\\d{2}-\\d{2}$' })
const optional = (description: string) => Type.Union([Type.String({ description }), Type.Null()])

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
    schemaVersion: Type.Literal(schemaVersion('usage')),
    from: day,
    to: day,
    by: Type.Enum([...usageGroups], { type: 'string' }),
    rows: Type.Array(
      Type.Object(
        {
          group: Type.String({
            description: 'The day, meter, operation id, id of the key, or status.',
          }),
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
        { ...closed, title: 'UsageRow' },
      ),
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
    schemaVersion: Type.Literal(schemaVersion('credits')),
    balance: Type.Integer({ minimum: 0, description: 'Whole credits.' }),
    suspended: Type.Boolean({ description: 'Whether charges wait until the books are checked.' }),
    entries: Type.Array(
      Type.Object(
        {
          at: time,
          kind: Type.Enum([...entryKinds], {
            type: 'string',
            description: 'A void refunds a charge.',
          }),
          credits: Type.Integer({ description: 'Added to the balance; negative for a charge.' }),
          meter: optional('Of a charge.'),
          operation: optional('Operation id of the call.'),
          apiKeyId: optional('The key that made the call.'),
          requestId: optional('X-Request-Id of the call.'),
          reason: optional('Of a grant or an adjustment.'),
        },
        { ...closed, title: 'CreditEntry' },
      ),
    ),
  },
  { ...closed, title: 'Credits' },
)
