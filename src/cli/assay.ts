#!/usr/bin/env node
/** The command line. Each command is imported when it is the one that runs, so that a small one starts fast. */
import { createRequire, enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { Command, CommanderError } from 'commander'
import { type Config, readConfig } from '../config.ts'
import { note, type Outcome } from './output.ts'
import { reportFailure, run } from './run.ts'

// Stripping types takes a compiler of 25 MB into every process; what was stripped once is kept. Where the folder is read-only, nothing changes.
enableCompileCache(join(import.meta.dirname, '../../.runtime/compile-cache'))

const { version } = createRequire(import.meta.url)('../../package.json')

const program = new Command('assay')
  .description('Publish what a person can do, provably. Settings come from the environment.')
  .version(version, '--version', 'which release this is')
  .showHelpAfterError('`assay --help` lists the commands, `assay COMMAND --help` what one takes.')
  .exitOverride()
  .configureHelp({ showGlobalOptions: true, sortSubcommands: false })

const settings = (): Config => readConfig(process.env)

interface CommonFlags {
  json?: boolean
}

/** Runs what a command's file exports, and prints what it finds. */
function act(
  flags: CommonFlags,
  command: () => Promise<Outcome>,
  failure: 1 | 2 = 1,
): Promise<void> {
  return run(command, { json: flags.json ?? false, failure })
}

function command(parent: Command, name: string, description: string): Command {
  return parent
    .command(name)
    .description(description)
    .option('--json', 'one JSON object on standard output')
}

command(program, 'serve', 'Answer requests until Ctrl-C or SIGTERM')
  .option('--demo', 'issue demo credentials first, and print commands to try')
  .option('--processes <n>', 'serving processes that share the port (setting PROCESSES)')
  .option('--no-worker', 'do no background work; another process of this database must')
  .action((flags) =>
    act(flags, async () => (await import('./serve.ts')).serveCommand(settings(), flags)),
  )

command(program, 'migrate', 'Bring the database to the shape of this release')
  .option('--status', 'change nothing; list what is pending, and end with 1 if anything is')
  .option('--api-role <name>', 'let this role of the database do what a server needs, and no more')
  .action((flags) =>
    act(flags, async () => (await import('./migrate.ts')).migrateCommand(settings(), flags)),
  )

const keys = program.command('keys').description('Signing keys')

command(keys, 'create', 'Make a key file and register it; the first key signs at once').action(
  (flags) =>
    act(flags, async () => (await import('./keys-create.ts')).createKeyCommand(settings())),
)

command(keys, 'rotate', 'Sign with the oldest pending key from now on; the present one retires')
  .option('--now', 'do not wait until caches know the new key')
  .action((flags) =>
    act(flags, async () => (await import('./keys-rotate.ts')).rotateKeysCommand(settings(), flags)),
  )

command(keys, 'list', 'Show every key and its state').action((flags) =>
  act(flags, async () => (await import('./keys-list.ts')).listKeysCommand(settings())),
)

command(keys, 'revoke', 'Revoke a compromised key: all it signed becomes invalid, for ever')
  .argument('<kid>', 'z6Mk…, or a verification method that ends in it')
  .option('--yes', 'go ahead; without it the consequences are explained')
  .action((kid, flags) =>
    act(flags, async () =>
      (await import('./keys-revoke.ts')).revokeKeyCommand(settings(), kid, flags),
    ),
  )

const credentials = program.command('credentials').description('Score credentials')

command(credentials, 'issue', 'Issue a credential for each line of a file')
  .requiredOption('--from <file>', 'scores as NDJSON, one a line; - for standard input')
  .option('--out <file>', 'where the credentials go, one a line in the order of the scores', '-')
  .option('--errors <file>', 'where refused lines go (default: FROM.errors.ndjson)')
  .option('--proof <form>', 'native, eddsa-jcs-2022 or eddsa-rdfc-2022', 'native')
  .option('--dry-run', 'only check the lines: needs neither key nor database, and issues nothing')
  .addHelpText(
    'after',
    '\nA run that was cut off can be run again: a line with an `id` is issued once, however often it is read.',
  )
  .action((flags) =>
    act(flags, async () =>
      (await import('./credentials-issue.ts')).issueCommand(settings(), flags),
    ),
  )

command(credentials, 'show', 'Print the credential that a person has now')
  .argument('<username>')
  .option('--proof <form>', 'native, eddsa-jcs-2022 or eddsa-rdfc-2022', 'native')
  .action((username, flags) =>
    act(flags, async () =>
      (await import('./credentials-show.ts')).showCredentialCommand(settings(), username, flags),
    ),
  )

command(credentials, 'revoke', 'Revoke credentials, for ever')
  .option('--id <uuid...>', 'by credential id')
  .option('--token <hex...>', 'by status token')
  .option('--digest <hex...>', 'by vcSha256')
  .option('--from <file>', 'ids, tokens, digests or credentials, one a line; - for standard input')
  .action((flags) =>
    act(flags, async () =>
      (await import('./credentials-revoke.ts')).revokeCommand(settings(), flags),
    ),
  )

command(
  credentials,
  'verify',
  'Verify a credential: ends with 0 valid, 1 invalid, 2 could not check',
)
  .argument('<file>', 'the credential; - for standard input')
  .option('--key <file>', 'offline: the issuer’s key document or did.json')
  .option('--list <file>', 'offline: the status list that the credential names')
  .option('--url <url>', 'online: ask this deployment')
  .action((file, flags) =>
    act(
      flags,
      async () => (await import('./credentials-verify.ts')).verifyCommand(settings, file, flags),
      2,
    ),
  )

const workers = program.command('workers').description('People')
const formatOption = [
  '--format <format>',
  'ndjson or csv (default: csv for a file named .csv, else ndjson)',
] as const
const byOption = ['--by <name>', 'who does it: kept with the change', 'operator'] as const

command(workers, 'import', 'Register people, or bring them up to date, from a file')
  .requiredOption('--from <file>', 'people, one a line; - for standard input')
  .option(...formatOption)
  .option('--errors <file>', 'where refused lines go (default: FROM.errors.ndjson)')
  .option('--dry-run', 'check every line against the people there are now, and change nothing')
  .option(...byOption)
  .addHelpText(
    'after',
    '\nA run that was cut off can be run again: `externalId`, or `username` without one, says who a line speaks of.',
  )
  .action((flags) =>
    act(flags, async () =>
      (await import('./workers-import.ts')).importWorkersCommand(settings(), flags),
    ),
  )

command(workers, 'show', 'Show a person, and what decides what is public of them')
  .argument('<username>')
  .action((username, flags) =>
    act(flags, async () =>
      (await import('./workers-show.ts')).showWorkerCommand(settings(), username),
    ),
  )

command(workers, 'export', 'Write down all that is stored about a person')
  .argument('<username>')
  .option('--out <file>', 'where it goes, readable by you alone', '-')
  .action((username, flags) =>
    act(flags, async () =>
      (await import('./workers-export.ts')).exportWorkerCommand(settings(), username, flags),
    ),
  )

command(workers, 'erase', 'Erase a person, for ever')
  .argument('<username>')
  .requiredOption('--reason <reason>', 'worker_request, no_longer_needed, unlawful or policy')
  .option('--yes', 'go ahead; without it the username is asked for')
  .option(...byOption)
  .action((username, flags) =>
    act(flags, async () =>
      (await import('./workers-erase.ts')).eraseWorkerCommand(settings(), username, flags),
    ),
  )

const consent = program.command('consent').description('What a person allows')
const permissionArgument = [
  '<permission>',
  'public_profile, search_listing or score_sharing',
] as const

command(consent, 'grant', 'Record that a person allows something')
  .argument('<username>')
  .argument(...permissionArgument)
  .option('--text-version <version>', 'of the text that the person agreed to', '1')
  .option(...byOption)
  .action((username, permission, flags) =>
    act(flags, async () =>
      (await import('./consent-change.ts')).changeConsentCommand(
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
      (await import('./consent-change.ts')).changeConsentCommand(
        settings(),
        [username, permission],
        { ...flags, textVersion: null },
      ),
    ),
  )

const identity = program.command('identity').description('Whether a person is who they say')

command(identity, 'verify', 'Record that somebody has checked who the person is')
  .argument('<username>')
  .option('--until <date>', 'the check counts before this day or date-time (default: a year)')
  .option(...byOption)
  .action((username, flags) =>
    act(flags, async () =>
      (await import('./identity-move.ts')).verifyIdentityCommand(settings(), username, flags),
    ),
  )

command(identity, 'revoke', 'Record that the check does not count any more')
  .argument('<username>')
  .option(...byOption)
  .action((username, flags) =>
    act(flags, async () =>
      (await import('./identity-move.ts')).revokeIdentityCommand(settings(), username, flags),
    ),
  )

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
      (await import('./sources-register.ts')).registerSourcesCommand(settings(), id, flags),
    ),
  )

