#!/usr/bin/env node
/** The command line. Each command is imported when it is the one that runs, so that a small one starts fast. */
import { createRequire, enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { Command, CommanderError, Help } from 'commander'
import { accountsCommands } from './commands/accounts.ts'
import { apiKeysCommands } from './commands/api-keys.ts'
import { auditCommands } from './commands/audit.ts'
import { consentCommands } from './commands/consent.ts'
import { credentialsCommands } from './commands/credentials.ts'
import { creditsCommands } from './commands/credits.ts'
import { act, command, settings } from './commands/declare.ts'
import { demoCommands } from './commands/demo.ts'
import { disputesCommands } from './commands/disputes.ts'
import { enginesCommands } from './commands/engines.ts'
import { evidenceCommands } from './commands/evidence.ts'
import { identityCommands } from './commands/identity.ts'
import { keysCommands } from './commands/keys.ts'
import { paymentsCommands } from './commands/payments.ts'
import { reportsCommands } from './commands/reports.ts'
import { scoresCommands } from './commands/scores.ts'
import { sourcesCommands } from './commands/sources.ts'
import { usersCommands } from './commands/users.ts'
import { vocabularyCommands } from './commands/vocabulary.ts'
import { webhooksCommands } from './commands/webhooks.ts'
import { workersCommands } from './commands/workers.ts'
import { note } from './output.ts'
import { reportFailure } from './run.ts'

// Stripping types takes a compiler of 25 MB into every process; what was stripped once is kept. Where the folder is read-only, nothing changes.
enableCompileCache(join(import.meta.dirname, '../../.runtime/compile-cache'))

const { version } = createRequire(import.meta.url)('../../package.json')

const program = new Command('assay')
  .description('Publish what a person can do, provably. Settings come from the environment.')
  .version(version, '--version', 'which release this is')
  .showHelpAfterError('`assay --help` lists the commands, `assay COMMAND --help` what one takes.')
  .exitOverride()
  .configureHelp({
    showGlobalOptions: true,
    sortSubcommands: false,
    optionDescription(option) {
      const described = new Help().optionDescription(option)
      return option.mandatory ? `${described} (required)` : described
    },
  })

command(program, 'serve', 'Answer requests until Ctrl-C or SIGTERM')
  .option('--demo', 'issue demo credentials first, and print commands to try')
  .option('--processes <n>', 'serving processes that share the port (setting PROCESSES)')
  .option('--no-jobs', 'run no background jobs; another process of this database must run them')
  .action((flags) =>
    act(flags, async () => (await import('./serve.ts')).serveCommand(settings(), flags)),
  )

command(
  program,
  'jobs',
  'Run the background jobs and answer no requests, until Ctrl-C or SIGTERM',
).action((flags) => act(flags, async () => (await import('./serve.ts')).jobsCommand(settings())))

command(program, 'migrate', 'Bring the database to the shape of this release')
  .option('--status', 'change nothing; list what is pending, and end with 1 if anything is')
  .option('--api-role <name>', 'let this role of the database do what a server needs, and no more')
  .action((flags) =>
    act(flags, async () => (await import('./migrate.ts')).migrateCommand(settings(), flags)),
  )

keysCommands(program)
credentialsCommands(program)
workersCommands(program)
consentCommands(program)
identityCommands(program)
sourcesCommands(program)
evidenceCommands(program)
scoresCommands(program)
disputesCommands(program)

command(program, 'recompute', 'Compute the scores that are due, and issue what is new')
  .option('--all', 'everybody who has evidence is due')
  .option('--workers <n>', 'transactions at a time', '2')
  .addHelpText(
    'after',
    '\nA run that was cut off can be run again: who is due stays so until the score is there. A server does the same in the background.',
  )
  .action((flags) =>
    act(flags, async () => (await import('./recompute.ts')).recomputeCommand(settings(), flags)),
  )

enginesCommands(program)
accountsCommands(program)
usersCommands(program)
apiKeysCommands(program)
creditsCommands(program)
paymentsCommands(program)
webhooksCommands(program)
reportsCommands(program)
auditCommands(program)
vocabularyCommands(program)
demoCommands(program)

command(
  program,
  'doctor',
  'Say whether the set-up is sound, and what to do where it is not',
).action((flags) =>
  act(flags, async () => (await import('./doctor.ts')).doctorCommand(process.env)),
)

// Whoever reads the answer may go away early, as `head` does: that is no fault. A full disk is.
process.stdout.on('error', (error) => {
  if (!('code' in error && error.code === 'EPIPE')) note(`assay: standard output: ${error.message}`)
  process.exitCode = 1
})

try {
  await program.parseAsync()
} catch (error) {
  const isHelp = error instanceof CommanderError && error.exitCode === 0
  if (!isHelp) reportFailure(error, { json: process.argv.includes('--json') })
}
