/** The route by which a signed-in user takes the ledger of an account as a table. */
import { Type } from 'typebox'
import { type Contract, sessionResponses } from '../../edge/http/contract.ts'
import { ledgerCsv } from './schema.ts'

export const ledgerCsvType = 'text/csv; charset=utf-8; header=present'

const ledgerCsvQuery = Type.Object({
  cursor: Type.Optional(
    Type.String({
      pattern: '^[1-9][0-9]{0,14}$',
      description: 'From the Link header with rel="next" of the page before.',
    }),
  ),
})

const exampleLedgerCsv = ledgerCsv([
  {
    seq: 2,
    at: new Date('2026-05-14T09:00:00Z'),
    kind: 'charge',
    delta: -1,
    meter: 'score_lookup',
    operation: 'getScore',
    keyId: '019f8a52-4f00-7000-8000-000000000011',
    requestId: '019f8a524f007000800000000000abcd',
    reason: null,
  },
])

export const creditsContract = {
  getCreditsCsv: {
    method: 'GET',
    area: 'account',
    extension: true,
    policy: { kind: 'session' },
    priority: 'search',
    path: '/api/account/credits.csv',
    summary: 'Show the ledger of the account as a table',
    description:
      'At most 10,000 entries. A text that a spreadsheet would run as a formula begins with an apostrophe.',
    queryParameters: ledgerCsvQuery,
    responses: {
      200: {
        description: 'One row for each entry, newest first.',
        contentType: ledgerCsvType,
        schema: Type.String(),
        example: exampleLedgerCsv,
        hasNextLink: true,
      },
      ...sessionResponses,
    },
  },
} as const satisfies Contract
