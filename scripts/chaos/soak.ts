/** Half an hour of everything on two nodes behind HAProxy, with a rolling restart. */
import { missingProxy } from '../../test/support/start/proxies.ts'
import { runRounds } from './rounds.ts'

const missing = missingProxy('haproxy')
if (missing === false) await runRounds(['scripts/chaos/soak.test.ts'], {})
else process.stdout.write(`soak is left out: ${missing}.\n`)
