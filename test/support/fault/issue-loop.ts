/**
 * A process that issues credentials until it is killed. It prints the digest of each credential
 * once it is committed. Usage: `node issue-loop.ts URL`.
 */
import { writeSync } from 'node:fs'
import { openDb } from '../../../src/platform/db/db.ts'
import { issue, issuer, newScores } from '../build/registry.ts'
import '../start/timeout-multiplier.ts'

const [url = ''] = process.argv.slice(2)
const db = openDb({ url, connectionsMax: 2, applicationName: 'issue-loop', onError: () => {} })

/** A small number of workers, so that credentials are superseded as well. */
const usernames = Array.from({ length: 7 }, (_, i) => `crash-${process.pid}-${i}`)

for (let round = 0; ; round++) {
  const username = usernames[round % usernames.length] as string
  const scores = [...newScores(1, { username }), ...newScores(2).map(ofThisProcess)]
  const issued = await issue(db, scores, { ...issuer, supersedeRevokes: round % 2 === 0 })
  writeSync(1, issued.map(({ vcSha256 }) => `${vcSha256}\n`).join(''))
}

function ofThisProcess<Score extends { username: string }>(score: Score): Score {
  return { ...score, username: `${score.username}-${process.pid}` }
}
