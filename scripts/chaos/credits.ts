/** Crashes and races of credits: tests of the suite with many more rounds. */
import { runRounds } from './rounds.ts'

await runRounds(['test/flows/charge-crash.test.ts', 'test/flows/admission.test.ts'], {
  CHAOS_SERVER_KILLS: '100',
  CHAOS_POSTGRES_KILLS: '20',
  CHAOS_RACES: '100',
  CHAOS_REVOCATIONS: '1000',
})
