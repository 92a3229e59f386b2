/** Prepares the demo for a serving process and starts the receiver of its webhooks. */
import { accountsCreate } from '../accounts/access/account-operations.ts'
import { findAccount } from '../accounts/api.ts'
import { operatorsGrant } from '../accounts/operator-operations.ts'
import { usersSignInLink } from '../accounts/user-operations.ts'
import { addMember } from '../accounts/users.ts'
import { operator, recordAction } from '../audit/record.ts'
import { accountName } from '../demo/account.ts'
import { prepareDemo } from '../demo/prepare.ts'
import { openDemoReceiver } from '../demo/receiver.ts'
import { secondAccountName } from '../demo/story.ts'
import { perform } from '../operations/perform.ts'
import { systemClock } from '../platform/clock.ts'
import { openDb, type Tx } from '../platform/db/db.ts'
import { withSearchIndex } from '../workers/candidates/search-indexer.ts'
import type { ServiceOptions } from './context.ts'
import { openServices } from './operation-services.ts'
import { releasedSkillNames } from './scoring.ts'
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

const developer = 'developer@example.com'
const demoOperator = 'operator@example.com'
const operatorAccountName = 'Operator'

/**
 * Creates the users of the demo if missing. Returns URLs that sign them in; null for a user that is
 * disabled.
 */
export async function createDemoSignInLinks({
  config,
  db,
  clock,
}: ServiceOptions): Promise<{ developer: string | null; operator: string | null }> {
  const performer = { db, clock, services: openServices(config) }
  const actor = operator()
  const caller = { kind: 'operator', role: 'admin', actor, by: actor } as const
  await perform(performer, accountsCreate, caller, { name: operatorAccountName })
  // The first account is the one that the link opens.
  for (const [email, name] of [
    [developer, accountName],
    [developer, secondAccountName],
    [demoOperator, operatorAccountName],
  ] as const) {
    const account = await findAccount(db, name)
    if (account !== undefined)
      await db.transaction((tx) => addOwner(tx, { accountId: account.id, email }, clock()))
  }
  await perform(performer, operatorsGrant, caller, { email: demoOperator, role: 'admin' })
  const linkOf = async (email: string, isForConsole: boolean) => {
    const made = await perform(performer, usersSignInLink, caller, { email, console: isForConsole })
    return 'refusal' in made ? null : made.output.url
  }
  return { developer: await linkOf(developer, false), operator: await linkOf(demoOperator, true) }
}

async function addOwner(
  tx: Tx,
  { accountId, email }: { accountId: string; email: string },
  now: Date,
): Promise<void> {
  const details = { account: accountId, role: 'owner' } as const
  const member = { accountId, email, role: details.role }
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
