/** `assay sources register`: one source by options, or many from a file; a second run changes nothing. */
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { type Registered, registerSource } from '../evidence/register-source.ts'
import { sourceLine } from '../evidence/schema.ts'
import { readSourceLine } from '../evidence/source-line.ts'
import { systemClock } from '../platform/clock.ts'
import type { Tx } from '../platform/db/db.ts'
import { importLines } from './import-lines.ts'
import { done, type Outcome } from './output.ts'
import { actorGiven } from './person.ts'
import { CommandError, UsageError } from './run.ts'
import { withDatabase } from './with-database.ts'

export interface SourceFlags {
  name?: string
  kind?: string
  group?: string
  assurance?: string
  issuer?: string
  key?: string[]
  from?: string
  format?: string
  errors?: string
  dryRun?: boolean
  by: string
}

export function registerSourcesCommand(
  config: Config,
  id: string | undefined,
  flags: SourceFlags,
): Promise<Outcome> {
  const { from, by, name, kind, group, assurance, issuer, key: publicKeys } = flags
  const actor = actorGiven(by)
  const isDescribed = [id, name, kind, group, assurance, issuer, publicKeys].some(
    (option) => option !== undefined,
  )
  if ((from !== undefined) === isDescribed)
    throw new UsageError('Name a source with --name, --kind and --group, or a file with --from.')
  return from === undefined
    ? registerOne(
        config,
        { id, name, kind, group, assurance: permilleOf(assurance), issuer, publicKeys },
        actor,
      )
    : registerFile(config, { ...flags, from }, actor)
}

function permilleOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^\d{1,4}$/.test(text)) throw new UsageError('--assurance is a whole number, in permille')
  return Number(text)
}

function registerOne(config: Config, described: object, actor: string): Promise<Outcome> {
  // An option that was not given is no member.
  const line = readSourceLine(JSON.parse(JSON.stringify(described)))
  return withDatabase(config, async (db) => {
    const answer: Registered =
      'refused' in line
        ? line
        : await db.transaction(async (tx) => {
            const now = systemClock()
            const registered = await registerSource(tx, line, { actor, now })
            await recordSources(tx, [registered], now)
            return registered
          })
    if ('refused' in answer) {
      const { field, reason } = answer.refused
      throw new CommandError(`${field ?? 'the source'}: ${reason}`)
    }
    const { result, source } = answer
    return done({ ok: true, result, source }, [`${source.id}: ${result}`])
  })
}

function registerFile(
  config: Config,
  flags: SourceFlags & { from: string },
  actor: string,
): Promise<Outcome> {
  return importLines(config, flags, {
    shape: sourceLine,
    lineBytesMax: 4_096,
    results: ['registered', 'changed', 'unchanged'],
    read: readSourceLine,
    apply: async (tx, lines, now) => {
      const answers: Registered[] = []
      for (const line of lines) answers.push(await registerSource(tx, line, { actor, now }))
      await recordSources(tx, answers, now)
      return answers
    },
  })
}

async function recordSources(tx: Tx, answers: readonly Registered[], now: Date): Promise<void> {
  const idsOf = (result: 'registered' | 'changed') =>
    answers.flatMap((one) => ('result' in one && one.result === result ? one.source.id : []))
  const registered = idsOf('registered')
  const changed = idsOf('changed')
  const subjects = [...registered, ...changed]
  if (subjects.length === 0) return
  const details = { registered: registered.length, changed: changed.length }
  const action = 'sources.registered'
  await recordAction(tx, { actor: operator(), action, subjects, details }, now)
}
