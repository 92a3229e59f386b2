/** A client behind a network that fails: the test of the suite with many more calls. */
import { runRounds } from './rounds.ts'

await runRounds(['packages/sdk/src/once.test.ts'], { CHAOS_CLIENT_CALLS: '100000' })