command(sources, 'list', 'Show every source').action((flags) =>
  act(flags, async () => (await import('./sources-list.ts')).listSourcesCommand(settings())),
)

const evidence = program.command('evidence').description('What scores are computed from')

command(evidence, 'import', 'Take in the evidence of a file')
  .requiredOption('--from <file>', 'evidence, one item a line; - for standard input')
  .option(...formatOption)
  .option('--errors <file>', 'where refused lines are told (default: FROM.errors.ndjson)')
  .option('--dry-run', 'only check the lines against the database: nothing is added')
  .option('--achievements <file>', 'what Open Badges are evidence of, as JSON by achievement id')
  .option('--accept-unchecked-status', 'take in badges that name a status, which is not looked up')
  .addHelpText(
    'after',
    '\nA run that was cut off can be run again: an item is taken in once, however often it is read.',
  )
  .action((flags) =>
    act(flags, async () =>
      (await import('./evidence-import.ts')).importEvidenceCommand(settings(), flags),
    ),
  )

command(evidence, 'revoke', 'Revoke evidence, for ever')
  .argument('<id...>', 'evidence ids, or SOURCE/EXTERNAL-ID')
  .requiredOption(
    '--reason <reason>',
    'source_removed, source_invalid, worker_request, dispute_upheld or policy',
  )
  .option(...byOption)
  .action((ids, flags) =>
    act(flags, async () =>
      (await import('./evidence-revoke.ts')).revokeEvidenceCommand(settings(), ids, flags),
    ),
  )

