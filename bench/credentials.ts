/** Issued credentials, for benchmarks that verify them. */
import { issueCredentials, tendLists } from '../src/credentials/issue.ts'
import { makeKeyFile, readSigners } from '../src/credentials/key-files.ts'
import { originOf } from '../src/credentials/payload.ts'
import type { Db } from '../src/platform/db/db.ts'
import { contextAt } from '../test/support/build/actions.ts'
import { createSigningKey } from '../test/support/build/signing-keys.ts'
import { publicUrl } from './serving.ts'

/** Returns at least `count` credentials as JSON, signed with a new key in `keysDir`. */
export async function makeCredentials(db: Db, keysDir: string, count: number): Promise<string[]> {
  const kid = await makeKeyFile(keysDir)
  await createSigningKey(contextAt(db), kid)
  const signer = (await readSigners(keysDir)).get(kid)
  if (signer === undefined) throw new Error('the key file is gone')
  const origin = originOf(publicUrl)
  const issuer = { origin, signer, validityDays: 365, supersedeRevokes: false }
  const credentials: string[] = []
  while (credentials.length < count) {
    const first = credentials.length
    const scores = Array.from({ length: 500 }, (_, i) => ({
      username: `person-${first + i}`,
      score: (first + i) % 1_000,
      scoreBand: 'strong',
      confidenceLow: 0,
      confidenceHigh: 1_000,
      evidenceCount: 18,
      engineVersion: '1.4.2',
      engineBinarySha256: 'ab'.repeat(32),
      issuedAt: new Date(),
    }))
    const issued = await db.transaction((tx) => issueCredentials(tx, issuer, scores))
    credentials.push(...issued.map((one) => JSON.stringify(one.credential)))
    if (credentials.length % 10_000 === 0) await tendLists(db, issuer, new Date())
  }
  return credentials
}
