/**
 * A process that recalls an engine version, recomputes the affected scores and kills itself at a
 * boundary. Usage: `node recall-once.ts URL VERSION BOUNDARY`.
 */
import { openDb } from '../../../src/platform/db/db.ts'
import { markRecalled, recallEngine } from '../../../src/scores/recall-engine.ts'
import { recomputeSome } from '../../../src/scores/recompute.ts'
import { daysAfter, scoring, scoringWrongly } from '../build/scores.ts'
import { boundedDb } from './faults.ts'
import '../start/timeout-multiplier.ts'

const [url = '', version = '', boundary] = process.argv.slice(2)
const db = openDb({ url, connectionsMax: 1, applicationName: 'recall-once', onError: () => {} })
let reached = 0
const mortal = boundedDb(db, () => {
  if (reached++ === Number(boundary)) process.kill(process.pid, 'SIGKILL')
})
const now = daysAfter(1)
const { engine } = scoringWrongly(version)
const recall = {
  engineSha256: Buffer.from(engine.binarySha256, 'hex'),
  engineVersion: version,
  reason: 'wrong_result',
  recalledAt: now,
} as const
await mortal.transaction((tx) => recallEngine(tx, recall, 'test'))
await markRecalled(mortal, now)
const some = () => mortal.transaction((tx) => recomputeSome(tx, scoring, { limit: 100, now }))
for (let scored = await some(); scored.length > 0; scored = await some());
await db.close()
