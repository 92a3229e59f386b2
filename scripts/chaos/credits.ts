/** What crashes and races do to credits: the tests of the suite, with as many rounds as it takes to believe them. */
import { runRounds } from './rounds.ts'

await runRounds(['test/flows/charge-crash.test.ts', 'test/flows/last-credit.test.ts'], {
  CHAOS_SERVER_KILLS: '100',
  CHAOS_POSTGRES_KILLS: '20',
  CHAOS_RACES: '100',
  CHAOS_REVOCATIONS: '1000',
})
