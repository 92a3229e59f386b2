/**
 * A process that revokes evidence once and kills itself at a boundary. Usage: `node revoke-once.ts
 * URL EVIDENCE-IDS BOUNDARY`; the ids are separated by commas.
 */
import { openDb } from '../../../src/platform/db/db.ts'
import { revokeAndRescore } from '../../../src/scores/revoke-evidence.ts'
import { daysAfter, scoring } from '../build/scores.ts'
import { boundedDb } from './faults.ts'
import '../start/timeout-multiplier.ts'

const [url = '', ids = '', boundary] = process.argv.slice(2)
const db = openDb({ url, connectionsMax: 1, applicationName: 'revoke-once', onError: () => {} })
const mortal = boundedDb(db, (number) => {
  if (number === Number(boundary)) process.kill(process.pid, 'SIGKILL')
})
const revocation = { reason: 'source_invalid', actor: 'test', now: daysAfter(1) } as const
await mortal.transaction((tx) => revokeAndRescore(tx, scoring, ids.split(','), revocation))
await db.close()
