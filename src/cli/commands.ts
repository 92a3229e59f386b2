/**
 * The commands. Only the modules of the command that runs are imported: with all of them,
 * `assay --help` takes 3 times as long (1.4 s in place of 0.5 s).
 */
import type { Command } from 'commander'

interface CommandFile {
  /** Adds the arguments, options and subcommands of the command. */
  declareCommand(command: Command): void
}

interface CommandRow {
  name: string
  description: string
  load(): Promise<CommandFile>
}

/** In the order of the help. */
export const commands: readonly CommandRow[] = [
  {
    name: 'serve',
    description: 'Answer requests until Ctrl-C or SIGTERM',
    load: () => import('./commands/serve.ts'),
  },
  {
    name: 'jobs',
    description: 'Run the background jobs and answer no requests, until Ctrl-C or SIGTERM',
    load: () => import('./commands/jobs.ts'),
  },
  {
    name: 'migrate',
    description: 'Migrate the database to this release',
    load: () => import('./commands/migrate.ts'),
  },
  { name: 'keys', description: 'Signing keys', load: () => import('./commands/keys.ts') },
  {
    name: 'credentials',
    description: 'Score credentials',
    load: () => import('./commands/credentials.ts'),
  },
  {
    name: 'workers',
    description: 'Workers and their data',
    load: () => import('./commands/workers.ts'),
  },
  {
    name: 'consent',
    description: 'What a worker allows',
    load: () => import('./commands/consent.ts'),
  },
  {
    name: 'identity',
    description: 'Checks of the identity of a worker',
    load: () => import('./commands/identity.ts'),
  },
  {
    name: 'sources',
    description: 'Senders of evidence, and how far each is trusted',
    load: () => import('./commands/sources.ts'),
  },
  {
    name: 'evidence',
    description: 'The evidence that scores are computed from',
    load: () => import('./commands/evidence.ts'),
  },
  { name: 'scores', description: 'Computed scores', load: () => import('./commands/scores.ts') },
  {
    name: 'disputes',
    description: 'Disputes of workers, and their outcomes',
    load: fromOperations(
      async () => (await import('../scoring/disputes/operations.ts')).disputeOperations,
    ),
  },
  {
    name: 'recompute',
    description: 'Compute the scores that are due, and issue the new ones',
    load: () => import('./commands/recompute.ts'),
  },
  {
    name: 'engines',
    description: 'The engines that compute scores',
    load: fromOperations(
      async () => (await import('../scoring/scores/engine-operations.ts')).engineOperations,
    ),
  },
  {
    name: 'accounts',
    description: 'Accounts, which own API keys and credits',
    load: fromOperations(async () => {
      const [{ accountOperations }, { accountsMembers }] = await Promise.all([
        import('../accounts/access/account-operations.ts'),
        import('../accounts/member-operations.ts'),
      ])
      return [...accountOperations, accountsMembers]
    }),
  },
  {
    name: 'users',
    description: 'Developers who sign in with a browser',
    load: fromOperations(
      async () => (await import('../accounts/user-operations.ts')).userOperations,
    ),
  },
  {
    name: 'members',
    description: 'Members of accounts',
    load: fromOperations(
      async () => (await import('../accounts/member-operations.ts')).memberOperations,
    ),
  },
  {
    name: 'api-keys',
    description: 'API keys of accounts',
    load: fromOperations(
      async () => (await import('../accounts/access/api-key-operations.ts')).apiKeyOperations,
    ),
  },
  {
    name: 'credits',
    description: 'Credits of accounts, and the ledger',
    load: () => import('./commands/credits.ts'),
  },
  {
    name: 'payments',
    description: 'x402 payments',
    load: fromOperations(
      async () => (await import('../billing/x402/operations.ts')).paymentOperations,
    ),
  },
  {
    name: 'webhooks',
    description: 'Webhook endpoints, and deliveries to them',
    load: fromOperations(async () => (await import('../webhooks/operations.ts')).webhookOperations),
  },
  {
    name: 'reports',
    description: 'Reports of agent decisions, and the accounts that may send them',
    load: () => import('./commands/reports.ts'),
  },
  {
    name: 'operators',
    description: 'Users of the console, and tokens of the systems that call the operator API',
    load: fromOperations(async () => {
      const [{ operatorUserOperations }, { operatorOperations }] = await Promise.all([
        import('../accounts/operator-operations.ts'),
        import('../accounts/access/operator-operations.ts'),
      ])
      return [...operatorUserOperations, ...operatorOperations]
    }),
  },
  {
    name: 'audit',
    description: 'The log of operator actions',
    load: fromOperations(
      async () => (await import('../operations/audit-operations.ts')).auditOperations,
    ),
  },
  {
    name: 'demo',
    description: 'The demo that `npm start` runs',
    load: () => import('./commands/demo.ts'),
  },
  {
    name: 'status',
    description:
      'Show the whole service on one screen: ends with 1 if something needs you, 2 if it fails',
    load: () => import('./commands/status.ts'),
  },
  {
    name: 'doctor',
    description: 'Check the set-up, and say how to repair it',
    load: () => import('./commands/doctor.ts'),
  },
]

/** The commands of a noun that all come from operations. */
function fromOperations(
  loadOperations: () => Promise<Parameters<DeclareOperations>[1]>,
): () => Promise<CommandFile> {
  return async () => {
    const [{ declareOperations }, operations] = await Promise.all([
      import('./operation-command.ts'),
      loadOperations(),
    ])
    return { declareCommand: (noun) => declareOperations(noun, operations) }
  }
}

type DeclareOperations = typeof import('./operation-command.ts').declareOperations
