/**
 * An operator reassigns evidence that belongs to another worker: real commands on a real line.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  addEvidence,
  addPublicWorkers,
  addSources,
  enough,
  eventsOf,
  scoresOf,
} from '../support/build/scores.ts'
import { installation } from '../support/start/installation.ts'

const line = await installation()
const { db } = line

async function command(...args: string[]) {
  const { code, out, err } = await line.run([...args, '--json'])
  return { code, err, report: out === '' ? null : JSON.parse(out) }
}

await command('keys', 'create')
await addSources(db)
const [ada = ''] = await addPublicWorkers(db, 1, { username: 'ada-lovelace' })
const [grace = ''] = await addPublicWorkers(db, 1, { username: 'grace-hopper' })
const named = enough.map((one, i) => ({ ...one, externalId: `exam/${i}` }))
const adas = await addEvidence(db, ada, named)
const graces = await addEvidence(db, grace, enough)
assert.equal((await command('recompute')).report.issued, 2)

const reassign = (...args: string[]) => command('evidence', 'reassign', '--yes', ...args)
const to = ['--to', 'grace-hopper'] as const

test('2: neither an item nor a worker is named, both are named, or a name is invalid', async () => {
  assert.equal((await reassign(...to)).code, 2)
  assert.equal((await reassign(adas[0] ?? '', '--all-of', 'ada-lovelace', ...to)).code, 2)
  assert.equal((await reassign('no-name', ...to)).code, 2)
  assert.equal((await reassign('--all-of', 'Ada', ...to)).code, 2)
})

test('1: a missing worker or item is reported and nothing changes', async () => {
  const nobody = await reassign(adas[0] ?? '', '--to', 'nobody-here')
  assert.equal(nobody.code, 1)
  assert.match(nobody.report.message, /nobody-here/)
  assert.equal((await reassign('--all-of', 'nobody-here', ...to)).code, 1)
  const missing = await reassign('examiner/exam/0', 'examiner/never', ...to)
  assert.deepEqual([missing.code, missing.report.error], [1, 'evidence_not_found'])
  assert.match(missing.report.message, /^examiner\/never: not found/)
  assert.equal((await scoresOf(db, grace)).length, 1)
})

test('1: a disputed item is not reassigned, excluded or not, reviewed or not', async () => {
  for (const flags of [[], ['--exclude']]) {
    const item = ['--kind', 'evidence', '--evidence', adas[0] ?? '']
    const opened = await command('disputes', 'open', 'ada-lovelace', ...item, ...flags)
    assert.equal(opened.code, 0, opened.err)
    const disputeId = opened.report.dispute.id
    for (const state of ['open', 'under_review']) {
      if (state !== 'open') assert.equal((await command('disputes', 'review', disputeId)).code, 0)
      const refused = await reassign('--all-of', 'ada-lovelace', ...to)
      assert.equal(refused.code, 1, state)
      assert.match(refused.report.message, /dispute.*Nothing was done/)
      assert.equal((await scoresOf(db, grace)).length, 1)
    }
    const withdrawn = await command('disputes', 'withdraw', disputeId, '--yes')
    assert.equal(withdrawn.code, 0, withdrawn.err)
  }
  assert.equal(
    (await command('audit', 'list', '--action', 'evidence.reassigned')).report.entries.length,
    0,
  )
})

test('an item named by its source’s id is reassigned: both scores are revised and the audit log names it', async () => {
  const { code, report } = await reassign('examiner/exam/0', ...to)
  assert.equal(code, 0)
  assert.deepEqual(report.moved, [{ evidenceId: adas[0], fromWorkerId: ada }])
  for (const workerId of [ada, grace])
    assert.partialDeepStrictEqual((await eventsOf(db, workerId)).at(-1), {
      type: 'score.revised',
      data: { reason: 'identity_change' },
    })
  const { entries } = (await command('audit', 'list', '--action', 'evidence.reassigned')).report
  assert.deepEqual(
    entries.map((entry: Record<string, string>) => [
      JSON.parse(entry.subjects ?? ''),
      JSON.parse(entry.details ?? ''),
    ]),
    [[[adas[0]], { count: 1, from: ada, to: grace }]],
  )
})

test('after all evidence is reassigned the worker has no score, and a second run finds nothing', async () => {
  const { code, report } = await reassign('--all-of', 'ada-lovelace', ...to)
  assert.equal(code, 0)
  assert.deepEqual(
    report.moved.map(({ evidenceId }: { evidenceId: string }) => evidenceId).sort(),
    adas.slice(1).sort(),
  )
  assert.equal((await scoresOf(db, ada)).at(-1)?.state, 'withdrawn')
  assert.equal((await command('credentials', 'show', 'ada-lovelace')).code, 1)
  const again = await reassign('--all-of', 'ada-lovelace', ...to)
  assert.deepEqual([again.code, again.report.moved], [0, []])
  const shown = await line.run(['scores', 'explain', 'grace-hopper', '--json'])
  assert.equal(shown.code, 0, shown.err)
  assert.equal(graces.length + adas.length, 8)
  assert.equal((await command('scores', 'replay', '--all')).code, 0)
})
