/** `assay sources`: the senders of evidence, and how far each is trusted. */
import type { Command } from 'commander'
import { sourcesImport } from '../../scoring/evidence/evidence-ingests.ts'
import { sourceKindNames } from '../../scoring/evidence/schema.ts'
import { sourceOperations, sourcesRegister } from '../../scoring/evidence/source-operations.ts'
import { sourcesReport } from '../../scoring/scores/reports/measure-operations.ts'
import { byOption, formatOption } from '../args.ts'
import { act, command } from '../command.ts'
import { usageError } from '../fail.ts'
import { importLines } from '../import-lines.ts'
import { declareOperations, runOperation } from '../operation-command.ts'
import type { Outcome } from '../output.ts'

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
      `${sourceKindNames.slice(0, -1).join(', ')} or ${sourceKindNames.at(-1)}`,
    )
    .option('--group <group>', 'the body behind it: sources of one group are not independent')
    .option('--assurance <permille>', 'default: the most that its kind allows')
    .option('--issuer <id>', 'the issuer of its Open Badges: a DID or an https URL')
    .option('--key <multikey...>', 'the keys that sign them: z6Mk…; a did:key is its own key')
    .option('--from <file>', 'sources, one a line; - for standard input')
    .option(...formatOption)
    .option('--errors <file>', 'for rejected lines (default: FROM.errors.ndjson)')
    .option('--dry-run', 'check everything, and change nothing')
    .option(...byOption)
    .action(act(register))

  const others = sourceOperations.filter((operation) => operation !== sourcesRegister)
  declareOperations(sources, [...others, sourcesReport])
}

interface SourceFlags {
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

function register(id: string | undefined, flags: SourceFlags): Promise<Outcome> {
  const { from, key: publicKeys, name, kind, group, assurance, issuer } = flags
  const named = { sourceId: id, name, kind, group, assurance, issuer, publicKeys }
  const texts = Object.entries(named).flatMap(([field, text]) =>
    text === undefined ? [] : [[field, text] as const],
  )
  if ((from !== undefined) === texts.length > 0)
    throw usageError('Name a source with --name, --kind and --group, or a file with --from.')
  return from === undefined
    ? runOperation(sourcesRegister, Object.fromEntries(texts), flags)
    : importLines({ ...flags, from }, sourcesImport, { by: flags.by })
}
