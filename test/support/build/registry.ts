/**
 * A registry of score credentials in its own database. The vector's key is active and status lists
 * are open.
 */
import { gunzipSync } from 'node:zlib'
import { Client } from 'pg'
import type { CredentialName } from '../../../src/credentials/credential-name.ts'
import {
  type IssuedCredential,
  type Issuer,
  issueCredentials,
  type NewCredential,
  tendLists,
} from '../../../src/credentials/issue.ts'
import { findKeys } from '../../../src/credentials/key-store.ts'
import { type Revocation, revokeCredentials } from '../../../src/credentials/revoke.ts'
import type { VerifyResult } from '../../../src/credentials/schema.ts'
import { signatureCache } from '../../../src/credentials/signature-cache.ts'
import { findStatuses } from '../../../src/credentials/store.ts'
import { trustOf } from '../../../src/credentials/trust.ts'
import { verifyCredential } from '../../../src/credentials/verify.ts'
import type { Clock } from '../../../src/platform/clock.ts'
import { type Db, type Statement, sql, type Tx } from '../../../src/platform/db/db.ts'
import { parseStrictJson } from '../../../src/platform/json/strict-json.ts'
import { type TestDatabase, testDatabase } from '../start/database.ts'
import { contextAt } from './actions.ts'
import {
  inside,
  issuedAt,
  type Json,
  now,
  origin,
  publicUrl,
  score,
  signer,
} from './credentials.ts'
import { createSigningKey } from './signing-keys.ts'

export const issuer: Issuer = { origin, signer, validityDays: 365, supersedeRevokes: false }

/** The vector's key is active since this time. */
export const keySince = new Date('2026-01-01T00:00:00Z')

export interface TestRegistry extends TestDatabase {
  /** A connection without statement timeout, for the SQL of tests. `drop` closes it. */
  client: Client
}

export async function testRegistry(): Promise<TestRegistry> {
  const database = await testDatabase()
  await createSigningKey(contextAt(database.db, keySince), signer.kid)
  await tendLists(database.db, issuer, issuedAt)
  const client = new Client({ connectionString: database.url })
  await client.connect()
  return {
    ...database,
    client,
    drop: async () => {
      await client.end()
      await database.drop()
    },
  }
}

let workers = 0

/** Returns `count` scores, each of another worker. */
export function newScores(count: number, over: Partial<NewCredential> = {}): NewCredential[] {
  return Array.from({ length: count }, () => ({
    ...score({ username: `person-${++workers}` }),
    issuedAt,
    ...over,
  }))
}

export function issue(
  db: Db,
  scores: readonly NewCredential[],
  by: Issuer = issuer,
): Promise<IssuedCredential[]> {
  return db.transaction((tx) => issueCredentials(tx, by, scores))
}

/** Issues one credential. */
export async function issueOne(db: Db, over: Partial<NewCredential> = {}, by: Issuer = issuer) {
  const [issued] = await issue(db, newScores(1, over), by)
  if (issued === undefined) throw new Error('a score gives a credential')
  return issued
}

/** Returns the verdict that a server gives with the keys and the registry of this database. */
export async function liveVerdict(
  db: Db,
  credential: object,
  at: Date = now,
): Promise<VerifyResult> {
  const parsed = parseStrictJson(Buffer.from(JSON.stringify(credential)))
  if (parsed.kind !== 'value') throw new Error(parsed.why)
  return verifyCredential(parsed.value as Json, null, {
    trust: trustOf([publicUrl], await findKeys(db)),
    signatures: signatureCache(),
    now: at,
    statusOf: async (question) => {
      const [status] = await findStatuses(db, [question])
      if (status === undefined) throw new Error('every question has an answer')
      return status
    },
  })
}

interface Listed {
  credentialStatus: Readonly<Record<string, string>>
}

/** Returns the bit of a credential in a status list. */
export function bitIn(list: Json, { credentialStatus }: Listed): boolean {
  const index = Number(credentialStatus.statusListIndex)
  const encoded = String(inside(list, 'credentialSubject').encodedList)
  const bits = gunzipSync(Buffer.from(encoded.slice(1), 'base64url'))
  return (bits.readUInt8(index >> 3) & (0x80 >> (index & 7))) !== 0
}

/** Returns the bit of a credential in its list as last published. */
export async function publishedBit(db: Db, { credential }: IssuedCredential): Promise<boolean> {
  const url = String(credential.credentialStatus.statusListCredential)
  const [list] = await db.rows<{ payload: string }>(sql`
    select payload from status_lists where list_id = ${url.slice(origin.statusListUrlPrefix.length)}`)
  if (list === undefined) throw new Error(`there is no list ${url}`)
  return bitIn(JSON.parse(list.payload), credential)
}

/**
 * Fills the free places of a list, `count` places from `from` on, with filler credentials that
 * belong to no worker.
 */
export async function fillList(
  { client }: TestRegistry,
  listId: string,
  { from, count }: { from: number; count: number },
): Promise<void> {
  await client.query(
    `insert into score_credentials (vc_sha256, status_token, credential_id, subject, list_id,
       list_index, kid, payload, proof, issued_at, valid_until)
     select sha256(($1 || '/' || i)::bytea), sha256(($1 || '/t/' || i)::bytea), gen_random_uuid(),
       'filler/' || $1 || '/' || i, $1, i, $4, '{}', '{}', $5, $5::timestamptz + interval '365 days'
     from generate_series($2::int, $2::int + $3::int - 1) i
     on conflict (list_id, list_index) do nothing`,
    [listId, from, count, signer.kid, issuedAt],
  )
}

/**
 * Returns a database whose transactions wait for `gate` before each statement and before the
 * commit.
 */
export function gatedDb(db: Db, gate: () => Promise<void>): Db {
  const gated = (tx: Tx): Tx => ({
    inTransaction: true,
    rows: async <Row>(statement: Statement) => {
      await gate()
      return tx.rows<Row>(statement)
    },
    run: async (statement) => {
      await gate()
      return tx.run(statement)
    },
  })
  return {
    ...db,
    transaction: (work) =>
      db.transaction(async (tx) => {
        const result = await work(gated(tx))
        await gate()
        return result
      }),
  }
}

/** Revokes the named credentials in a transaction of their own. */
export function revokeNow(
  { db, clock }: { db: Db; clock: Clock },
  names: readonly CredentialName[],
): Promise<Revocation> {
  return db.transaction((tx) => revokeCredentials(tx, names, clock()))
}
