import type { Command } from 'commander'
import { act, command, settings } from './declare.ts'

export function declareCommand(users: Command): void {
  const email = ['<email>', 'the mail address of the user'] as const

  command(users, 'invite', 'Make a user a member of an account, and send a mail if SMTP_URL is set')
    .argument(...email)
    .requiredOption('--account <account>', 'id or name of the account')
    .option('--role <role>', 'owner or member', 'owner')
    .option('--name <name>', 'shown to other members')
    .action((address, flags) =>
      act(flags, async () =>
        (await import('../users.ts')).inviteCommand(settings(), address, flags),
      ),
    )

  command(users, 'list', 'Show every user, the accounts and the sessions').action((flags) =>
    act(flags, async () => (await import('../users.ts')).listUsersCommand(settings())),
  )

  command(users, 'sign-in-link', 'Print a link that signs a user in: once, for 15 minutes')
    .argument(...email)
    .action((address, flags) =>
      act(flags, async () => (await import('../users.ts')).signInLinkCommand(settings(), address)),
    )

  command(users, 'disable', 'End every session of a user, who cannot sign in any more')
    .argument(...email)
    .action((address, flags) =>
      act(flags, async () => (await import('../users.ts')).disableCommand(settings(), address)),
    )

  command(users, 'enable', 'Let a disabled user sign in again')
    .argument(...email)
    .action((address, flags) =>
      act(flags, async () => (await import('../users.ts')).enableCommand(settings(), address)),
    )

  command(users, 'erase', 'Delete a user, with memberships, sessions and waiting mails')
    .argument(...email)
    .option('--yes', 'do it: it cannot be undone')
    .action((address, flags) =>
      act(flags, async () =>
        (await import('../users.ts')).eraseCommand(settings(), address, flags),
      ),
    )
}
