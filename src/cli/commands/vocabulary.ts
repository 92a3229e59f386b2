import type { Command } from 'commander'
import { act, command } from './declare.ts'

export function declareCommand(vocabulary: Command): void {
  command(vocabulary, 'lint', 'Check the skill records: one line a finding')
    .argument('[directory]', 'default: the records of this release')
    .action((directory, flags) =>
      act(flags, async () => (await import('../vocabulary-lint.ts')).lintCommand(directory)),
    )
}
