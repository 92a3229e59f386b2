/**
 * The public gate in the database, over every combination of facts and changes from every table.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { giveScore } from '../../../test/support/build/candidates.ts'
import { now, publicLine, register } from '../../../test/support/build/workers.ts'
import { inTurn } from '../../../test/support/fault/in-turn.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { sha256Hex } from '../../platform/crypto/bytes.ts'
import { type Queryable, type Statement, sql, type Tx } from '../../platform/db/db.ts'
import { recordConsents } from '../consent.ts'
import { readable } from '../gate.ts'
import type { Permission } from '../schema.ts'
import {
  findBySnapshot,
  findByUsername,
  findIssuedBySnapshot,
  findIssuedByUsername,
} from './reads.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())

const username = 'ada'
await register(db, [publicLine({ username }), publicLine({ username: 'bob' })])
await giveScore(db, 'bob', 'b0'.repeat(32))
const [{ workerId } = { workerId: '' }] = await db.rows<{ workerId: string }>(sql`
  select worker_id as "workerId" from profiles where username = ${username}`)

const identities = ['none', 'pending', 'verified', 'expired', 'revoked'] as const

interface Facts {
  onboarded: boolean
  public_profile: boolean
  search_listing: boolean
  score_sharing: boolean
  identity: (typeof identities)[number]
  snapshotActive: boolean
  restricted: boolean
}

let scores = 0
/** The registration made two changes. */
let identityChanges = 2
let scoreId = '0'.repeat(64)

/** Each change is one statement on one table, as any program may write it. */
const changes: { [Name in keyof Facts]: (to: Facts[Name]) => Promise<unknown> } = {
  onboarded: (to) =>
    db.run(sql`update workers set onboarded_at = ${to ? now : null} where id = ${workerId}`),
  public_profile: (to) => consent('public_profile', to),
  search_listing: (to) => consent('search_listing', to),
  score_sharing: (to) => consent('score_sharing', to),
  async identity(to) {
    if (to === 'none') return db.run(sql`delete from identities where worker_id = ${workerId}`)
    const state = to === 'expired' ? 'verified' : to
    const until = { verified: new Date(now.getTime() + 1), expired: now }[to as string] ?? null
    return db.run(sql`
      with changed as (
        insert into identity_changes (worker_id, change, state, verified_until, actor, changed_at)
        values (${workerId}, ${++identityChanges}, ${state}, ${until}, 'test',
          ${new Date(now.getTime() - 1)})
        returning *
      )
      insert into identities (worker_id, state, verified_until, change)
      select worker_id, state, verified_until, change from changed
      on conflict (worker_id) do update set state = excluded.state,
        verified_until = excluded.verified_until, change = excluded.change`)
  },
  snapshotActive(to) {
    if (to) {
      scoreId = (++scores).toString(16).padStart(64, '0')
      return giveScore(db, username, scoreId)
    }
    return db.run(sql`
      update score_snapshots set state = 'superseded', ended_at = ${now}
      where worker_id = ${workerId} and state = 'active'`)
  },
  restricted: (to) =>
    to
      ? db.run(sql`
          insert into disputes (id, worker_id, kind, state, restricted, opened_at, due_at)
          values (${crypto.randomUUID()}, ${workerId}, 'identity', 'open', true, ${now}, 'infinity')`)
      : db.run(sql`
          update disputes set state = 'withdrawn', ended_at = ${now}
          where worker_id = ${workerId} and state = 'open'`),
}

function consent(permission: Permission, granted: boolean, tx?: Tx): Promise<unknown> {
  const request = { workerId, permission, textVersion: granted ? '1' : null }
  const change = (inside: Tx) => recordConsents(inside, [request], { by: 'test', at: now })
  return tx === undefined ? db.transaction(change) : change(tx)
}

const flags = [false, true] as const
const combinations = flags.flatMap((onboarded) =>
  flags.flatMap((public_profile) =>
    flags.flatMap((search_listing) =>
      flags.flatMap((score_sharing) =>
        identities.flatMap((identity) =>
          flags.flatMap((snapshotActive) =>
            flags.map((restricted): Facts => {
              const consents = { public_profile, search_listing, score_sharing }
              return { onboarded, ...consents, identity, snapshotActive, restricted }
            }),
          ),
        ),
      ),
    ),
  ),
)

/** The facts of a newly registered worker. */
const held: Facts = {
  onboarded: true,
  public_profile: true,
  search_listing: true,
  score_sharing: true,
  identity: 'verified',
  snapshotActive: false,
  restricted: false,
}

async function moveTo(wanted: Facts): Promise<void> {
  for (const name of Object.keys(changes) as (keyof Facts)[]) {
    if (held[name] === wanted[name]) continue
    await changes[name](wanted[name] as never)
    Object.assign(held, { [name]: wanted[name] })
  }
}

