/**
 * The publisher: every revocation reaches its list despite concurrency, and a list that is not due
 * is not published.
 */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { contextAt } from '../../test/support/build/actions.ts'
import { issuedAt, type Json, now, origin, signerOf } from '../../test/support/build/credentials.ts'
import {
  bitIn,
  gatedDb,
  issueOne,
  issuer,
  keySince,
  newScores,
  revokeNow,
  testRegistry,
} from '../../test/support/build/registry.ts'
import { createSigningKey, rotateSigningKeys } from '../../test/support/build/signing-keys.ts'
import { peerStatusBit, verifierSuite } from '../../test/support/oracle/peer.ts'
import type { CredentialName } from './credential-name.ts'
import { type IssuedCredential, issueCredentials, tendLists } from './issue.ts'
import { originOf } from './payload.ts'
import { publishDueLists } from './publish-lists.ts'
import { listRefreshSeconds } from './status-list.ts'

const registry = await testRegistry()
const { db, client } = registry
after(() => registry.drop())

beforeEach(() => publishDueLists(db, issuer, issuedAt))

/** Before the refresh time of any list. */
const soon = new Date(issuedAt.getTime() + 60_000)

interface ListRow {
  list_id: string
  revision: string
  published_revision: string
  publication: string
  payload: string
  proofs: Json
  refresh_at: Date
}

async function listOf({ credential }: IssuedCredential): Promise<ListRow> {
  const listId = String(credential.credentialStatus.statusListCredential).split('/').at(-1)
  const { rows } = await client.query('select * from status_lists where list_id = $1', [listId])
  return rows[0]
}

function bitOf({ payload }: ListRow, { credential }: IssuedCredential): boolean {
  return bitIn(JSON.parse(payload), credential)
}

function namesOf(...issued: IssuedCredential[]): CredentialName[] {
  return issued.map(({ vcSha256 }) => ({ by: 'digest', bytes: Buffer.from(vcSha256, 'hex') }))
}

async function publications(): Promise<number[]> {
  const { rows } = await client.query(
    'select publication::int as n from status_lists order by list_id',
  )
  return rows.map((row): number => row.n)
}

test('a new list is published at once, with no bit set', async () => {
  const issued = await issueOne(db)
  assert.equal(bitOf(await listOf(issued), issued), false)
})

test('a revocation sets its bit, and only its list is published again', async () => {
  const [revoked, active] = [await issueOne(db), await issueOne(db)]
  const before = await publications()
  await revokeNow(contextAt(db, now), namesOf(revoked))
  assert.equal(await publishDueLists(db, issuer, soon), 1)
  assert.equal(bitOf(await listOf(revoked), revoked), true)
  assert.equal(bitOf(await listOf(active), active), false)
  const after = await publications()
  const grown = after.filter((n, i) => n !== before[i])
  assert.equal(grown.length, 1)
  assert.equal(await publishDueLists(db, issuer, soon), 0, 'nothing is due any more')
})

test('oracle: the reference library reads the stored lists of a revoked and an active credential', async () => {
  const [revoked, active] = [await issueOne(db), await issueOne(db)]
  await revokeNow(contextAt(db, now), namesOf(revoked))
  const at = new Date()
  await publishDueLists(db, issuer, at)
  await client.query('update status_lists set refresh_at = $1', [at])
  await publishDueLists(db, issuer, at)
  for (const form of ['eddsa-rdfc-2022', 'eddsa-jcs-2022'] as const)
    for (const [issued, bit] of [
      [revoked, true],
      [active, false],
    ] as const) {
      const { payload, proofs } = await listOf(issued)
      const list = { ...JSON.parse(payload), proof: proofs[form] }
      assert.equal(
        await peerStatusBit({ ...issued.credential }, list, await verifierSuite(form)),
        bit,
      )
    }
})

test('a list is published again at its refresh time, six hours after the last publication at most', async () => {
  assert.equal(await publishDueLists(db, issuer, issuedAt), 0)
  const { rows } = await client.query(`
    update status_lists set refresh_at = refresh_at - interval '1 millisecond'
    where list_id = (select list_id from status_lists order by refresh_at limit 1)
    returning refresh_at as at`)
  const justBefore = new Date(rows[0].at.getTime() - 1)
  assert.equal(await publishDueLists(db, issuer, justBefore), 0)
  assert.equal(await publishDueLists(db, issuer, rows[0].at), 1)
  const evening = new Date(rows[0].at.getTime() + listRefreshSeconds * 1_000)
  assert.equal(await publishDueLists(db, issuer, evening), 4)
})

test('an expired list is not published again', async () => {
  const [, listId] = await tendLists(db, issuer, now)
  const death =
    'update status_lists set closed_at = $1, dies_at = $1, revision = revision + 1 where list_id = $2'
  await client.query(death, [soon, listId])
  assert.equal(await publishDueLists(db, issuer, soon), 0)
  await client.query('update status_lists set closed_at = null, dies_at = null')
  assert.equal(await publishDueLists(db, issuer, soon), 1)
})

test('four concurrent publishers publish each list once', async () => {
  const before = await publications()
  await client.query('update status_lists set refresh_at = $1', [issuedAt])
  const counts = await Promise.all(
    Array.from({ length: 4 }, () => publishDueLists(db, issuer, issuedAt)),
  )
  assert.equal(
    counts.reduce((a, b) => a + b),
    before.length,
  )
  assert.deepEqual(
    await publications(),
    before.map((n) => n + 1),
  )
})

