import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from '../../test/support/oracle/fc.ts'
import { type Entry, followChain, genesis, type Head, hashOf } from './chain.ts'

function entryAfter(head: Head, over: Partial<Entry> = {}): Entry {
  const entry = {
    seq: head.seq + 1,
    at: '2026-05-14T09:00:00.750Z',
    actor: 'ada@assay-1',
    action: 'keys.revoked',
    subjects: '["a"]',
    details: '{}',
    prevHash: head.hash,
    ...over,
  }
  return { ...entry, hash: over.hash ?? hashOf(entry) }
}

function chainOf(length: number): Entry[] {
  const entries: Entry[] = []
  for (let head: Head = genesis; entries.length < length; head = entries.at(-1) ?? genesis)
    entries.push(entryAfter(head))
  return entries
}

test('the hash is SHA-256 of the documented text, so that another program can compute it', () => {
  const text =
    '{"action":"keys.revoked","actor":"ada@assay-1","at":"2026-05-14T09:00:00.750Z","details":"{}",' +
    `"prevHash":"${'0'.repeat(64)}","seq":1,"subjects":"[\\"a\\"]"}`
  const { hash } = entryAfter(genesis)
  assert.equal(hash, createHash('sha256').update(text).digest('hex'))
})

test('a chain that is verified in pages of any length gives the same head', () => {
  const entries = chainOf(20)
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 21 }), (length) => {
      let head = genesis
      for (let from = 0; from < entries.length; from += length) {
        const followed = followChain(head, entries.slice(from, from + length))
        assert.ok('head' in followed)
        head = followed.head
      }
      assert.deepEqual(head, { seq: 20, hash: entries.at(-1)?.hash })
    }),
  )
})

test('a change of any field of any entry is found at that entry', () => {
  const field = fc.constantFrom(
    'at',
    'actor',
    'action',
    'subjects',
    'details',
    'prevHash',
    'hash',
  ) satisfies fc.Arbitrary<keyof Entry>
  fc.assert(
    fc.property(fc.nat(9), field, fc.string(), (place, name, value) => {
      const entries = chainOf(10)
      const entry = entries[place] as Entry
      fc.pre(entry[name] !== value)
      entries[place] = { ...entry, [name]: value }
      const followed = followChain(genesis, entries)
      assert.ok('broken' in followed)
      assert.equal(followed.broken.seq, place + 1)
    }),
  )
})

test('an altered entry with a correct hash of its own is found, because the next entry does not follow it', () => {
  const entries = chainOf(3)
  entries[1] = entryAfter(entries[0] as Entry, { actor: 'eve@assay-1' })
  assert.deepEqual(followChain(genesis, entries), {
    broken: { seq: 3, reason: 'it does not follow the entry before it' },
  })
})

test('a missing entry is named: the first, one in the middle, or several at once', () => {
  for (const [first, count] of [
    [1, 1],
    [4, 1],
    [4, 3],
  ] as const) {
    const entries = chainOf(9)
    entries.splice(first - 1, count)
    assert.deepEqual(followChain(genesis, entries), {
      broken: { seq: first, reason: 'it is missing' },
    })
  }
})

test('a number below the first, or a number that occurs twice, is named', () => {
  const [one] = chainOf(1) as [Entry]
  const zero = entryAfter({ seq: -1, hash: genesis.hash })
  for (const entries of [
    [zero, one],
    [one, one],
  ]) {
    const followed = followChain(genesis, entries)
    assert.ok('broken' in followed)
    assert.equal(followed.broken.seq, entries[1] === entries[0] ? 1 : 0)
  }
})
