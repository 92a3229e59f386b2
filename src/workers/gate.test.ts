import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type GateFacts, readable } from './gate.ts'

const names = [
  'snapshotActive',
  'onboarded',
  'public_profile',
  'search_listing',
  'score_sharing',
  'identityActive',
  'restricted',
] as const
type Name = (typeof names)[number]
type Row = Record<Name, boolean>

function factsOf(row: Row): GateFacts {
  const { snapshotActive, onboarded, identityActive, restricted, ...consents } = row
  return { snapshotActive, onboarded, identityActive, restricted, consents }
}

const rows = Array.from(
  { length: 2 ** names.length },
  (_, bits): Row =>
    Object.fromEntries(names.map((name, i) => [name, (bits & (1 << i)) !== 0])) as Row,
)

/** Requirements of each read, as decision D33 states them: [fact, required value]. */
const needs: Record<keyof ReturnType<typeof readable>, readonly [Name, boolean][]> = {
  search: [
    ['onboarded', true],
    ['public_profile', true],
    ['search_listing', true],
  ],
  detail: [
    ['onboarded', true],
    ['public_profile', true],
  ],
  score: [
    ['snapshotActive', true],
    ['onboarded', true],
    ['public_profile', true],
    ['score_sharing', true],
    ['identityActive', true],
    ['restricted', false],
  ],
}

test('all 128 combinations: a read is open exactly if every fact it needs has its required value', () => {
  assert.equal(rows.length, 128)
  for (const row of rows)
    for (const [read, needed] of Object.entries(needs))
      assert.equal(
        readable(factsOf(row))[read as keyof typeof needs],
        needed.every(([name, value]) => row[name] === value),
        `${read} of ${JSON.stringify(row)}`,
      )
})

test('each fact alone closes exactly the reads that depend on it', () => {
  const open: Row = {
    snapshotActive: true,
    onboarded: true,
    public_profile: true,
    search_listing: true,
    score_sharing: true,
    identityActive: true,
    restricted: false,
  }
  const closedBy = (name: Name) =>
    Object.entries(readable(factsOf({ ...open, [name]: !open[name] })))
      .filter(([, isOpen]) => !isOpen)
      .map(([read]) => read)
      .sort()
  assert.deepEqual(readable(factsOf(open)), { search: true, detail: true, score: true })
  assert.deepEqual(Object.fromEntries(names.map((name) => [name, closedBy(name)])), {
    snapshotActive: ['score'],
    onboarded: ['detail', 'score', 'search'],
    public_profile: ['detail', 'score', 'search'],
    search_listing: ['search'],
    score_sharing: ['score'],
    identityActive: ['score'],
    restricted: ['score'],
  })
})

test('a readable score implies a public detail, because the score names its worker', () => {
  for (const row of rows) {
    const { score, search, detail } = readable(factsOf(row))
    assert.ok(detail || (!score && !search), JSON.stringify(row))
  }
})
