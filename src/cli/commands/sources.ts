/** `assay sources`: the senders of evidence, and how far each is trusted. */
import type { Command } from 'commander'
import { type Registered, registerSources } from '../../evidence/register-source.ts'
import { sourceLine } from '../../evidence/schema.ts'
import { readSourceLine, type Source } from '../../evidence/source-line.ts'
import { findSources } from '../../evidence/source-store.ts'
import { byOption, formatOption, wholeNumber } from '../args.ts'
import { act, command } from '../command.ts'
import { withContext } from '../context.ts'
import { failure, usageError } from '../fail.ts'
import { importLines } from '../import-lines.ts'
import { done, type Outcome } from '../output.ts'
import { type Columns, listed } from '../render.ts'

export function declareCommand(sources: Command): void {
  command(
    sources,
    'register',
    'Register a source, or change how far it is trusted',
    "assay sources register acme --name 'Acme Ltd' --kind organisation --group acme",
  )
    .argument('[id]', 'lowercase letters, digits and hyphens')
    .option('--name <name>', 'shown to readers of evidence')
    .option(
      '--kind <kind>',
      'self, unverified_peer, verified_peer, organisation, accredited or machine_verified',
    )
    .option('--group <group>', 'the body behind it: sources of one group are not independent')
    .option(
      '--assurance <permille>',
      'default: the most that its kind allows',
      wholeNumber(0, 1_000),
    )
    .option('--issuer <id>', 'the issuer of its Open Badges: a DID or an https URL')
    .option('--key <multikey...>', 'the keys that sign them: z6Mk…; a did:key is its own key')
    .option('--from <file>', 'sources, one a line; - for standard input')
    .option(...formatOption)
    .option('--errors <file>', 'for rejected lines (default: FROM.errors.ndjson)')
    .option('--dry-run', 'check every line, and change nothing')
    .option(...byOption)
    .action(act(register))

  command(sources, 'list', 'Show every source', 'assay sources list').action(act(list))
}

interface SourceFlags {
  name?: string
  kind?: string
  group?: string
  assurance?: number
  issuer?: string
  key?: string[]
  from?: string
  format?: string
  errors?: string
  dryRun?: boolean
  by: string
}

function register(id: string | undefined, flags: SourceFlags): Promise<Outcome> {
  const { from, by, name, kind, group, assurance, issuer, key: publicKeys } = flags
  const described = { id, name, kind, group, assurance, issuer, publicKeys }
  const isDescribed = Object.values(described).some((option) => option !== undefined)
  if ((from !== undefined) === isDescribed)
    throw usageError('Name a source with --name, --kind and --group, or a file with --from.')
  return from === undefined ? registerOne(described, by) : registerFile({ ...flags, from }, by)
}

function registerOne(described: object, by: string): Promise<Outcome> {
  // JSON drops the options that were not used.
  const line = readSourceLine(JSON.parse(JSON.stringify(described)))
  return withContext(async (context) => {
    const [answer] = 'refused' in line ? [line] : await registerSources(context, [line], by)
    if (answer === undefined) throw new Error('a source was registered without an answer')
    if ('refused' in answer) {
      const { field, reason } = answer.refused
      throw failure(`${field ?? 'The source'}: ${reason}`)
    }
    const { result, source } = answer
    return done({ result, source }, [`${source.id}: ${result}`])
  })
}

function registerFile(flags: SourceFlags & { from: string }, by: string): Promise<Outcome> {
  return importLines(flags, {
    shape: sourceLine,
    lineBytesMax: 4_096,
    results: ['registered', 'changed', 'unchanged'],
    read: readSourceLine,
    apply: (context, lines): Promise<Registered[]> => registerSources(context, lines, by),
  })
}

const columns: Columns<Source> = {
  id: ({ id }) => id,
  kind: ({ kind }) => kind,
  assurance: ({ assurance }) => `${assurance} ‰`,
  group: ({ group }) => group,
  name: ({ name }) => name,
}

function list(): Promise<Outcome> {
  return withContext(async ({ db }) => {
    const sources = await findSources(db)
    const none = 'There is no source yet. Run `assay sources register`.'
    return listed({ sources }, { rows: sources, columns, none })
  })
}
