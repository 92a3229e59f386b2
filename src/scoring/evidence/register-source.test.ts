import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { signerOf } from '../../../test/support/build/credentials.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { base58Encode } from '../../platform/crypto/bytes.ts'
import { sql } from '../../platform/db/db.ts'
import { findSources, registerSource } from './register-source.ts'
import { type SourceLine, sourceKindNames, sourceKinds } from './schema.ts'
import { readSourceLine, sourceOf } from './source-line.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())

const now = new Date('2026-05-14T09:00:00Z')
const by = { actor: 'ada', now }
const acme: SourceLine = { id: 'acme', name: 'Acme', kind: 'organisation', group: 'acme-group' }

async function register(line: SourceLine) {
  const answer = await db.transaction((tx) => registerSource(tx, line, by))
  return 'refused' in answer ? 'refused' : answer.result
}

const history = (id: string) =>
  db.rows<{ number: number; assurance: number; actor: string }>(sql`
    select number, assurance, actor from source_changes where source_id = ${id} order by number`)

test('a source is registered once, later lines change the fields that differ, and every change is recorded', async () => {
  const outcomes = []
  for (const over of [{}, {}, { assurance: 500 }, { assurance: 500 }, { name: 'Acme Ltd' }])
    outcomes.push(await register({ ...acme, ...over }))
  assert.deepEqual(outcomes, ['registered', 'unchanged', 'changed', 'unchanged', 'changed'])
  assert.deepEqual(await history('acme'), [
    { number: 1, assurance: 700, actor: 'ada' },
    { number: 2, assurance: 500, actor: 'ada' },
    { number: 3, assurance: 700, actor: 'ada' },
  ])
  const [found] = await findSources(db, { after: '', limit: 1_000 })
  assert.deepEqual(found, {
    id: 'acme',
    name: 'Acme Ltd',
    kind: 'organisation',
    assurance: 700,
    group: 'acme-group',
    issuer: null,
    publicKeys: [],
    registeredAt: now,
    changedAt: now,
    suspendedAt: null,
  })
})

test('a change of kind, trust, group, issuer or keys takes effect from then on', async () => {
  const [before, after] = [27, 28].map((byte) => signerOf(byte).kid)
  assert.ok(before !== undefined && after !== undefined)
  const first = { ...acme, id: 'aaa', issuer: 'did:web:acme.example', publicKeys: [before] }
  await register(first)
  const changes: readonly Partial<SourceLine>[] = [
    { publicKeys: [after] },
    { publicKeys: [after], issuer: 'did:web:new.example' },
    { publicKeys: [after], kind: 'accredited', assurance: 700 },
    { publicKeys: [after], group: 'others' },
  ]
  for (const [i, over] of changes.entries()) {
    const changedAt = new Date(now.getTime() + (i + 1) * 1_000)
    const line = { ...first, ...over }
    const answer = await db.transaction((tx) => registerSource(tx, line, { ...by, now: changedAt }))
    assert.equal('result' in answer && answer.result, 'changed')
    const sources = await findSources(db, { after: '', limit: 1_000 })
    assert.deepEqual(
      sources.map(({ id }) => id),
      sources.map(({ id }) => id).sort(),
    )
    assert.deepEqual(sources[0], {
      assurance: 700,
      ...line,
      registeredAt: now,
      changedAt,
      suspendedAt: null,
    })
  }
})

test('the history of a source only grows', async () => {
  await register({ ...acme, id: 'kept' })
  for (const change of [
    sql`update source_changes set assurance = 1 where source_id = 'kept'`,
    sql`delete from source_changes where source_id = 'kept'`,
  ])
    await assert.rejects(db.run(change), /the history of a source is append-only/)
})

test('eight registrations of one source at once: one row, and a history without a gap', async () => {
  const lines = Array.from({ length: 8 }, (_, i) => ({ ...acme, id: 'busy', assurance: i * 100 }))
  const answers = await Promise.all(lines.map((line) => register(line)))
  assert.equal(answers.filter((result) => result === 'registered').length, 1)
  assert.deepEqual(
    (await history('busy')).map(({ number }) => number),
    [1, 2, 3, 4, 5, 6, 7, 8],
  )
})

test('an assurance from 1 to 99 is refused, because so light a result can drift a score', () => {
  const line = { id: 'light', name: 'Light', kind: 'organisation', group: 'light' } as const
  for (const assurance of [1, 99]) {
    const refused = {
      field: 'assurance',
      reason: `is ${assurance}: use 0, or a number from 100 on`,
    }
    assert.deepEqual(sourceOf({ ...line, assurance }), { refused })
  }
  for (const assurance of [0, 100]) assert.ok(!('refused' in sourceOf({ ...line, assurance })))
})