const scores = program.command('scores').description('What the evidence comes to')

command(scores, 'show', 'Show every score that a person has and had')
  .argument('<username>')
  .action((username, flags) =>
    act(flags, async () =>
      (await import('./scores-show.ts')).showScoresCommand(settings(), username),
    ),
  )

command(scores, 'explain', 'Say why a score is what it is, item by item')
  .argument('<score>', 'a username, or the id of a score')
  .option('--now', 'what the evidence of the person comes to today')
  .action((score, flags) =>
    act(flags, async () =>
      (await import('./scores-explain.ts')).explainScoreCommand(settings(), score, flags),
    ),
  )

command(
  scores,
  'replay',
  'Compute scores again as they were made: ends with 0 all agree, 1 any differs, 2 could not be done',
)
  .argument('[score]', 'the id of a score')
  .option('--all', 'every score that was ever issued')
  .action((score, flags) =>
    act(
      flags,
      async () =>
        (await import('./scores-replay.ts')).replayScoresCommand(settings(), score, flags),
      2,
    ),
  )

const disputes = program
  .command('disputes')
  .description('What people contest, and what comes of it')
const disputeArgument = ['<id>', 'of the dispute'] as const

command(disputes, 'open', 'Open a dispute of a person')
  .argument('<username>')
  .requiredOption('--kind <kind>', 'score, evidence or identity')
  .option('--evidence <id...>', 'what is disputed: evidence ids, or SOURCE/EXTERNAL-ID')
  .option('--exclude', 'the evidence counts for nothing until the dispute ends')
  .option('--restrict', 'hide the score until the dispute ends (default: DISPUTE_RESTRICTS)')
  .option('--no-restrict', 'the score stays public')
  .option(...byOption)
  .action((username, flags) =>
    act(flags, async () =>
      (await import('./disputes-open.ts')).openDisputeCommand(settings(), username, flags),
    ),
  )

command(disputes, 'review', 'Record that somebody looks at a dispute')
  .argument(...disputeArgument)
  .option(...byOption)
  .action((id, flags) =>
    act(flags, async () =>
      (await import('./disputes-move.ts')).reviewDisputeCommand(settings(), id, flags),
    ),
  )

command(disputes, 'resolve', 'Decide a dispute that is under review, for ever')
  .argument(...disputeArgument)
  .requiredOption('--as <resolution>', 'upheld, partly_upheld or rejected')
  .option('--evidence <id...>', 'of one that is partly upheld, the items that are')
  .option(...byOption)
  .action((id, flags) =>
    act(flags, async () =>
      (await import('./disputes-move.ts')).resolveDisputeCommand(settings(), id, flags),
    ),
  )

