/** `assay workers export`: all that is stored about a person. The file is the operator's alone to read. */
import { writeFile } from 'node:fs/promises'
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { systemClock } from '../platform/clock.ts'
import { exportWorker } from '../privacy/export-worker.ts'
import { withDatabase } from './context.ts'
import { unknownWorker, usageError } from './fail.ts'
import { done, type Outcome } from './output.ts'
import { usernameGiven } from './person.ts'

export function exportWorkerCommand(
  config: Config,
  given: string,
  { out }: { out: string },
): Promise<Outcome> {
  const username = usernameGiven(given)
  return withDatabase(config, async (db) => {
    const now = systemClock()
    const exported = await db.transaction(async (tx) => {
      const found = await exportWorker(tx, username, now)
      if (found === null) return null
      const done = { action: 'workers.exported', subjects: [found.workerId], details: {} } as const
      await recordAction(tx, { ...done, actor: operator() }, now)
      return found
    })
    if (exported === null) throw unknownWorker(username)
    const text = `${JSON.stringify(exported, null, 2)}\n`
    if (out === '-') return done(exported, [text.trimEnd()])
    await writeFile(out, text, { flag: 'wx', mode: 0o600 }).catch((error: unknown) => {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason'
      const told = code === 'EEXIST' ? 'is there already' : `cannot be written (${code})`
      throw usageError(`${out} ${told}`, { cause: error })
    })
    return done({ ok: true, username, out }, [`All that is stored about ${username} is in ${out}.`])
  })
}