test('the assurance of a source is at most the maximum of its kind, which is also the default', () => {
  for (const kind of sourceKindNames) {
    const { assuranceMax, group: shared } = sourceKinds[kind]
    const line = { ...acme, kind, group: shared ?? 'acme-group' }
    const read = sourceOf(line)
    assert.ok(!('refused' in read) && read.assurance === assuranceMax)
    const most = sourceOf({ ...line, assurance: assuranceMax })
    assert.ok(!('refused' in most))
    const more = sourceOf({ ...line, assurance: assuranceMax + 1 })
    assert.ok('refused' in more && more.refused.field === 'assurance', kind)
  }
  const most = sourceKindNames.map((kind) => sourceKinds[kind].assuranceMax)
  assert.deepEqual(most, [0, 100, 400, 700, 1_000, 1_000])
})

test('unverified peers share one group, which no other kind may use; sources of other kinds name their group', () => {
  const { group: _, ...groupless } = acme
  const peer = sourceOf({ ...groupless, kind: 'unverified_peer' })
  assert.ok(!('refused' in peer) && peer.group === 'unverified-peers')
  const refusals = [
    { ...acme, kind: 'unverified_peer', group: 'my-own' } as const,
    { ...acme, group: 'unverified-peers' },
    { ...acme, group: 'self' },
    groupless,
  ].map(sourceOf)
  for (const read of refusals) assert.ok('refused' in read && read.refused.field === 'group')
})

const wrong: readonly [field: string | null, line: unknown][] = [
  ['id', { ...acme, id: 'Acme' }],
  ['id', { ...acme, id: 'a--b' }],
  ['id', { ...acme, id: 'a'.repeat(65) }],
  ['name', { ...acme, name: '' }],
  ['name', { ...acme, name: 'a\nb' }],
  ['name', { id: 'acme', kind: 'organisation', group: 'g' }],
  ['kind', { ...acme, kind: 'friend' }],
  ['assurance', { ...acme, assurance: 1_001 }],
  ['assurance', { ...acme, assurance: 0.5 }],
  ['assurance', { ...acme, assurance: '700' }],
  ['owner', { ...acme, owner: 'x' }],
  ['issuer', { ...acme, issuer: 'http://acme.example' }],
  ['issuer', { ...acme, issuer: 'acme' }],
  [null, []],
  [null, 'acme'],
]

test('an invalid source line is refused with its field', () => {
  for (const [field, line] of wrong) {
    const read = readSourceLine(line)
    assert.ok('refused' in read && read.refused.field === field, JSON.stringify(line))
  }
  assert.ok(!('refused' in readSourceLine(acme)))
})

test('a source that sends badges has an issuer and keys, and every key is valid', async () => {
  const key = 'z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK'
  const own = sourceOf({ ...acme, issuer: `did:key:${key}` })
  assert.ok(!('refused' in own))
  assert.deepEqual(own.publicKeys, [key])
  const web = { ...acme, id: 'badges', issuer: 'did:web:acme.example' }
  const smallOrder = `z${base58Encode(Buffer.from([0xed, 0x01, 1, ...Buffer.alloc(31)]))}`
  const wrong: readonly [line: SourceLine, reason: RegExp][] = [
    [web, /are missing/],
    [{ ...acme, publicKeys: [key] }, /name the issuer/],
    [{ ...web, publicKeys: [key, smallOrder] }, /no sound/],
    [{ ...acme, issuer: 'did:key:zDnaOther' }, /no sound/],
  ]
  for (const [line, reason] of wrong) {
    const read = sourceOf(line)
    assert.ok('refused' in read && read.refused.field === 'publicKeys')
    assert.match(read.refused.reason, reason)
  }
  for (const keys of [[], [key, key], Array.from({ length: 17 }, (_, i) => variantOf(key, i))]) {
    const read = readSourceLine({ ...web, publicKeys: keys })
    assert.ok('refused' in read && /1 to 16 different/.test(read.refused.reason))
  }
  assert.equal(await register({ ...web, publicKeys: [key] }), 'registered')
  assert.equal(await register({ ...web, publicKeys: [key] }), 'unchanged')
  assert.equal(
    await register({ ...web, issuer: 'did:web:new.example', publicKeys: [key] }),
    'changed',
  )
  const kept = await db.rows(sql`
    select issuer, public_keys as keys from source_changes where source_id = 'badges' order by number`)
  assert.deepEqual(kept, [
    { issuer: 'did:web:acme.example', keys: [key] },
    { issuer: 'did:web:new.example', keys: [key] },
  ])
})

/** Returns another text in the form of a key. */
function variantOf(key: string, number: number): string {
  return `${key.slice(0, -1)}${'ABCDEFGHJKLMNPQRST'.charAt(number)}`
}