command(disputes, 'withdraw', 'Record that the person takes a dispute back')
  .argument(...disputeArgument)
  .option(...byOption)
  .action((id, flags) =>
    act(flags, async () =>
      (await import('./disputes-move.ts')).withdrawDisputeCommand(settings(), id, flags),
    ),
  )

command(disputes, 'list', 'Show the disputes that are open, the first due first')
  .option('--all', 'the latest ones, ended ones too')
  .option('--username <username>', 'all of this person')
  .option('--limit <n>', 'at most so many', '200')
  .action((flags) =>
    act(flags, async () =>
      (await import('./disputes-list.ts')).listDisputesCommand(settings(), flags),
    ),
  )

command(disputes, 'show', 'Show a dispute and every move of it')
  .argument(...disputeArgument)
  .action((id, flags) =>
    act(flags, async () => (await import('./disputes-list.ts')).showDisputeCommand(settings(), id)),
  )

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

const accounts = program.command('accounts').description('Who has API keys and credits')
const accountArgument = ['<account>', 'its id or its name'] as const

command(accounts, 'create', 'Make an account')
  .argument('<name>')
  .action((name, flags) =>
    act(flags, async () => (await import('./accounts.ts')).createAccountCommand(settings(), name)),
  )

command(accounts, 'list', 'Show every account, its keys and its credits').action((flags) =>
  act(flags, async () => (await import('./accounts.ts')).listAccountsCommand(settings())),
)

command(accounts, 'show', 'Show an account and its keys')
  .argument(...accountArgument)
  .action((account, flags) =>
    act(flags, async () => (await import('./accounts.ts')).showAccountCommand(settings(), account)),
  )

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
  .action((account, flags) =>
    act(flags, async () =>
      (await import('./api-keys.ts')).createApiKeyCommand(settings(), account, flags),
    ),
  )

command(apiKeys, 'list', 'Show the keys of an account, the newest first')
  .argument(...accountArgument)
  .action((account, flags) =>
    act(flags, async () => (await import('./api-keys.ts')).listApiKeysCommand(settings(), account)),
  )

command(apiKeys, 'rotate', 'Make a successor with the same rights; the key itself ends later')
  .argument('<id>', 'of the key')
  .option('--overlap-hours <n>', 'how long both are valid, at most 168', '24')
  .option('--now', 'the key is revoked at once')
  .action((id, flags) =>
    act(flags, async () =>
      (await import('./api-keys.ts')).rotateApiKeyCommand(settings(), id, flags),
    ),
  )

command(apiKeys, 'revoke', 'Revoke a key, at once and for ever')
  .argument('<id>', 'of the key')
  .action((id, flags) =>
    act(flags, async () => (await import('./api-keys.ts')).revokeApiKeyCommand(settings(), id)),
  )

const credits = program.command('credits').description('What accounts may spend and have spent')

command(credits, 'grant', 'Give credits to an account')
  .argument(...accountArgument)
  .argument('<credits>', 'a whole number')
  .requiredOption('--reason <text>', 'kept in the books')
  .option('--reference <name>', 'such as the number of an invoice: it is entered once')
  .action((account, amount, flags) =>
    act(flags, async () =>
      (await import('./credits.ts')).grantCommand(settings(), [account, amount], flags),
    ),
  )

command(credits, 'adjust', 'Correct the credits of an account, up or down')
  .argument(...accountArgument)
  .requiredOption('--credits <n>', 'how many more; below 0 how many fewer')
  .requiredOption('--reason <text>', 'kept in the books')
  .option('--reference <name>', 'it is entered once')
  .action((account, flags) =>
    act(flags, async () =>
      (await import('./credits.ts')).adjustCommand(settings(), account, flags),
    ),
  )

command(credits, 'show', 'Show what an account has left')
  .argument(...accountArgument)
  .action((account, flags) =>
    act(flags, async () => (await import('./credits.ts')).showCreditsCommand(settings(), account)),
  )

command(credits, 'usage', 'Show what an account spent by day, meter and operation')
  .argument(...accountArgument)
  .option('--since <day>', 'in UTC; default: 30 days before the end')
  .option('--until <day>', 'in UTC, not included; default: now')
  .action((account, flags) =>
    act(flags, async () => (await import('./credits.ts')).usageCommand(settings(), account, flags)),
  )

