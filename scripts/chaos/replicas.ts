/** Reads on replicas that lag, stop and crash: nothing shows what was hidden. */
import { runRounds } from './rounds.ts'

await runRounds(['scripts/chaos/replicas.test.ts'], { CHAOS_HIDES: '10000' })
