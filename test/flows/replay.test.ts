/**
 * Every score ever issued can be computed again, also after changes of engine and rules. Tampered
 * scores are detected.
 */
import assert from 'node:assert/strict'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { renderReplay } from '../../src/cli/commands/scores.ts'
import { sha256Hex } from '../../src/platform/crypto/bytes.ts'
import { sql } from '../../src/platform/db/db.ts'
import { loadEngineOf } from '../../src/scoring/scores/engine.ts'
import { eraseWorkings, findSnapshot } from '../../src/scoring/scores/history-store.ts'
import { openMakers, replay, replayAll } from '../../src/scoring/scores/replay.ts'
import { scoreWorkers } from '../../src/scoring/scores/score-workers.ts'
import { type Scoring, scoringRulesOf } from '../../src/scoring/scores/scoring.ts'
import { smallVocabulary } from '../support/build/evidence.ts'
import { issuer, testRegistry } from '../support/build/registry.ts'
import {
  addEvidence,
  addPublicWorkers,
  addSources,
  daysAfter,
  enough,
  scoredAt,
  scoring,
} from '../support/build/scores.ts'

const registry = await testRegistry()
const { db } = registry
after(() => registry.drop())
await addSources(db)

const root = mkdtempSync(join(tmpdir(), 'assay-replay-'))
after(() => rmSync(root, { recursive: true, force: true }))

const ownEngines = join(import.meta.dirname, '../../engines')
const [ownName = ''] = readdirSync(ownEngines)

/** A project with the engine of this release and an older engine that has a lower minimum. */
const olderEngine = await (async () => {
  mkdirSync(join(root, 'engines'))
  copyFileSync(join(ownEngines, ownName), join(root, 'engines', ownName))
  const text = readFileSync(join(ownEngines, ownName), 'utf8')
    .replace(/engineVersion = '[\d.]+'/, "engineVersion = '0.9.0'")
    .replace('massMin: 150_000', 'massMin: 100_000')
  const digest = sha256Hex(text)
  writeFileSync(join(root, `engines/hsc-0.9.0-${digest.slice(0, 12)}.mjs`), text)
  return loadEngineOf(digest, root)
})()

const olderVocabulary = {
  ...smallVocabulary,
  'hss:typescript': { halfLifeMonths: 12, weightPermille: { assessment: 200, work_product: 450 } },
}

const older: Scoring = {
  ...scoringRulesOf({ ...olderEngine, goldenSha256: '' }, olderVocabulary, scoring.issueRule),
  issuer,
}

async function scoreAll(workerIds: readonly string[], by: Scoring, now: Date) {
  const due = workerIds.map((workerId) => ({ workerId, correction: null }))
  for (let at = 0; at < due.length; at += 250)
    await db.transaction((tx) => scoreWorkers(tx, by, due.slice(at, at + 250), now))
}

const allAgree = {
  ok: true,
  notReplayed: 0,
  unavailable: [],
  erased: 0,
  differ: 0,
  differing: [],
}

const workerIds = await addPublicWorkers(db, 500)
for (const [n, workerId] of workerIds.entries())
  await addEvidence(
    db,
    workerId,
    enough.map((one) => ({ ...one, value: (n * 37 + (one.value ?? 0)) % 1_001 })),
  )
await scoreAll(workerIds, older, scoredAt)
const [first] = workerIds
await addEvidence(db, first ?? '', [{ value: 10 }])
// A score is issued again only if it changes. The new item makes every score change.
for (const workerId of workerIds.slice(1)) await addEvidence(db, workerId, [{ value: 990 }])
await scoreAll(workerIds, scoring, daysAfter(3))

test('1,000 scores are reproduced bit by bit after a new engine version and new weights', async () => {
  const engines = await db.rows<{ version: string; count: number; vocabularies: number }>(sql`
    select engine_version as version, count(*)::int as count,
      count(distinct vocabulary_sha256)::int as vocabularies
    from score_snapshots group by 1 order by 1`)
  assert.deepEqual(engines, [
    { version: '0.9.0', count: 500, vocabularies: 1 },
    { version: scoring.engine.version, count: 500, vocabularies: 1 },
  ])
  const { exitCode, report, lines } = renderReplay(await replayAll(db, { root }))
  assert.deepEqual(report, { ...allAgree, replayed: 1_000 })
  assert.equal(exitCode, 0)
  assert.deepEqual(lines, ['1000 scores computed again: all agree'])
})

test('a later correction of a source does not change the replay of earlier scores', async () => {
  await db.run(sql`update sources set assurance = 0`)
  const { exitCode } = renderReplay(await replayAll(db, { root }))
  assert.equal(exitCode, 0)
})

/** Returns a project whose older engine file was altered after its release. */
function alteredRoot(): string {
  const folder = mkdtempSync(join(root, 'altered-'))
  mkdirSync(join(folder, 'engines'))
  for (const name of readdirSync(join(root, 'engines'))) {
    const text = readFileSync(join(root, 'engines', name), 'utf8')
    const isOlder = name.includes('-0.9.0-')
    writeFileSync(join(folder, 'engines', name), isOlder ? `${text}\n// altered` : text)
  }
  return folder
}