command(credits, 'audit', 'Add up the books: ends with 1 where a balance is not what they say')
  .option('--resume', 'charge accounts again that were suspended and are whole')
  .action((flags) =>
    act(flags, async () => (await import('./credits.ts')).auditCreditsCommand(settings(), flags)),
  )

const payments = program.command('payments').description('What was paid on the spot (x402)')

const sinceOption = ['--since <day>', 'from this day on, in UTC'] as const
const limitOption = ['--limit <n>', 'at most so many', '50'] as const

function paymentsCommand(name: string, description: string): Command {
  return command(payments, name, description).option('--csv', 'for a spreadsheet')
}

paymentsCommand('list', 'Show payments, the newest first')
  .option('--state <state>', 'claimed, settling, unknown, settled, released or failed')
  .option(...sinceOption)
  .option(...limitOption)
  .action((flags) =>
    act(flags, async () => (await import('./payments.ts')).listPaymentsCommand(settings(), flags)),
  )

paymentsCommand(
  'attention',
  'Show payments that may have been made and are not settled: ends with 1 if there are any',
)
  .option(...limitOption)
  .action((flags) =>
    act(flags, async () => (await import('./payments.ts')).attentionCommand(settings(), flags)),
  )

paymentsCommand('revenue', 'Show what came in by day and endpoint; 30 days unless told')
  .option(...sinceOption)
  .action((flags) =>
    act(flags, async () => (await import('./payments.ts')).revenueCommand(settings(), flags)),
  )

const webhooks = program.command('webhooks').description('Where events are sent')
const accountOption = ['--account <account>', 'its id or its name'] as const

command(webhooks, 'endpoints', 'Show webhook endpoints')
  .option(...accountOption)
  .option('--all', 'disabled ones too')
  .option('--limit <n>', 'at most so many, the newest', '200')
  .action((flags) =>
    act(flags, async () =>
      (await import('./webhooks-endpoints.ts')).listEndpointsCommand(settings(), flags),
    ),
  )

command(webhooks, 'create', 'Create a webhook endpoint for an account; shows its secret once')
  .argument('<url>', 'https, a public host')
  .requiredOption(...accountOption)
  .requiredOption('--event <type...>', 'score.updated, score.revised, evidence.revoked, …')
  .option('--description <text>', 'at most 120 characters')
  .action((url, flags) =>
    act(flags, async () =>
      (await import('./webhooks-create.ts')).createEndpointCommand(settings(), url, flags),
    ),
  )

command(webhooks, 'disable', 'Send nothing more to an endpoint, and cancel what waits for it')
  .argument('<id>')
  .action((id, flags) =>
    act(flags, async () =>
      (await import('./webhooks-disable.ts')).disableEndpointCommand(settings(), id),
    ),
  )

command(webhooks, 'deliveries', 'Show the last attempts at an endpoint')
  .argument('<id>')
  .option('--limit <n>', 'at most so many, the newest', '25')
  .action((id, flags) =>
    act(flags, async () =>
      (await import('./webhooks-deliveries.ts')).deliveriesCommand(settings(), id, flags),
    ),
  )

command(webhooks, 'resend', 'Send one event to an endpoint once more')
  .argument('<id>')
  .argument('<event>', 'its id, evt_…')
  .action((id, event, flags) =>
    act(flags, async () =>
      (await import('./webhooks-resend.ts')).resendCommand(settings(), id, event),
    ),
  )

command(webhooks, 'recover', 'Send an endpoint what it missed since a time')
  .argument('<id>')
  .requiredOption('--since <time>', 'UTC, at most 14 days ago, such as 2026-05-14T09:00:00Z')
  .action((id, flags) =>
    act(flags, async () =>
      (await import('./webhooks-resend.ts')).recoverCommand(settings(), id, flags),
    ),
  )

command(webhooks, 'enable', 'Send to a disabled endpoint again, from the next event on')
  .argument('<id>')
  .action((id, flags) =>
    act(flags, async () => (await import('./webhooks-enable.ts')).enableCommand(settings(), id)),
  )

