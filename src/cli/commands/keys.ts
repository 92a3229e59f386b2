import type { Command } from 'commander'
import { act, command, settings } from './declare.ts'

export function keysCommands(program: Command): void {
  const keys = program.command('keys').description('Signing keys')

  command(keys, 'create', 'Make a key file and register it; the first key signs at once').action(
    (flags) =>
      act(flags, async () => (await import('../keys-create.ts')).createKeyCommand(settings())),
  )

  command(keys, 'rotate', 'Sign with the oldest pending key from now on; the present one retires')
    .option('--now', 'do not wait until caches know the new key')
    .action((flags) =>
      act(flags, async () =>
        (await import('../keys-rotate.ts')).rotateKeysCommand(settings(), flags),
      ),
    )

  command(keys, 'list', 'Show every key and its state').action((flags) =>
    act(flags, async () => (await import('../keys-list.ts')).listKeysCommand(settings())),
  )

  command(keys, 'revoke', 'Revoke a compromised key: all it signed becomes invalid, for ever')
    .argument('<kid>', 'z6Mk…, or a verification method that ends in it')
    .option('--yes', 'go ahead; without it the consequences are explained')
    .option('--keep-credentials', 'leave the status of the credentials that it signed as it is')
    .action((kid, flags) =>
      act(flags, async () =>
        (await import('../keys-revoke.ts')).revokeKeyCommand(settings(), kid, flags),
      ),
    )
}
