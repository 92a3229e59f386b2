import type { Command } from 'commander'
import { act, byOption, command, formatOption, settings } from './declare.ts'

export function sourcesCommands(program: Command): void {
  const sources = program
    .command('sources')
    .description('Who sends evidence, and how far it is trusted')

  command(sources, 'register', 'Register a source, or change what it is trusted with')
    .argument('[id]', 'lowercase letters, digits and hyphens')
    .option('--name <name>', 'for people')
    .option(
      '--kind <kind>',
      'self, unverified_peer, verified_peer, organisation, accredited or machine_verified',
    )
    .option('--group <group>', 'who answers for it: sources of one group are not independent')
    .option('--assurance <permille>', 'default: as far as its kind allows')
    .option('--issuer <id>', 'whom its Open Badges name: a DID or an https URL')
    .option('--key <multikey...>', 'whose signature is on them: z6Mk…; a did:key is its own')
    .option('--from <file>', 'sources, one a line; - for standard input')
    .option(...formatOption)
    .option('--errors <file>', 'where refused lines go (default: FROM.errors.ndjson)')
    .option('--dry-run', 'check every line, and change nothing')
    .option(...byOption)
    .action((id, flags) =>
      act(flags, async () =>
        (await import('../sources-register.ts')).registerSourcesCommand(settings(), id, flags),
      ),
    )

  command(sources, 'list', 'Show every source').action((flags) =>
    act(flags, async () => (await import('../sources-list.ts')).listSourcesCommand(settings())),
  )
}
