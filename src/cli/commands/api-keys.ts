import type { Command } from 'commander'
import { accountArgument, act, command, settings } from './declare.ts'

export function apiKeysCommands(program: Command): void {
  const apiKeys = program.command('api-keys').description('API keys of accounts')

  command(apiKeys, 'create', 'Make a key, and print it this once')
    .argument(...accountArgument)
    .requiredOption(
      '--scope <scope...>',
      'candidates:read, scores:read, webhooks:write or agent-decisions:write: no more than needed',
    )
    .option('--environment <name>', 'live, or test for sandbox data alone, free of charge', 'live')
    .option('--name <name>', 'for people to tell keys apart', 'API key')
    .option('--expires-days <n>', 'default: valid until it is revoked')
    .option('--allow-from <network...>', 'addresses and networks; default: from anywhere')
    .action((account, flags) =>
      act(flags, async () =>
        (await import('../api-keys.ts')).createApiKeyCommand(settings(), account, flags),
      ),
    )

  command(apiKeys, 'list', 'Show the keys of an account, the newest first')
    .argument(...accountArgument)
    .action((account, flags) =>
      act(flags, async () =>
        (await import('../api-keys.ts')).listApiKeysCommand(settings(), account),
      ),
    )

  command(apiKeys, 'rotate', 'Make a successor with the same rights; the key itself ends later')
    .argument('<id>', 'of the key')
    .option('--overlap-hours <n>', 'how long both are valid, at most 168', '24')
    .option('--now', 'the key is revoked at once')
    .action((id, flags) =>
      act(flags, async () =>
        (await import('../api-keys.ts')).rotateApiKeyCommand(settings(), id, flags),
      ),
    )

  command(
    apiKeys,
    'restrict',
    'Say where a key may be used from, at once; elsewhere it is not valid',
  )
    .argument('<id>', 'of the key')
    .option('--allow-from <network...>', 'addresses and networks alone, such as 192.0.2.0/24')
    .option('--anywhere', 'no restriction any more')
    .action((id, flags) =>
      act(flags, async () =>
        (await import('../api-keys.ts')).restrictApiKeyCommand(settings(), id, flags),
      ),
    )

  command(apiKeys, 'peppers', 'Show how many active keys rest on each pepper').action((flags) =>
    act(flags, async () => (await import('../api-keys-peppers.ts')).listPeppersCommand(settings())),
  )

  command(apiKeys, 'revoke', 'Revoke a key, at once and for ever')
    .argument('<id>', 'of the key')
    .action((id, flags) =>
      act(flags, async () => (await import('../api-keys.ts')).revokeApiKeyCommand(settings(), id)),
    )
}
