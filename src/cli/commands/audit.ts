/** `assay audit`: the log of what operators and the service did. */
import type { Command } from 'commander'
import { type ActionName, actionNames } from '../../audit/actions.ts'
import type { Entry } from '../../audit/chain.ts'
import { findEntries } from '../../audit/store.ts'
import { verifyLog } from '../../audit/verify.ts'
import { counted } from '../../platform/counted.ts'
import { limitOption, oneOf, parseSha256, parseTime } from '../args.ts'
import { act, command } from '../command.ts'
import { withContext } from '../context.ts'
import { done, type Outcome } from '../output.ts'
import { type Columns, listed } from '../render.ts'

export function declareCommand(audit: Command): void {
  command(
    audit,
    'verify',
    'Check the audit log: ends with 0 if it is whole, 1 if it is broken, 2 if it cannot be checked',
    'assay audit verify',
  )
    .option(
      '--expect <hash>',
      'the head that an earlier run printed: finds a log cut off',
      parseSha256,
    )
    .action(act(verify, { failureCode: 2 }))

  command(
    audit,
    'list',
    'Show the audit log, the newest first',
    'assay audit list --action keys.rotated --since 2026-05-14',
  )
    .option('--since <time>', 'a day or a time in UTC', parseTime)
    .option('--action <name>', 'one action, such as keys.rotated', oneOf(actionNames))
    .option(...limitOption(50, 100_000))
    .action(act(list))
}

function verify({ expect = null }: { expect?: string | null }): Promise<Outcome> {
  return withContext(async ({ db }) => {
    const verification = await verifyLog(db, { expected: expect })
    if (!verification.whole) {
      const { seq, reason } = verification.broken
      const lines = [
        `BROKEN at entry ${seq}: ${reason}.`,
        'The entries before it are as they were written. Nothing is certain from there on.',
      ]
      return done({ broken: { seq, reason } }, lines, 1)
    }
    const { head, since } = verification
    return done({ entries: head.seq, head: head.hash, since }, [
      `whole: ${counted(head.seq, 'entry', 'entries')}`,
      `head ${head.hash}`,
      since === null
        ? 'Keep the head elsewhere: with `--expect` you find out later whether entries were cut off.'
        : `The expected entry is there, ${since} came after it.`,
    ])
  })
}

interface ListFlags {
  since?: Date
  action?: ActionName | null
  limit: number
}

function list({ since, action = null, limit }: ListFlags): Promise<Outcome> {
  return withContext(async ({ db }) => {
    const entries = await findEntries(db, { since: since?.toISOString() ?? null, action, limit })
    return listed({ entries }, { rows: entries, columns, none: 'No entry matches.' })
  })
}

const columns: Columns<Entry> = {
  seq: ({ seq }) => seq,
  time: ({ at }) => at,
  actor: ({ actor }) => visible(actor),
  action: ({ action }) => action,
  details: ({ details }) => visible(details),
  subjects: ({ subjects }) => shortened(visible(subjects)),
}

const subjectsLengthMax = 160

/** An import has 256 subjects an entry. */
function shortened(subjects: string): string {
  return subjects.length > subjectsLengthMax
    ? `${subjects.slice(0, subjectsLengthMax)}… (--json shows all)`
    : subjects
}

/**
 * Writes control characters and line separators as `\\u{…}`: an actor may have chosen them to hide
 * something from you.
 */
function visible(text: string): string {
  return text.replace(
    /[\p{C}\u2028\u2029]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}
