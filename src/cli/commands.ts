/**
 * The commands. Only the modules of the command that runs are imported: with all of them,
 * `assay --help` takes 3 times as long (1.4 s in place of 0.5 s).
 */
import type { Command } from 'commander'

type DeclareOperations = typeof import('./operation-command.ts').declareOperations

/** The file of a command, or the operations that its verbs are made from. */
type Loaded = { declareCommand(command: Command): void } | Parameters<DeclareOperations>[1]

type CommandRow = readonly [description: string, load: () => Promise<Loaded>]

/** In the order of the help. */
export const commands: Readonly<Record<string, CommandRow>> = {
  serve: ['Answer requests until Ctrl-C or SIGTERM', () => import('./commands/serve.ts')],
  jobs: [
    'Run the background jobs and answer no requests, until Ctrl-C or SIGTERM',
    async () => ({ declareCommand: (await import('./commands/serve.ts')).declareJobs }),
  ],
  migrate: ['Migrate the database to this release', () => import('./commands/migrate.ts')],
  keys: ['Signing keys', () => import('./commands/keys.ts')],
  credentials: ['Score credentials', () => import('./commands/credentials.ts')],
  workers: ['Workers and their data', () => import('./commands/workers.ts')],
  consent: [
    'What a worker allows',
    async () => ({ declareCommand: (await import('./commands/workers.ts')).declareConsent }),
  ],
  identity: [
    'Checks of the identity of a worker',
    async () => ({ declareCommand: (await import('./commands/workers.ts')).declareIdentity }),
  ],
  sources: [
    'Senders of evidence, and how far each is trusted',
    async () => ({ declareCommand: (await import('./commands/evidence.ts')).declareSources }),
  ],
  evidence: ['The evidence that scores are computed from', () => import('./commands/evidence.ts')],
  scores: ['Computed scores', () => import('./commands/scores.ts')],
  disputes: [
    'Disputes of workers, and their outcomes',
    async () => (await import('../scoring/disputes/operations.ts')).disputeOperations,
  ],
  recompute: [
    'Compute the scores that are due, and issue the new ones',
    () => import('./commands/recompute.ts'),
  ],
  engines: [
    'The engines that compute scores',
    async () => (await import('../scoring/scores/engine-operations.ts')).engineOperations,
  ],
  accounts: [
    'Accounts, which own API keys and credits',
    async () => {
      const [{ accountOperations }, { accountsMembers }] = await Promise.all([
        import('../accounts/access/account-operations.ts'),
        import('../accounts/member-operations.ts'),
      ])
      return [...accountOperations, accountsMembers]
    },
  ],
  users: [
    'Developers who sign in with a browser',
    async () => (await import('../accounts/user-operations.ts')).userOperations,
  ],
  members: [
    'Members of accounts',
    async () => (await import('../accounts/member-operations.ts')).memberOperations,
  ],
  'api-keys': [
    'API keys of accounts',
    async () => (await import('../accounts/access/api-key-operations.ts')).apiKeyOperations,
  ],
  credits: ['Credits of accounts, and the ledger', () => import('./commands/credits.ts')],
  payments: [
    'x402 payments',
    async () => (await import('../billing/x402/operations.ts')).paymentOperations,
  ],
  webhooks: [
    'Webhook endpoints, and deliveries to them',
    async () => (await import('../webhooks/operations.ts')).webhookOperations,
  ],
  reports: [
    'Reports of agent decisions, and the accounts that may send them',
    () => import('./commands/reports.ts'),
  ],
  operators: [
    'Users of the console, and tokens of the systems that call the operator API',
    async () => {
      const [{ operatorUserOperations }, { operatorOperations }] = await Promise.all([
        import('../accounts/operator-operations.ts'),
        import('../accounts/access/operator-operations.ts'),
      ])
      return [...operatorUserOperations, ...operatorOperations]
    },
  ],
  audit: [
    'The log of operator actions',
    async () => (await import('../operations/audit-operations.ts')).auditOperations,
  ],
  demo: ['The demo that `npm start` runs', () => import('./commands/demo.ts')],
  status: [
    'Show the whole service on one screen: ends with 1 if something needs you, 2 if it fails',
    () => import('./commands/status.ts'),
  ],
  doctor: ['Check the set-up, and say how to repair it', () => import('./commands/doctor.ts')],
}

/** Adds the arguments, options and verbs of a command. */
export async function declare(command: Command, load: CommandRow[1]): Promise<void> {
  const loaded = await load()
  if ('declareCommand' in loaded) return loaded.declareCommand(command)
  const { declareOperations } = await import('./operation-command.ts')
  declareOperations(command, loaded)
}
