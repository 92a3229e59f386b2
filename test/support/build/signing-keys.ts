/** Changes of signing keys at the time of a context, each in a transaction of its own. */
import * as verbs from '../../../src/credentials/rotate-keys.ts'
import type { SigningKey } from '../../../src/credentials/trust.ts'
import type { BatchContext } from '../../../src/operations/ingest.ts'

export async function createSigningKey(
  { db, clock }: BatchContext,
  kid: string,
): Promise<SigningKey> {
  const { key } = await db.transaction((tx) => verbs.createSigningKey(tx, kid, clock()))
  return key
}

export function rotateSigningKeys({ db, clock }: BatchContext, { atOnce }: { atOnce: boolean }) {
  return db.transaction((tx) => verbs.rotateSigningKeys(tx, { atOnce, now: clock() }))
}

export function revokeSigningKey(
  { db, clock }: BatchContext,
  kid: string,
  { keepCredentials = false }: { keepCredentials?: boolean } = {},
): Promise<boolean> {
  return db.transaction((tx) => verbs.revokeSigningKey(tx, kid, { keepCredentials, now: clock() }))
}
