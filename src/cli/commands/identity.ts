import type { Command } from 'commander'
import { act, byOption, command, settings } from './declare.ts'

export function declareCommand(identity: Command): void {
  command(identity, 'verify', 'Record that somebody has checked who the person is')
    .argument('<username>')
    .option('--until <date>', 'the check counts before this day or date-time (default: a year)')
    .option(...byOption)
    .action((username, flags) =>
      act(flags, async () =>
        (await import('../identity-move.ts')).verifyIdentityCommand(settings(), username, flags),
      ),
    )

  command(identity, 'revoke', 'Record that the check does not count any more')
    .argument('<username>')
    .option(...byOption)
    .action((username, flags) =>
      act(flags, async () =>
        (await import('../identity-move.ts')).revokeIdentityCommand(settings(), username, flags),
      ),
    )
}
