/** Thirty faults of a database with Patroni, in networks of their own. */

import { ownNetwork } from '../../test/support/start/machines.ts'
import { missingPatroni } from '../../test/support/start/patroni.ts'
import { runRounds } from './rounds.ts'

if (missingPatroni === false) await runRounds(['scripts/chaos/failover.test.ts'], {}, ownNetwork)
else process.stdout.write(`failover is left out: ${missingPatroni}.\n`)