test('issuing into a list delays neither a revocation nor the publication of the same list', async () => {
  const revoked = await issueOne(db)
  await db.transaction(async (tx) => {
    // Enough credentials for an index in every list.
    await issueCredentials(tx, issuer, newScores(200))
    await revokeNow(contextAt(db, now), namesOf(revoked))
    assert.equal(await publishDueLists(db, issuer, soon), 1)
  })
  assert.equal(bitOf(await listOf(revoked), revoked), true)
})

test('a publication does not delay issuing', async () => {
  await client.query('update status_lists set refresh_at = $1', [issuedAt])
  let statements = 0
  const slow = gatedDb(db, async () => {
    // The publisher holds the lock of a list now.
    if (++statements === 2)
      await db.transaction((tx) => issueCredentials(tx, issuer, newScores(200)))
  })
  assert.equal(await publishDueLists(slow, issuer, issuedAt), 4)
})

/** Returns every interleaving of `a` steps of one transaction and `b` steps of the other. */
function interleavings(a: number, b: number): string[] {
  if (a === 0) return ['b'.repeat(b)]
  if (b === 0) return ['a'.repeat(a)]
  return [
    ...interleavings(a - 1, b).map((rest) => `a${rest}`),
    ...interleavings(a, b - 1).map((rest) => `b${rest}`),
  ]
}

/** Runs a transaction one statement at a time. */
function stepped(run: (gate: () => Promise<void>) => Promise<unknown>) {
  let open: (() => void) | undefined
  let isFree = false
  let isDone = false
  const gate = () =>
    isFree
      ? Promise.resolve()
      : new Promise<void>((resolve) => {
          open = resolve
        })
  const done = run(gate).finally(() => {
    isDone = true
  })
  const isAtRest = async () => isDone || open !== undefined || (await waitsForLock())
  return {
    done,
    /** Runs one statement until it is answered or waits for a lock of the other transaction. */
    async step() {
      while (!(await isAtRest())) await new Promise(setImmediate)
      open?.()
      open = undefined
      while (!(await isAtRest())) await new Promise(setImmediate)
    },
    finish() {
      isFree = true
      open?.()
      return done
    },
  }
}

async function waitsForLock(): Promise<boolean> {
  const { rows } = await client.query(
    `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows.length > 0
}

test('in every interleaving of a revocation and a publication, a list that is not due shows every revocation', async () => {
  // Publisher: take, keys, indexes, update, commit. Revoker: find, mark, raise, commit.
  const orders = interleavings(5, 4)
  assert.equal(orders.length, 126)
  for (const order of orders) {
    const issued = await issueOne(db)
    const { list_id: listId } = await listOf(issued)
    await client.query('update status_lists set refresh_at = $1 where list_id = $2', [
      issuedAt,
      listId,
    ])
    const publisher = stepped((gate) => publishDueLists(gatedDb(db, gate), issuer, issuedAt))
    const revoker = stepped((gate) => revokeNow(contextAt(gatedDb(db, gate), now), namesOf(issued)))
    for (const letter of order) await (letter === 'a' ? publisher : revoker).step()
    await Promise.all([publisher.finish(), revoker.finish()])
    const list = await listOf(issued)
    const isDue = list.revision !== list.published_revision
    assert.ok(
      isDue || bitOf(list, issued),
      `${order}: published without the revocation, and not due`,
    )
    await publishDueLists(db, issuer, issuedAt)
    assert.equal(bitOf(await listOf(issued), issued), true, order)
  }
})

test('100 revocations set their bits while two publishers run', async () => {
  const issued = await Promise.all(Array.from({ length: 100 }, () => issueOne(db)))
  const work = { goesOn: true }
  const publishers = Array.from({ length: 2 }, async () => {
    while (work.goesOn) await publishDueLists(db, issuer, soon)
  })
  await Promise.all(issued.map((one) => revokeNow(contextAt(db, now), namesOf(one))))
  work.goesOn = false
  await Promise.all(publishers)
  await publishDueLists(db, issuer, soon)
  for (const one of issued) assert.equal(bitOf(await listOf(one), one), true)
})

test('a list keeps its issuer: a publisher signs lists of another origin only if it is a former origin', async () => {
  const moved = originOf('https://moved.example.org')
  const by = { ...issuer, origin: moved }
  const before = await issueOne(db)
  const after = await issueOne(db, {}, by)
  await revokeNow(contextAt(db, now), namesOf(before, after))
  const issuerIn = async (issued: IssuedCredential) =>
    JSON.parse((await listOf(issued)).payload).issuer
  assert.equal(await publishDueLists(db, by, soon), 1)
  assert.equal(bitOf(await listOf(before), before), false, 'its issuer is not listed')
  assert.equal(await publishDueLists(db, { ...by, formerOrigins: [origin] }, soon), 1)
  assert.equal(await publishDueLists(db, { ...issuer, formerOrigins: [moved] }, soon), 0)
  for (const [issued, { issuer }] of [
    [before, origin],
    [after, moved],
  ] as const) {
    assert.equal(bitOf(await listOf(issued), issued), true)
    assert.equal(await issuerIn(issued), issuer)
  }
})

test('a publisher whose key is not active publishes nothing, and the lists stay due', async () => {
  await createSigningKey(contextAt(db, keySince), signerOf(8).kid)
  await rotateSigningKeys(contextAt(db, now), { atOnce: true })
  await client.query('update status_lists set refresh_at = $1', [issuedAt])
  await assert.rejects(publishDueLists(db, issuer, issuedAt), /is retired, not active/)
  const renewed = await publishDueLists(db, { origin, signer: signerOf(8) }, issuedAt)
  assert.equal(renewed, 4)
})
