/** The routes by which a signed-in user sees the usage and the credits of an account. */
import { Type } from 'typebox'
import { type Contract, sessionResponses } from '../platform/http/contract.ts'
import { exampleCredits, exampleLedgerCsv, exampleUsage } from './examples.ts'
import { credits, ledgerCsvQuery, ledgerCsvType, ledgerQuery, usage, usageQuery } from './schema.ts'

const shared = {
  method: 'GET',
  area: 'account',
  extension: true,
  policy: { kind: 'session' },
  priority: 'search',
} as const

export const creditsContract = {
  getUsage: {
    ...shared,
    path: '/api/account/usage',
    summary: 'Show the charged calls of the account',
    description: 'Counts calls and credits by day, meter, operation, key or status.',
    queryParameters: usageQuery,
    responses: {
      200: {
        description: 'The calls by day, meter, operation, key or status, in their order.',
        schema: usage,
        example: exampleUsage,
      },
      ...sessionResponses,
    },
  },
  getCredits: {
    ...shared,
    path: '/api/account/credits',
    summary: 'Show the balance and the ledger of the account',
    description:
      'The ledger has one entry for each grant, adjustment, charge and refund, the newest first.',
    queryParameters: ledgerQuery,
    responses: {
      200: {
        description: 'The balance, and the entries newest first.',
        schema: credits,
        example: exampleCredits,
        hasNextLink: true,
      },
      ...sessionResponses,
    },
  },
  getCreditsCsv: {
    ...shared,
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
