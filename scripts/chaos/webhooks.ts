/** Crashes and races of webhooks: tests of the suite with many more rounds. */
import { runRounds } from './rounds.ts'

await runRounds(
  [
    'test/flows/webhooks-crash.test.ts',
    'test/flows/webhooks-two-nodes.test.ts',
    'src/webhooks/events/feed.test.ts',
  ],
  {
    CHAOS_EVENTS_A_SECOND: '100',
    CHAOS_JOBS_KILLS: '10',
    CHAOS_DELIVERING_POSTGRES_KILLS: '5',
    CHAOS_LOAD_SECONDS: '60',
    CHAOS_FEED_EVENTS: '100000',
  },
)
