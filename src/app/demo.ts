/** Prepares the demo for a serving process and starts the receiver of its webhooks. */
import { findAccount } from '../access/store.ts'
import { addMember } from '../accounts/members.ts'
import { linkUrl } from '../accounts/sign-in.ts'
import { printLink } from '../accounts/users.ts'
import { operator } from '../audit/record.ts'
import { withSearchIndex } from '../candidates/search-indexer.ts'
import { accountName } from '../demo/account.ts'
import { prepareDemo } from '../demo/prepare.ts'
import { openDemoReceiver } from '../demo/receiver.ts'
import { secondAccountName } from '../demo/story.ts'
import { systemClock } from '../platform/clock.ts'
import { openDb } from '../platform/db/db.ts'
import type { ServiceOptions } from './http-app.ts'
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
  const context = { db, actor: operator(), clock }
  const account = await findAccount(db, accountName)
  if (account === undefined) return null
  const member = { email: demoUser, role: 'owner' } as const
  // The first account is the one that the link opens.
  await addMember(context, { ...member, accountId: account.id })
  const second = await findAccount(db, secondAccountName)
  if (second !== undefined) await addMember(context, { ...member, accountId: second.id })
  const link = await printLink(context, demoUser)
  return link.outcome === 'made' ? linkUrl(config.publicUrl, link.token) : null
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