for (const [state, folder, reason] of [
  ['missing', undefined, /holds no engine of SHA-256/],
  ['altered', alteredRoot(), /which is not that of its name/],
] as const)
  test(`2: if an engine file is ${state}, its scores are not compared, the engine is named, and the other scores agree`, async () => {
    const { exitCode, report, lines } = renderReplay(
      await replayAll(db, { ...(folder && { root: folder }) }),
    )
    assert.equal(exitCode, 2)
    const { version, binarySha256: sha256 } = olderEngine
    assert.partialDeepStrictEqual(report, {
      ...allAgree,
      ok: false,
      replayed: 500,
      notReplayed: 500,
      unavailable: [{ version, sha256, scores: 500 }],
    })
    assert.match(lines.join('\n'), reason)
    assert.match(lines.join('\n'), new RegExp(`Engine 0.9.0 \\(SHA-256 ${sha256}\\)`))
    assert.doesNotMatch(lines.join('\n'), /DIFFER/)
  })

/**
 * Replays a score after `change` in a transaction that rolls back, as an attacker with write access
 * could change it.
 */
async function tampered(change: (id: Buffer) => ReturnType<typeof sql>): Promise<string | null> {
  let found: string | null = null
  const refunded = new Error('undone')
  const tampering = db.transaction(async (tx) => {
    const [row] = await tx.rows<{ id: Buffer }>(sql`
      select snapshot_id as id from score_snapshots where engine_version = '0.9.0' limit 1`)
    const id = row?.id ?? Buffer.alloc(0)
    await tx.run(sql`alter table score_workings disable trigger user`)
    await tx.run(sql`alter table scoring_vocabularies drop constraint scoring_vocabularies_check`)
    await tx.run(change(id))
    const stored = (await findSnapshot(tx, id)) ?? assert.fail('the score is there')
    const result = await replay(stored, openMakers(tx, root))
    assert.ok(result.verdict !== 'engine unavailable')
    found = result.verdict === 'differs' ? result.difference : null
    throw refunded
  })
  await assert.rejects(tampering, refunded)
  return found
}

test('replay detects tampering with every part of a score', async () => {
  const cases: readonly [
    change: (id: Buffer) => ReturnType<typeof sql>,
    expected: RegExp | null,
  ][] = [
    [(id) => sql`update score_workings set nonce = nonce where snapshot_id = ${id}`, null],
    [
      (id) => sql`update score_workings set evidence = replace(evidence, '"value":', '"value":1')
        where snapshot_id = ${id}`,
      /not that of its root/,
    ],
    [
      (id) => sql`update score_workings set nonce = sha256(nonce) where snapshot_id = ${id}`,
      /not that of its root/,
    ],
    [
      (id) => sql`update score_workings set result = replace(result, '"score":', '"score": ')
        where snapshot_id = ${id}`,
      /the result differs/,
    ],
    [
      (id) => sql`update score_snapshots set confidence_high = 1000 where snapshot_id = ${id}`,
      /published is not that of the result/,
    ],
    [
      (id) => sql`update score_snapshots set engine_version = '9.9.9' where snapshot_id = ${id}`,
      /published is not that of the result/,
    ],
    [
      (id) => sql`update score_snapshots set as_of = as_of - 1 where snapshot_id = ${id}`,
      /the (result|id) differs/,
    ],
    [
      (id) => sql`update score_snapshots set worker_id = (select id from workers
        where id not in (select worker_id from score_snapshots) limit 1)
        where snapshot_id = ${id}`,
      /the id differs/,
    ],
    [
      (id) => sql`update scoring_vocabularies set rules = replace(rules, '450', '451')
        where vocabulary_sha256 =
          (select vocabulary_sha256 from score_snapshots where snapshot_id = ${id})`,
      /the rules under [0-9a-f]{64} were changed/,
    ],
  ]
  await addPublicWorkers(db, 1)
  for (const [change, expected] of cases) {
    const difference = await tampered(change)
    if (expected === null) assert.equal(difference, null)
    else assert.match(difference ?? 'no difference', expected)
  }
})

test('the scores of an erased worker are counted as erased; missing inputs of any other worker are reported', async () => {
  const [erased = '', robbed = ''] = workerIds
  await db.transaction(async (tx) => {
    await eraseWorkings(tx, erased, daysAfter(4))
    await tx.run(sql`
      update workers set erased_at = ${daysAfter(4)}, external_id = null, terms_version = null,
        terms_accepted_at = null, onboarded_at = null where id = ${erased}`)
  })
  const { report, lines } = renderReplay(await replayAll(db, { root }))
  assert.deepEqual(report, { ...allAgree, replayed: 998, erased: 2 })
  assert.match(lines.join(), /2 were erased with their workers/)

  await db.run(sql`
    delete from score_workings where snapshot_id in
      (select snapshot_id from score_snapshots where worker_id = ${robbed} and state = 'active')`)
  const after = renderReplay(await replayAll(db, { root }))
  assert.equal(after.exitCode, 1)
  assert.partialDeepStrictEqual(after.report, { replayed: 997, erased: 2, differ: 1 })
})
