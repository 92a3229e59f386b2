/** Disputes as an operator handles them: real commands on a real database. */
import assert from 'node:assert/strict'
import { cpSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { resolve as absolute, join } from 'node:path'
import { test } from 'node:test'
import { sql } from '../../src/platform/db/db.ts'
import { publicLine } from '../support/build/workers.ts'
import { installation, ndjson } from '../support/start/installation.ts'
import { assay, temporaryFolder } from '../support/start/processes.ts'

const sources = [
  { id: 'exams', name: 'Exams', kind: 'accredited', group: 'exams' },
  { id: 'reviews', name: 'Reviews', kind: 'organisation', group: 'acme' },
]
const kinds = { exams: 'assessment', reviews: 'work_product' }

/** Registers Ada with four items of evidence and a score. */
async function withScore() {
  const there = await installation()
  const { report, run } = there
  const load = async (command: string[], lines: readonly object[]) => {
    const { code, err } = await run([...command, '--from', '-'], ndjson(lines))
    assert.equal(code, 0, err)
  }
  await report('keys', 'create')
  await load(['sources', 'register'], sources)
  await load(['workers', 'import'], [publicLine({ username: 'ada' })])
  const items = Object.entries(kinds).flatMap(([sourceId, type]) =>
    [1, 2].map((n) => ({
      username: 'ada',
      sourceId,
      externalId: `${n}`,
      skillId: 'hss:typescript',
      type,
      value: 600 + n * 50,
      observedOn: '2026-04-30',
    })),
  )
  await load(['evidence', 'import'], items)
  await report('recompute')
  return there
}

test('a dispute from opening to decision: events, output and audit entries are correct', async () => {
  const { report, run, db } = await withScore()
  const open = ['disputes', 'open', '@ada', '--kind', 'evidence', '--exclude', '--by', 'Ada L.']
  const items = ['--evidence', 'exams/1', 'reviews/1']
  const opened = await report(...open, ...items)
  assert.equal(opened.code, 0)
  const { id, openedAt, dueAt } = opened.dispute
  assert.partialDeepStrictEqual(opened.dispute, {
    username: 'ada',
    state: 'open',
    restricted: true,
    overdue: false,
    evidence: [{ excluded: true }, { excluded: true }],
  })
  assert.equal(Date.parse(dueAt) - Date.parse(openedAt), 30 * 86_400_000)
  assert.partialDeepStrictEqual(await report(...open, '--evidence', 'exams/1'), {
    code: 1,
    ok: false,
    error: 'dispute_already_open',
    message: `The dispute ${id} about the same is open. End it first.`,
  })
  assert.equal((await report('disputes', 'resolve', id, '--as', 'rejected', '--yes')).code, 1)
  assert.equal((await report('disputes', 'review', id, '--by', 'Bob')).code, 0)
  const decide = [
    'disputes',
    'resolve',
    id,
    '--as',
    'partly_upheld',
    '--yes',
    '--evidence',
    'exams/1',
  ]
  const dry = await report(...decide, '--dry-run')
  // The score of a dry run is never stored.
  assert.partialDeepStrictEqual(dry, {
    code: 0,
    dryRun: true,
    state: 'resolved',
    resultingSnapshotId: '(not made)',
  })
  const resolved = await report(...decide, '--by', 'Bob')
  assert.partialDeepStrictEqual(resolved, { code: 0, state: 'resolved', scoreChanged: true })
  assert.match(resolved.resultingSnapshotId, /^[0-9a-f]{64}$/)
  assert.partialDeepStrictEqual(await report(...decide), {
    code: 1,
    error: 'dispute_state',
    message: `Dispute ${id} cannot be resolved: it is resolved, which is final.`,
  })

  const shown = await report('disputes', 'show', id.toUpperCase())
  assert.partialDeepStrictEqual(shown.dispute, {
    resolution: 'partly_upheld',
    resultingSnapshotId: resolved.resultingSnapshotId,
    moves: [
      { state: 'open', by: 'Ada L.' },
      { state: 'under_review', by: 'Bob' },
      { state: 'resolved', by: 'Bob' },
    ],
  })
  const result = await run(['disputes', 'show', id])
  assert.match(result.out, /partly_upheld[^]*excluded, upheld[^]*under_review, by Bob/)
  assert.deepEqual((await report('disputes', 'list')).disputes, [])
  for (const flags of [['--all'], ['--username', 'ada']])
    assert.partialDeepStrictEqual(await report('disputes', 'list', ...flags), {
      disputes: [{ id, state: 'resolved' }],
    })
  const { entries } = await report('audit', 'list')
  const logged = entries.slice(0, 3).map((entry: Record<string, string>) => ({
    action: entry.action,
    subjects: JSON.parse(entry.subjects ?? ''),
    details: JSON.parse(entry.details ?? ''),
  }))
  const subjects = [id]
  assert.deepEqual(logged, [
    { action: 'disputes.resolved', subjects, details: { resolution: 'partly_upheld' } },
    { action: 'disputes.reviewed', subjects, details: {} },
    {
      action: 'disputes.opened',
      subjects,
      details: { kind: 'evidence', restricted: true, excluded: 2 },
    },
  ])
  const [sent] = await db.rows<{ types: string[] }>(sql`
    select array_agg(type order by seq) as types from webhook_events
    where type <> 'candidate.consent_changed'`)
  assert.deepEqual(sent?.types, [
    'score.updated',
    'dispute.opened',
    'evidence.revoked',
    'score.revised',
    'dispute.resolved',
  ])
})

test('the operator chooses whether a dispute hides the score; after a withdrawal another dispute can be opened', async () => {
  const { report, run, env } = await withScore()
  env.DISPUTE_HIDES_SCORE = 'false'
  env.DISPUTE_DUE_DAYS = '1'
  const open = ['disputes', 'open', 'ada', '--kind', 'score']
  const { dispute } = await report(...open)
  assert.equal(dispute.restricted, false)
  const listed = await run(['disputes', 'list'])
  assert.match(listed.out, new RegExp(`^DUE .*\\n.* ada +score +open +public +${dispute.id}\\n$`))
  assert.partialDeepStrictEqual(await report('disputes', 'withdraw', dispute.id, '--yes'), {
    code: 0,
    state: 'withdrawn',
    scoreChanged: false,
  })
  assert.equal((await report(...open, '--restrict')).dispute.restricted, true)
  const hidden = await report('workers', 'show', 'ada')
  assert.equal(hidden.restricted, true)
  assert.equal(hidden.openDisputes.length, 1)
  env.DISPUTE_HIDES_SCORE = 'true'
  const identity = ['disputes', 'open', 'ada', '--kind', 'identity', '--no-restrict']
  assert.equal((await report(...identity)).dispute.restricted, false)
})

test('a rejected command names the reason: 2 for an invalid command line, 1 for a missing object', async () => {
  const { run } = await withScore()
  const nobody = '00000000-0000-4000-8000-000000000000'
  for (const [code, args, reason] of [
    [2, ['open', 'ada', '--kind', 'mood'], /--kind must be one of score, evidence, identity/],
    [2, ['open', 'ada', '--kind', 'evidence'], /--evidence must name the items/],
    [
      2,
      ['open', 'ada', '--kind', 'score', '--evidence', 'exams/1'],
      /--evidence is for kind evidence/,
    ],
    [2, ['open', 'ada', '--kind', 'score', '--exclude'], /--exclude is for kind evidence/],
    [
      2,
      ['open', 'ada', '--kind', 'evidence', '--evidence', 'exams'],
      /--evidence must be an evidence id or SOURCE/,
    ],
    [1, ['open', 'bob', '--kind', 'score'], /No worker has the username bob/],
    [1, ['open', 'ada', '--kind', 'evidence', '--evidence', 'exams/9'], /Not evidence of ada/],
    [1, ['open', 'ada', '--kind', 'evidence', '--evidence', nobody], /Not evidence of ada/],
    [
      2,
      ['review', 'first'],
      /dispute-id must be the id of a dispute, a UUID. `assay disputes list` shows it/,
    ],
    [1, ['review', nobody], /No dispute has the id/],
    [2, ['resolve', nobody, '--as', 'won'], /--as must be one of upheld, partly_upheld, rejected/],
    [2, ['resolve', nobody, '--as', 'upheld'], /The decision is final.* Add --yes/],
    [1, ['resolve', nobody, '--as', 'upheld', '--yes'], /No dispute has the id/],
    [1, ['show', nobody], /No dispute has the id/],
    [2, ['list', '--limit', '0'], /--limit/],
  ] as const) {
    const answer = await run(['disputes', ...args])
    assert.equal(answer.code, code, args.join(' '))
    assert.match(`${answer.out}${answer.err}`, reason)
  }
})

test('a decision without engine or key is rejected and changes nothing', async () => {
  const { report, env, db, folder } = await withScore()
  const open = ['disputes', 'open', 'ada', '--kind', 'evidence', '--evidence', 'exams/1']
  const { dispute } = await report(...open, '--exclude')
  await report('disputes', 'review', dispute.id)
  const state = () =>
    db.rows(sql`
      select (select json_agg(d) from disputes d) as disputes,
        (select json_agg(e order by evidence_id) from evidence e) as evidence,
        (select count(*) from webhook_events) as events, (select count(*) from audit_log) as log`)
  const before = await state()
  const resolve = ['disputes', 'resolve', dispute.id, '--as', 'upheld', '--yes']

  const root = join(temporaryFolder(), 'release')
  for (const name of ['src', 'engines', 'vectors', 'vocabulary', 'migrations', 'package.json'])
    cpSync(name, join(root, name), { recursive: true })
  symlinkSync(absolute('node_modules'), join(root, 'node_modules'))
  const engine = join(root, 'engines', readdirSync(join(root, 'engines'))[0] ?? '')
  writeFileSync(engine, readFileSync(engine, 'utf8').replace('250', '251'))
  const altered = await assay(resolve, env, join(root, 'src/cli/assay.ts'))
  assert.equal(altered.ended, 1)
  assert.match(altered.err, /Scores cannot be computed: .* The dispute stays as it is\./)
  assert.deepEqual(await state(), before)

  const keys = join(folder, 'data/keys')
  renameSync(keys, `${keys}-away`)
  const keyless = await report(...resolve)
  assert.equal(keyless.code, 1)
  assert.match(keyless.message, /private key .* The dispute stays as it is\./)
  assert.deepEqual(await state(), before)
  renameSync(`${keys}-away`, keys)
  assert.equal((await report(...resolve)).code, 0)
})
