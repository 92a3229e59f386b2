import type { Command } from 'commander'
import { act, byOption, command, formatOption, settings } from './declare.ts'

export function declareCommand(evidence: Command): void {
  command(evidence, 'import', 'Take in the evidence of a file')
    .requiredOption('--from <file>', 'evidence, one item a line; - for standard input')
    .option(...formatOption)
    .option('--errors <file>', 'where refused lines are told (default: FROM.errors.ndjson)')
    .option('--dry-run', 'only check the lines against the database: nothing is added')
    .option('--achievements <file>', 'what Open Badges are evidence of, as JSON by achievement id')
    .option(
      '--accept-unchecked-status',
      'take in badges that name a status, which is not looked up',
    )
    .addHelpText(
      'after',
      '\nA run that was cut off can be run again: an item is taken in once, however often it is read.',
    )
    .action((flags) =>
      act(flags, async () =>
        (await import('../evidence-import.ts')).importEvidenceCommand(settings(), flags),
      ),
    )

  command(evidence, 'reassign', 'Give evidence to the person whose it turns out to be')
    .argument('[id...]', 'evidence ids, or SOURCE/EXTERNAL-ID')
    .option('--all-of <username>', 'everything of this person: the two are one')
    .requiredOption('--to <username>', 'whose it is')
    .action((ids, flags) =>
      act(flags, async () =>
        (await import('../evidence-reassign.ts')).reassignEvidenceCommand(settings(), ids, flags),
      ),
    )

  command(evidence, 'revoke', 'Revoke evidence, for ever')
    .argument('<id...>', 'evidence ids, or SOURCE/EXTERNAL-ID')
    .requiredOption(
      '--reason <reason>',
      'source_removed, source_invalid, worker_request, dispute_upheld or policy',
    )
    .option(...byOption)
    .action((ids, flags) =>
      act(flags, async () =>
        (await import('../evidence-revoke.ts')).revokeEvidenceCommand(settings(), ids, flags),
      ),
    )
}