test('the reads return a row exactly if the public gate is open, over all combinations', async () => {
  const mixed = combinations
    .map((facts) => ({ facts, place: sha256Hex(JSON.stringify(facts)) }))
    .sort((a, b) => (a.place < b.place ? -1 : 1))
  for (const { facts } of mixed) {
    await moveTo(facts)
    const { identity, onboarded, snapshotActive, restricted, ...consents } = facts
    const identityActive = identity === 'verified'
    const open = readable({ onboarded, snapshotActive, restricted, consents, identityActive })
    const [profile] = await findByUsername(db, [username], now)
    assert.equal(profile !== undefined, open.detail, JSON.stringify(facts))
    assert.equal((profile?.snapshot ?? null) !== null, open.score, JSON.stringify(facts))
    assert.equal((await findBySnapshot(db, [scoreId], now)).length, open.score ? 1 : 0)
    const issued = [
      await findIssuedBySnapshot(db, [scoreId], now),
      await findIssuedByUsername(db, [username], now),
    ]
    for (const rows of issued) assert.equal(rows.length, open.score ? 1 : 0)
  }
})

const open: Facts = { ...held, identity: 'verified', snapshotActive: true, restricted: false }
const reads: [string, Facts, (from: Queryable) => Promise<unknown>][] = [
  ['a detail without consent', { ...open, public_profile: false }, readDetail],
  ['a detail before onboarding', { ...open, onboarded: false }, readDetail],
  ['a score without a public profile', { ...open, public_profile: false }, readScore],
  ['a score that is not shared', { ...open, score_sharing: false }, readScore],
  ['a score whose identity check expired', { ...open, identity: 'expired' }, readScore],
  ['a score in dispute', { ...open, restricted: true }, readScore],
  ['a score that ended', { ...open, snapshotActive: false }, readScore],
  ['a credential that is not shared', { ...open, score_sharing: false }, readCredential],
  ['a credential whose identity check expired', { ...open, identity: 'expired' }, readCredential],
  ['a credential of a score in dispute', { ...open, restricted: true }, readCredential],
  ['a credential without a public profile', { ...open, public_profile: false }, readCredentialOf],
]
let asked = { username, scoreId }

function readDetail(from: Queryable): Promise<unknown> {
  return findByUsername(from, [asked.username], now)
}
function readScore(from: Queryable): Promise<unknown> {
  return findBySnapshot(from, [asked.scoreId], now)
}
function readCredential(from: Queryable): Promise<unknown> {
  return findIssuedBySnapshot(from, [asked.scoreId], now)
}
function readCredentialOf(from: Queryable): Promise<unknown> {
  return findIssuedByUsername(from, [asked.username], now)
}

for (const [what, facts, read] of reads)
  test(`${what}: the database does the same work as for an absent row`, async () => {
    await moveTo({ ...open })
    asked = { username, scoreId }
    const shown = await workOf(read)
    await moveTo(facts)
    // Before a vacuum, an index may still hold the entry of the deleted row.
    await db.run(sql`vacuum readable_profiles, readable_scores`)
    const hidden = await workOf(read)
    asked = { username: 'nobody', scoreId: 'f'.repeat(64) }
    assert.deepEqual(hidden, await workOf(read))
    assert.notDeepEqual(hidden, shown)
  })

interface PlanNode {
  'Node Type': string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: PlanNode[]
}

/**
 * Returns for each step of the plan its runs, the rows it returned and the rows it filtered out.
 */
async function workOf(read: (from: Queryable) => Promise<unknown>): Promise<unknown[]> {
  let work: unknown[] = []
  const explaining = {
    ...db,
    async rows<Row>(statement: Statement): Promise<Row[]> {
      const text = `explain (analyze, timing off, summary off, format json) ${statement.text}`
      const [row] = await db.rows<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>({
        ...statement,
        name: '',
        text,
      })
      assert.ok(row !== undefined)
      work = stepsOf(row['QUERY PLAN'][0].Plan)
      return []
    },
  }
  await read(explaining)
  return work
}

function stepsOf(node: PlanNode): unknown[] {
  const { 'Node Type': type, 'Actual Rows': rows, 'Actual Loops': loops } = node
  const own = [type, rows, loops, node['Rows Removed by Filter'] ?? 0]
  return [own, ...(node.Plans ?? []).flatMap(stepsOf)]
}

test('a score issued while another transaction withdraws the consent is not public', async () => {
  await moveTo({ ...open, snapshotActive: false })
  scoreId = 'cc'.repeat(32)
  await inTurn(
    db,
    (tx) => consent('score_sharing', false, tx),
    () => giveScore(db, username, scoreId),
  )
  assert.deepEqual(await findBySnapshot(db, [scoreId], now), [])
  await consent('score_sharing', true)
  assert.equal((await findBySnapshot(db, [scoreId], now)).length, 1)
})