command(webhooks, 'pause', 'Hold deliveries to an endpoint back')
  .argument('<id>')
  .action((id, flags) =>
    act(flags, async () => (await import('./webhooks-enable.ts')).pauseCommand(settings(), id)),
  )

command(webhooks, 'resume', 'Let deliveries to a paused endpoint go')
  .argument('<id>')
  .action((id, flags) =>
    act(flags, async () => (await import('./webhooks-enable.ts')).resumeCommand(settings(), id)),
  )

command(webhooks, 'rotate', 'Announce a new secret of an endpoint; shows it once')
  .argument('<id>')
  .option('--hours <n>', 'until it signs in place of the old one', '24')
  .action((id, flags) =>
    act(flags, async () =>
      (await import('./webhooks-rotate.ts')).rotateSecretCommand(settings(), id, flags),
    ),
  )

command(webhooks, 'promote', 'Let the announced secret sign from now on')
  .argument('<id>')
  .action((id, flags) =>
    act(flags, async () => (await import('./webhooks-enable.ts')).promoteCommand(settings(), id)),
  )

command(webhooks, 'rewrap', 'Seal every secret under the first key of SECRETS_KEYRING').action(
  (flags) =>
    act(flags, async () => (await import('./webhooks-rewrap.ts')).rewrapCommand(settings())),
)

const reports = program
  .command('reports')
  .description('What accounts report of agents’ decisions, and who may')

command(reports, 'list', 'Show reports, the newest first')
  .option(...accountOption)
  .option('--limit <n>', 'at most so many', '50')
  .action((flags) =>
    act(flags, async () =>
      (await import('./reports-list.ts')).listReportsCommand(settings(), flags),
    ),
  )

command(reports, 'export', 'Write all reports, one a line, the newest first')
  .option(...accountOption)
  .option('--out <file>', 'where to', '-')
  .action((flags) =>
    act(flags, async () =>
      (await import('./reports-list.ts')).exportReportsCommand(settings(), flags),
    ),
  )

command(reports, 'reviews', 'Show which accounts ask to be unlocked').action((flags) =>
  act(flags, async () => (await import('./reports-decide.ts')).listReviewsCommand(settings())),
)

command(reports, 'unlock', 'Let an account report; approves its request')
  .argument('<account>', 'its id or its name')
  .action((account, flags) =>
    act(flags, async () =>
      (await import('./reports-decide.ts')).unlockReportingCommand(settings(), account),
    ),
  )

command(reports, 'decline', 'Decline an account’s request; it may ask again')
  .argument('<account>', 'its id or its name')
  .action((account, flags) =>
    act(flags, async () =>
      (await import('./reports-decide.ts')).declineReviewCommand(settings(), account),
    ),
  )

command(reports, 'lock', 'Take no further report of an account; what it reported stays')
  .argument('<account>', 'its id or its name')
  .action((account, flags) =>
    act(flags, async () =>
      (await import('./reports-decide.ts')).lockReportingCommand(settings(), account),
    ),
  )

command(reports, 'erase', 'Delete every report about a person or a score')
  .option('--username <username...>', 'with or without @')
  .option('--score <id...>', 'score ids')
  .action((flags) =>
    act(flags, async () =>
      (await import('./reports-erase.ts')).eraseReportsCommand(settings(), flags),
    ),
  )

const audit = program.command('audit').description('What operators did')

command(
  audit,
  'verify',
  'Check the audit log: ends with 0 whole, 1 broken and where, 2 could not check',
)
  .option('--expect <hash>', 'the head that an earlier run printed: finds an end cut off')
  .action((flags) =>
    act(
      flags,
      async () => (await import('./audit-verify.ts')).verifyAuditCommand(settings(), flags),
      2,
    ),
  )

command(audit, 'list', 'Show the audit log, the newest first')
  .option('--since <time>', 'a day or a time in UTC')
  .option('--action <name>', 'only these, e.g. keys.rotated')
  .option('--limit <n>', 'at most so many', '50')
  .action((flags) =>
    act(flags, async () => (await import('./audit-list.ts')).listAuditCommand(settings(), flags)),
  )

const vocabulary = program.command('vocabulary').description('Skill records')

command(vocabulary, 'lint', 'Check the skill records: one line a finding')
  .argument('[directory]', 'default: the records of this release')
  .action((directory, flags) =>
    act(flags, async () => (await import('./vocabulary-lint.ts')).lintCommand(directory)),
  )

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
