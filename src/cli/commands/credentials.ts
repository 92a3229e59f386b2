import type { Command } from 'commander'
import { act, command, settings } from './declare.ts'

export function declareCommand(credentials: Command): void {
  command(credentials, 'issue', 'Issue a credential for each line of a file')
    .requiredOption('--from <file>', 'scores as NDJSON, one a line; - for standard input')
    .option('--out <file>', 'where the credentials go, one a line in the order of the scores', '-')
    .option('--errors <file>', 'where refused lines go (default: FROM.errors.ndjson)')
    .option('--proof <form>', 'native, eddsa-jcs-2022 or eddsa-rdfc-2022', 'native')
    .option(
      '--replace-computed',
      'also issue for workers who have a computed score, and supersede its credential',
    )
    .option(
      '--dry-run',
      'only check the lines, and say what they would supersede: needs no key, issues nothing',
    )
    .addHelpText(
      'after',
      '\nA run that was cut off can be run again: a line with an `id` is issued once, however often it is read.',
    )
    .action((flags) =>
      act(flags, async () =>
        (await import('../credentials-issue.ts')).issueCommand(settings(), flags),
      ),
    )

  command(
    credentials,
    'show',
    'Print the credential that a person has now: ends with 1 where there is none, or it is revoked or expired',
  )
    .argument('<username>')
    .option('--proof <form>', 'native, eddsa-jcs-2022 or eddsa-rdfc-2022', 'native')
    .action((username, flags) =>
      act(flags, async () =>
        (await import('../credentials-show.ts')).showCredentialCommand(settings(), username, flags),
      ),
    )

  command(credentials, 'revoke', 'Revoke credentials, for ever')
    .option('--id <uuid...>', 'by credential id')
    .option('--token <hex...>', 'by status token')
    .option('--digest <hex...>', 'by vcSha256')
    .option(
      '--from <file>',
      'ids, tokens, digests or credentials, one a line; - for standard input',
    )
    .option('--key <kid>', 'every credential of a key that is revoked already, and nothing else')
    .action((flags) =>
      act(flags, async () =>
        (await import('../credentials-revoke.ts')).revokeCommand(settings(), flags),
      ),
    )

  command(
    credentials,
    'verify',
    'Verify a credential: ends with 0 valid, 1 invalid, 2 could not check',
  )
    .argument('<file>', 'the credential; - for standard input')
    .option('--key <file>', 'offline: the issuer’s key document or did.json')
    .option(
      '--list <path>',
      'offline: a status list, or a folder of them; repeat for several',
      // Not variadic: `--list <path...>` would take the credential too, if it comes last.
      (path: string, paths: string[] | undefined) => [...(paths ?? []), path],
    )
    .option('--url <url>', 'online: ask this deployment')
    .action((file, flags) =>
      act(
        flags,
        async () => (await import('../credentials-verify.ts')).verifyCommand(settings, file, flags),
        2,
      ),
    )
}
