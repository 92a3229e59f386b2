/** Wire shapes of the ledger as a table. Its route is an extension of the specification. */
import { Type } from 'typebox'

export const ledgerCsvType = 'text/csv; charset=utf-8; header=present'

export const ledgerCsvQuery = Type.Object({
  cursor: Type.Optional(
    Type.String({
      pattern: '^[1-9][0-9]{0,14}$',
      description: 'From the Link header with rel="next" of the page before.',
    }),
  ),
})
