/** The demo in a process: made where it is not there yet, and the receiver that its webhooks go to. */

import { findAccount } from '../access/store.ts'
import { linkUrl } from '../accounts/sign-in.ts'
import { inviteUser, printLink } from '../accounts/users.ts'
import { operator } from '../audit/record.ts'
import { accountName } from '../demo/account.ts'
import { prepareDemo } from '../demo/prepare.ts'
import { openDemoReceiver } from '../demo/receiver.ts'
import { systemClock } from '../platform/clock.ts'
import type { Keyring } from '../platform/crypto/keyring.ts'
import { openDb } from '../platform/db/db.ts'
import type { ServiceParts } from './http-app.ts'
import { peppersMade } from './peppers.ts'
import type { DeliveringParts } from './webhooks.ts'

/** Who makes it holds the lock of the keys for a second or two, longer than a request would wait: so it has connections of its own. */
export async function demoHere(parts: ServiceParts, url: string): Promise<boolean> {
  const { config, log, engine } = parts
  const db = openDb({
    url,
    connectionsMax: 2,
    pooling: config.databasePooling,
    applicationName: 'assay demo',
    statementTimeoutMs: 0,
    onError: (error) => log.warn('a database connection was lost', { why: error.message }),
  })
  const peppers = (): Promise<Keyring> => peppersMade(config)
  const options = { config, db, log, engine: engine.engine, peppers, now: systemClock() }
  try {
    return await prepareDemo(options)
  } finally {
    await db.close()
  }
}

const demoUser = 'developer@example.com'

/** Makes the user of the demo, once, and returns a URL that signs the user in, or null if the user was disabled. */
export async function demoSignInLink({ config, db, clock }: ServiceParts): Promise<string | null> {
  const context = { db, actor: operator(), clock }
  const account = await findAccount(db, accountName)
  if (account === undefined) return null
  const member = { email: demoUser, name: null, accountId: account.id, role: 'owner' } as const
  await inviteUser(context, { ...member, isMailed: false })
  const link = await printLink(context, demoUser)
  return link.outcome === 'made' ? linkUrl(config.publicUrl, link.token) : null
}

/** Undefined where there is nobody to send to. `say` tells what arrives. */
export async function demoReceiver(
  { config, db, clock, secrets: ring }: ServiceParts,
  closing: AsyncDisposableStack,
  say: (text: string) => void,
): Promise<DeliveringParts['around']> {
  if (ring === null) return undefined
  const activeMax = config.webhookEndpointsMax
  const receiver = await openDemoReceiver({ db, clock, ring, activeMax, say })
  closing.defer(() => receiver?.close())
  return receiver?.reachedBeside
}
