import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from '../../../test/support/oracle/fc.ts'
import type { Evidence } from '../core/evidence.ts'
import { score } from '../core/score.ts'
import { evidenceRootOf, evidenceTexts, type SnapshotFacts, snapshotId } from './snapshot.ts'

const vocabulary = { 'hss:git': { halfLifeMonths: 0, weightPermille: { assessment: 500 } } }

function item(n: number, over: Partial<Evidence> = {}): Evidence {
  return {
    id: `e-${n}`,
    skillId: 'hss:git',
    type: 'assessment',
    group: `g-${n}`,
    assurance: 700,
    value: 640,
    observedDay: 20_000,
    digest: `d-${n}`,
    ...over,
  }
}

const nonce = Buffer.alloc(32, 7)
const evidence = [item(1), item(2)]
const facts: SnapshotFacts = {
  workerId: '0d4f9c52-6a3b-4c1e-9f27-8b5a1c2d3e4f',
  asOf: '2026-05-14',
  nonce,
  engine: { id: 'hsc', version: '1.0.0', binarySha256: '51'.repeat(32) },
  vocabularySha256: 'ab'.repeat(32),
  evidenceRoot: evidenceRootOf(evidenceTexts(evidence), nonce),
  result: score({ evidence, vocabulary, asOfDay: 20_587 }),
}

test('the id is SHA-256 over the prefix, a line feed and the canonical JSON of the facts', () => {
  const { low, high, band, evidenceCount, sourceCount, skills } = facts.result
  const [skill] = skills
  const text =
    `service.score_snapshot.v1\n{"asOf":"2026-05-14","engine":{"binarySha256":"${'51'.repeat(32)}","id":"hsc","version":"1.0.0"},` +
    `"evidenceRoot":"${facts.evidenceRoot.toString('hex')}","nonce":"${'07'.repeat(32)}","result":{"band":"${band}","evidenceCount":${evidenceCount},"high":${high},"low":${low},"score":${facts.result.score},` +
    `"skills":[{"cautious":${skill?.cautious},"freshMass":${skill?.freshMass},"high":${skill?.high},"level":"${skill?.level}","low":${skill?.low},"mass":${skill?.mass},"score":${skill?.score},"skillId":"hss:git","verified":${skill?.verified}}],"sourceCount":${sourceCount}},` +
    `"vocabularyHash":"${'ab'.repeat(32)}","workerId":"${facts.workerId}"}`
  assert.equal(snapshotId(facts).toString('hex'), createHash('sha256').update(text).digest('hex'))
})

test('the evidence root is SHA-256 over the sorted SHA-256 of nonce and item', () => {
  const digests = evidence.map((one) => {
    const text = `{"assurance":700,"digest":"${one.digest}","group":"${one.group}","id":"${one.id}","observedDay":20000,"skillId":"hss:git","type":"assessment","value":640}`
    return createHash('sha256').update(nonce).update(text).digest()
  })
  const root = createHash('sha256')
    .update(Buffer.concat(digests.sort(Buffer.compare)))
    .digest()
  assert.deepEqual(facts.evidenceRoot, root)
})

test('a change of any fact changes the id', () => {
  const others: SnapshotFacts[] = [
    { ...facts, workerId: '1d4f9c52-6a3b-4c1e-9f27-8b5a1c2d3e4f' },
    { ...facts, asOf: '2026-05-15' },
    { ...facts, nonce: Buffer.alloc(32, 8) },
    { ...facts, engine: { ...facts.engine, id: 'other' } },
    { ...facts, engine: { ...facts.engine, version: '1.0.1' } },
    { ...facts, engine: { ...facts.engine, binarySha256: '52'.repeat(32) } },
    { ...facts, vocabularySha256: 'ac'.repeat(32) },
    { ...facts, evidenceRoot: Buffer.alloc(32) },
    { ...facts, result: { ...facts.result, evidenceCount: 3 } },
  ]
  const ids = [facts, ...others].map((one) => snapshotId(one).toString('hex'))
  assert.equal(new Set(ids).size, ids.length)
})

test('the stored evidence is in order of id', () => {
  const ids = evidenceTexts([item(2), item(0), item(1)]).map((text) => JSON.parse(text).id)
  assert.deepEqual(
    ids,
    [0, 1, 2].map((n) => item(n).id),
  )
})

test('the root depends on every field of the evidence, but not on its order', () => {
  const items = fc.uniqueArray(fc.nat(50), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(items, fc.infiniteStream(fc.nat()), (numbers, randoms) => {
      const given = numbers.map((n) => item(n))
      const shuffled = given
        .map((one) => ({ one, at: randoms.next().value }))
        .sort((a, b) => a.at - b.at)
        .map(({ one }) => one)
      const root = (list: readonly Evidence[], salt = nonce) =>
        evidenceRootOf(evidenceTexts(list), salt).toString('hex')
      assert.equal(root(shuffled), root(given))
      const [first = item(0), ...rest] = given
      const altered = [
        root(rest),
        root([...given, item(99)]),
        root([{ ...first, value: first.value + 1 }, ...rest]),
        root([{ ...first, assurance: 701 }, ...rest]),
        root(given, Buffer.alloc(32, 8)),
      ]
      assert.equal(new Set([root(given), ...altered]).size, altered.length + 1)
    }),
  )
})
