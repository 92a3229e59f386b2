/** Prepares the demo for a serving process and starts the receiver of its webhooks. */
import { findAccount } from '../access/store.ts'
import { addMember } from '../accounts/members.ts'
import { usersSignInLink } from '../accounts/user-operations.ts'
import { operator, recordAction } from '../audit/record.ts'
import { withSearchIndex } from '../candidates/search-indexer.ts'
import { accountName } from '../demo/account.ts'
import { prepareDemo } from '../demo/prepare.ts'
import { openDemoReceiver } from '../demo/receiver.ts'
import { secondAccountName } from '../demo/story.ts'
import { perform } from '../operations/perform.ts'
import { systemClock } from '../platform/clock.ts'
import { openDb, type Tx } from '../platform/db/db.ts'
import type { ServiceOptions } from './http-app.ts'
import { openServices } from './operations.ts'
import { releasedSkillNames } from './released-vocabulary.ts'
import type { WebhookJobsOptions } from './webhooks.ts'

/**
 * Creates the demo if it is missing. Uses separate connections, because the seeding holds the lock
 * on the signing keys for up to two seconds, longer than the statement timeout of requests.
 */
export async function ensureDemo(context: ServiceOptions, url: string): Promise<boolean> {
  const { config, log, engine } = context
  const db = openDb({
    url,
    connectionsMax: 2,
    pooling: config.databasePooling,
    applicationName: 'assay demo',
    statementTimeoutMs: 0,
    onError: (error) => log.warn('a database connection was lost', { why: error.message }),
  })
  // A search of the first second finds the demo: its transaction indexes its workers.
  const indexed = withSearchIndex(db, releasedSkillNames)
  const options = { config, db: indexed, log, engine: engine.engine, now: systemClock() }
  try {
    return await prepareDemo(options)
  } finally {
    await db.close()
  }
}

const demoUser = 'developer@example.com'

/**
 * Creates the demo's user if missing. Returns a URL that signs the user in, or null if the user is
 * disabled.
 */
export async function createDemoSignInLink({
  config,
  db,
  clock,
}: ServiceOptions): Promise<string | null> {
  const account = await findAccount(db, accountName)
  if (account === undefined) return null
  const second = await findAccount(db, secondAccountName)
  // The first account is the one that the link opens.
  for (const { id } of [account, ...(second === undefined ? [] : [second])])
    await db.transaction((tx) => addOwner(tx, id, clock()))
  const performer = { db, clock, services: openServices(config) }
  const [actor, email] = [operator(), demoUser]
  const caller = { kind: 'operator', role: 'admin', actor, by: actor } as const
  const made = await perform(performer, usersSignInLink, caller, { email })
  return 'refusal' in made ? null : made.output.url
}

async function addOwner(tx: Tx, account: string, now: Date): Promise<void> {
  const details = { account, role: 'owner' } as const
  const member = { accountId: account, email: demoUser, role: details.role }
  const { userId, isNew } = await addMember(tx, member, now)
  if (!isNew) return
  const entry = { subjects: [userId], details, actor: operator() }
  await recordAction(tx, { action: 'users.joined', ...entry }, now)
}

/** Starts the receiver. Returns undefined if it cannot be registered. `say` shows each event. */
export async function startDemoReceiver(
  { config, db, clock, secrets: ring }: ServiceOptions,
  closing: AsyncDisposableStack,
  say: (text: string) => void,
): Promise<WebhookJobsOptions['around']> {
  if (ring === null) return undefined
  const activeMax = config.webhookEndpointsMax
  const receiver = await openDemoReceiver({ db, clock, ring, activeMax, say })
  closing.defer(() => receiver?.close())
  return receiver?.wrapEgress
}
