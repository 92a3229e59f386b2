import type { Command } from 'commander'
import { accountArgument, act, command, settings } from './declare.ts'

export function accountsCommands(program: Command): void {
  const accounts = program.command('accounts').description('Who has API keys and credits')

  command(accounts, 'create', 'Make an account')
    .argument('<name>')
    .action((name, flags) =>
      act(flags, async () =>
        (await import('../accounts.ts')).createAccountCommand(settings(), name),
      ),
    )

  command(accounts, 'list', 'Show every account, its keys and its credits').action((flags) =>
    act(flags, async () => (await import('../accounts.ts')).listAccountsCommand(settings())),
  )

  command(accounts, 'show', 'Show an account and its keys')
    .argument(...accountArgument)
    .action((account, flags) =>
      act(flags, async () =>
        (await import('../accounts.ts')).showAccountCommand(settings(), account),
      ),
    )

  command(accounts, 'members', 'Show the users who may sign in for an account')
    .argument(...accountArgument)
    .action((account, flags) =>
      act(flags, async () => (await import('../users.ts')).membersCommand(settings(), account)),
    )
}
