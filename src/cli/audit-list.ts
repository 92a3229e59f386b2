/** `assay audit list`: who did what, the newest first, one line an entry whatever it holds. */
import { type ActionName, actionNames } from '../audit/actions.ts'
import type { Entry } from '../audit/chain.ts'
import { type EntryFilter, findEntries } from '../audit/store.ts'
import type { Config } from '../config/config.ts'
import { withDatabase } from './context.ts'
import { usageError } from './fail.ts'
import { done, type Outcome } from './output.ts'

export interface AuditListFlags {
  since?: string
  action?: string
  limit: string
}

export function listAuditCommand(config: Config, flags: AuditListFlags): Promise<Outcome> {
  const filter: EntryFilter = {
    since: flags.since === undefined ? null : timeOf(flags.since),
    action: flags.action === undefined ? null : actionOf(flags.action),
    limit: limitOf(flags.limit),
  }
  return withDatabase(config, async (db) => {
    const entries = await findEntries(db, filter)
    const lines = entries.map(lineOf)
    return done({ ok: true, entries }, lines.length > 0 ? lines : ['No entries.'])
  })
}

function lineOf({ seq, at, actor, action, subjects, details }: Entry): string {
  return [seq, at, actor, action, details, shortened(subjects)]
    .map((field) => oneLine(String(field)))
    .join('  ')
}

const subjectsLengthMax = 160

/** A batch has 256 of them; `--json` has all. */
function shortened(subjects: string): string {
  return subjects.length > subjectsLengthMax
    ? `${subjects.slice(0, subjectsLengthMax)}… (--json shows all)`
    : subjects
}

/** What steers a terminal or ends a line is written out: whoever made the entry may have meant it to hide something. */
function oneLine(text: string): string {
  return text.replace(
    /[\p{C}\u2028\u2029]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}

function timeOf(text: string): string {
  const isTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?Z)?$/.test(text)
  const time = new Date(text)
  if (!isTime || Number.isNaN(time.getTime()))
    throw usageError('--since takes a day or a time in UTC: 2026-05-14 or 2026-05-14T09:00Z.')
  return time.toISOString()
}

function actionOf(text: string): ActionName {
  const action = actionNames.find((name) => name === text)
  if (action === undefined) throw usageError(`--action takes one of ${actionNames.join(', ')}.`)
  return action
}

function limitOf(text: string): number {
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > 100_000) throw usageError('--limit takes a number from 1 to 100000.')
  return limit
}
