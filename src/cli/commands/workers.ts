import type { Command } from 'commander'
import { act, byOption, command, formatOption, settings } from './declare.ts'

export function declareCommand(workers: Command): void {
  command(workers, 'import', 'Register people, or bring them up to date, from a file')
    .requiredOption('--from <file>', 'people, one a line; - for standard input')
    .option(...formatOption)
    .option('--errors <file>', 'where refused lines go (default: FROM.errors.ndjson)')
    .option('--dry-run', 'check every line against the people there are now, and change nothing')
    .option(...byOption)
    .addHelpText(
      'after',
      '\nA run that was cut off can be run again: `externalId`, or `username` without one, says who a line speaks of.',
    )
    .action((flags) =>
      act(flags, async () =>
        (await import('../workers-import.ts')).importWorkersCommand(settings(), flags),
      ),
    )

  command(workers, 'show', 'Show a person, and what decides what is public of them')
    .argument('<username>')
    .action((username, flags) =>
      act(flags, async () =>
        (await import('../workers-show.ts')).showWorkerCommand(settings(), username),
      ),
    )

  command(workers, 'export', 'Write down all that is stored about a person')
    .argument('<username>')
    .option('--out <file>', 'where it goes, readable by you alone', '-')
    .action((username, flags) =>
      act(flags, async () =>
        (await import('../workers-export.ts')).exportWorkerCommand(settings(), username, flags),
      ),
    )

  command(workers, 'erase', 'Erase a person, for ever')
    .argument('<username>')
    .requiredOption('--reason <reason>', 'worker_request, no_longer_needed, unlawful or policy')
    .option('--yes', 'go ahead; without it the username is asked for')
    .option(...byOption)
    .action((username, flags) =>
      act(flags, async () =>
        (await import('../workers-erase.ts')).eraseWorkerCommand(settings(), username, flags),
      ),
    )
}
