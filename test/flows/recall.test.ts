/** An operator recalls a defective engine: real commands, a real server. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { tendLists } from '../../src/credentials/issue.ts'
import { readSigners } from '../../src/credentials/key-files.ts'
import { originOf } from '../../src/credentials/payload.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { loadEngine } from '../../src/scoring/scores/engine.ts'
import { scoreWorkers } from '../../src/scoring/scores/score-workers.ts'
import {
  addEvidence,
  addPublicWorkers,
  addSources,
  enough,
  eventsOf,
  scoresOf,
  scoringWrongly,
} from '../support/build/scores.ts'
import { ask } from '../support/start/ask.ts'
import { installation } from '../support/start/installation.ts'
import { eventually, startServer } from '../support/start/processes.ts'

const line = await installation()
const { db } = line

async function command(...args: string[]) {
  const { code, out, err } = await line.run([...args, '--json'])
  return { code, err, report: out === '' ? null : JSON.parse(out) }
}

await command('keys', 'create')
const [signer] = (await readSigners(join(line.folder, 'data/keys'))).values()
assert.ok(signer !== undefined)
const now = systemClock()
const origin = originOf('https://scores.example.org')
const issuer = { origin, signer, validityDays: 3_650, supersedeRevokes: false }
await tendLists(db, issuer, now)
await addSources(db)
const wrong = { ...scoringWrongly(), issuer }
const { version, binarySha256: sha256 } = wrong.engine
const [workerId = ''] = await addPublicWorkers(db, 1, { username: 'ada-lovelace' })
const evidence = await addEvidence(db, workerId, enough)
await db.transaction((tx) => scoreWorkers(tx, wrong, [{ workerId, correction: null }], now))
const released = await loadEngine()

const recall = (...args: string[]) => command('engines', 'recall', ...args)

test('list: shows the engine of this release and every other engine that computed a score', async () => {
  const { code, report } = await command('engines', 'list')
  assert.equal(code, 0)
  assert.deepEqual(report.engines, [
    {
      version,
      sha256,
      scores: 1,
      active: 1,
      isKept: false,
      isReleased: false,
      recalledAt: null,
      reason: null,
    },
    {
      version: released.version,
      sha256: released.binarySha256,
      scores: 0,
      active: 0,
      isKept: true,
      isReleased: true,
      recalledAt: null,
      reason: null,
    },
  ])
})

test('recall: 1 if version and SHA-256 name no known engine; 2 for an invalid name, and without --yes', async () => {
  const reason = ['--reason', 'wrong_result']
  assert.equal((await recall('9.9.9', sha256, ...reason, '--yes')).code, 1)
  assert.equal((await recall(version, 'f'.repeat(64), ...reason, '--yes')).code, 1)
  assert.equal((await recall(version, 'abc', ...reason, '--yes')).code, 2)
  assert.equal((await recall(version, sha256, '--reason', 'whatever', '--yes')).code, 2)
  const result = await line.run(['engines', 'recall', version, sha256, ...reason])
  assert.equal(result.code, 2)
  assert.match(result.err, /No process computes a score with the engine any more.*--yes/)
  const dry = await line.run(['engines', 'recall', version, sha256, ...reason, '--dry-run'])
  assert.match(dry.out, /^Dry run: nothing was changed[^]*replaces 1 active score as corrections/)
  assert.doesNotMatch(dry.out, /stay/)
  assert.equal((await command('engines', 'list')).report.engines[0].recalledAt, null)
})

test('recall and recompute: the score is corrected, its credential revoked, both are logged; a second recall changes nothing', async () => {
  const shown = await line.run(['credentials', 'show', 'ada-lovelace'])
  assert.equal(shown.code, 0, shown.err)
  const recalled = await recall(version, sha256.toUpperCase(), '--reason', 'wrong_result', '--yes')
  assert.equal(recalled.code, 0)
  const first = { reason: 'wrong_result', recalledAt: recalled.report.recalledAt }
  assert.partialDeepStrictEqual(recalled.report, { ...first, active: 1, marked: 1, revoked: 0 })
  const again = await recall(version, sha256, '--reason', 'unfair', '--yes')
  assert.equal(again.code, 0)
  assert.partialDeepStrictEqual(again.report, { ...first, active: 0, marked: 0, revoked: 0 })
  const { report } = await command('recompute')
  assert.partialDeepStrictEqual(report, { ok: true, scored: 1, issued: 1 })
  assert.partialDeepStrictEqual(await scoresOf(db, workerId), [
    { state: 'superseded' },
    { state: 'active', reason: 'engine_correction' },
  ])
  assert.partialDeepStrictEqual((await eventsOf(db, workerId)).at(-1), {
    type: 'score.revised',
    data: { reason: 'engine_correction' },
  })
  const old = await line.run(['credentials', 'verify', '-', '--json'], shown.out)
  assert.deepEqual([old.code, JSON.parse(old.out).reason], [1, 'revoked'])
  const { entries } = (await command('audit', 'list', '--action', 'engines.recalled')).report
  assert.equal(entries.length, 1)
  assert.deepEqual(JSON.parse(entries[0].subjects), [sha256])
  assert.deepEqual(JSON.parse(entries[0].details), { active: 1, reason: 'wrong_result', version })
})

test('recall of the running engine: no score is computed, the server reports it and serves the rest, and evidence can be revoked', async () => {
  const server = await startServer(line.env)
  const readiness = async () => {
    const { status, body } = await ask(server.base, { path: '/readyz' })
    const { checks } = JSON.parse(body.toString())
    return { status, engine: checks.engine }
  }
  assert.equal((await readiness()).engine, 'ok')
  const own = [released.version, released.binarySha256] as const
  const result = await line.run(['engines', 'recall', ...own, '--reason', 'unfair', '--yes'])
  assert.equal(result.code, 0, result.err)
  assert.match(result.out, /1 active score and the credentials stay until then/)
  assert.doesNotMatch(result.out, /score\.revised|within seconds/)

  const { value } = await eventually('readiness tells of the recall', {
    withinMs: 120_000,
    see: async () => {
      const seen = await readiness()
      return seen.engine === 'ok' ? null : seen
    },
  })
  assert.deepEqual(value, { status: 200, engine: 'degraded: recalled' })
  const { body } = await ask(server.base, { path: '/.well-known/service-engine.json' })
  assert.equal(JSON.parse(body.toString()).engine.lifecycle, 'recalled')

  const recomputed = await command('recompute', '--all')
  assert.equal(recomputed.code, 1)
  assert.match(recomputed.report.message, /cannot be computed: engine hsc [\d.]+ was recalled/)
  const [id = ''] = evidence
  const revoked = await command('evidence', 'revoke', id, '--reason', 'policy', '--yes')
  assert.equal(revoked.code, 0)
  assert.match(revoked.report.notScored, /was recalled.*left to the next recomputation/)
  const doctor = await command('doctor')
  assert.equal(doctor.code, 1)
  assert.ok(
    doctor.report.findings.some(
      ({ check, message }: Record<string, string>) =>
        check === 'engine' && message?.includes('recalled'),
    ),
  )
  assert.equal((await scoresOf(db, workerId)).length, 2)
  assert.equal(server.hasEnded(), false)
})
