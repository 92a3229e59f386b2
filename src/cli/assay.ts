#!/usr/bin/env node
/**
 * The command line. Only the modules of the command that runs are imported: with all of them,
 * `assay --help` takes 3 times as long (1.4 s in place of 0.5 s).
 */
import { createRequire, enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { Command, CommanderError, Help } from 'commander'
import { reportFailure } from './command.ts'
import { note, withoutControls, withoutSecrets } from './output.ts'

// Stripping types takes a compiler of 25 MB into every process, so the result is kept. Without
// write access to the folder, nothing is kept.
enableCompileCache(join(import.meta.dirname, '../../.runtime/compile-cache'))

interface CommandFile {
  /** Adds the arguments, options and subcommands of the command. */
  declareCommand(command: Command): void
}

/** The commands in the order of the help: name, description and file. */
const commands: readonly (readonly [string, string, () => Promise<CommandFile>])[] = [
  ['serve', 'Answer requests until Ctrl-C or SIGTERM', () => import('./commands/serve.ts')],
  [
    'jobs',
    'Run the background jobs and answer no requests, until Ctrl-C or SIGTERM',
    () => import('./commands/jobs.ts'),
  ],
  ['migrate', 'Migrate the database to this release', () => import('./commands/migrate.ts')],
  ['keys', 'Signing keys', () => import('./commands/keys.ts')],
  ['credentials', 'Score credentials', () => import('./commands/credentials.ts')],
  ['workers', 'Workers and their data', () => import('./commands/workers.ts')],
  ['consent', 'What a worker allows', () => import('./commands/consent.ts')],
  ['identity', 'Checks of the identity of a worker', () => import('./commands/identity.ts')],
  [
    'sources',
    'Senders of evidence, and how far each is trusted',
    () => import('./commands/sources.ts'),
  ],
  [
    'evidence',
    'The evidence that scores are computed from',
    () => import('./commands/evidence.ts'),
  ],
  ['scores', 'Computed scores', () => import('./commands/scores.ts')],
  ['disputes', 'Disputes of workers, and their outcomes', () => import('./commands/disputes.ts')],
  [
    'recompute',
    'Compute the scores that are due, and issue the new ones',
    () => import('./commands/recompute.ts'),
  ],
  ['engines', 'The engines that compute scores', () => import('./commands/engines.ts')],
  ['accounts', 'Accounts, which own API keys and credits', () => import('./commands/accounts.ts')],
  ['users', 'Developers who sign in with a browser', () => import('./commands/users.ts')],
  ['api-keys', 'API keys of accounts', () => import('./commands/api-keys.ts')],
  ['credits', 'Credits of accounts, and the ledger', () => import('./commands/credits.ts')],
  ['payments', 'x402 payments', () => import('./commands/payments.ts')],
  ['webhooks', 'Webhook endpoints, and deliveries to them', () => import('./commands/webhooks.ts')],
  [
    'reports',
    'Reports of agent decisions, and the accounts that may send them',
    () => import('./commands/reports.ts'),
  ],
  ['audit', 'The log of operator actions', () => import('./commands/audit.ts')],
  ['vocabulary', 'Skill records', () => import('./commands/vocabulary.ts')],
  ['demo', 'The demo that `npm start` runs', () => import('./commands/demo.ts')],
  ['doctor', 'Check the set-up, and say how to repair it', () => import('./commands/doctor.ts')],
]

const { version } = createRequire(import.meta.url)('../../package.json')

const program = new Command('assay')
  .description('Publish what a worker can do, provably. Settings come from the environment.')
  .version(version, '--version', 'the version of this release')
  .showHelpAfterError(
    '`assay --help` lists the commands, `assay COMMAND --help` shows its options.',
  )
  .exitOverride()
  .configureOutput({
    outputError: (text, write) =>
      write(withoutControls(withoutSecrets(text)).replace(/^error: /, 'assay: ')),
  })
  .configureHelp({
    showGlobalOptions: true,
    sortSubcommands: false,
    optionDescription(option) {
      const described = new Help().optionDescription(option)
      return option.mandatory ? `${described} (required)` : described
    },
  })

// A reader such as `head` may close standard output early, which is no failure. A full disk is one.
process.stdout.on('error', (error) => {
  if (!('code' in error && error.code === 'EPIPE')) note(`assay: standard output: ${error.message}`)
  process.exitCode = 1
})

try {
  // `assay COMMAND …`, or `assay help COMMAND`.
  const named = new Set(process.argv.slice(2, 4))
  for (const [name, description, load] of commands) {
    const declared = program.command(name).description(description)
    if (named.has(name)) (await load()).declareCommand(declared)
  }
  await program.parseAsync()
} catch (error) {
  const isHelp = error instanceof CommanderError && error.exitCode === 0
  if (!isHelp) reportFailure(error, { json: process.argv.includes('--json') })
}
