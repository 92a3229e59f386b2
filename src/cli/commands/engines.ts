import type { Command } from 'commander'
import { act, byOption, command, settings } from './declare.ts'

export function declareCommand(engines: Command): void {
  command(engines, 'list', 'Show every engine that is kept or made a score').action((flags) =>
    act(flags, async () => (await import('../engines-list.ts')).listEnginesCommand(settings())),
  )

  command(engines, 'recall', 'Declare an engine wrong, for ever: all that it scored is corrected')
    .argument('<version>', 'as `assay engines list` shows it')
    .argument('<sha256>', 'of its bundle')
    .requiredOption('--reason <reason>', 'wrong_result, wrong_algorithm, unfair or compromised')
    .option('--yes', 'go ahead; without it the consequences are explained')
    .option(...byOption)
    .action((version, sha256, flags) =>
      act(flags, async () =>
        (await import('../engines-recall.ts')).recallEngineCommand(
          settings(),
          { version, sha256 },
          flags,
        ),
      ),
    )
}
