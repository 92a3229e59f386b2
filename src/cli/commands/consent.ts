import type { Command } from 'commander'
import { act, byOption, command, settings } from './declare.ts'

const permissionArgument = [
  '<permission>',
  'public_profile, search_listing or score_sharing',
] as const

export function declareCommand(consent: Command): void {
  command(consent, 'grant', 'Record that a person allows something')
    .argument('<username>')
    .argument(...permissionArgument)
    .option('--text-version <version>', 'of the text that the person agreed to', '1')
    .option(...byOption)
    .action((username, permission, flags) =>
      act(flags, async () =>
        (await import('../consent-change.ts')).changeConsentCommand(
          settings(),
          [username, permission],
          flags,
        ),
      ),
    )

  command(consent, 'withdraw', 'Record that a person allows something no longer')
    .argument('<username>')
    .argument(...permissionArgument)
    .option(...byOption)
    .action((username, permission, flags) =>
      act(flags, async () =>
        (await import('../consent-change.ts')).changeConsentCommand(
          settings(),
          [username, permission],
          { ...flags, textVersion: null },
        ),
      ),
    )
}
