/**
 * From an empty database to scores, as an operator does it: real commands, a real server, and kills
 * in the middle.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { rootPages } from '../../src/discovery/docs-page.ts'
import { sql } from '../../src/platform/db/db.ts'
import { publicLine } from '../support/build/workers.ts'
import { holdInserts } from '../support/fault/hold.ts'
import { installation } from '../support/start/installation.ts'
import { assay, eventually, startServer, temporaryFolder } from '../support/start/processes.ts'

const sources = [
  { id: 'skill-exams', name: 'Skill Exams', kind: 'accredited', group: 'skill-exams' },
  { id: 'acme-reviews', name: 'Acme work reviews', kind: 'organisation', group: 'acme' },
]

function evidenceOf(username: string, n: number): Record<string, unknown>[] {
  const item = { username, skillId: 'hss:typescript', observedOn: '2026-04-30' }
  return [
    { ...item, sourceId: 'skill-exams', externalId: `${username}-1`, type: 'assessment', value: n },
    {
      ...item,
      sourceId: 'acme-reviews',
      externalId: `${username}-2`,
      type: 'work_product',
      value: 700,
    },
    {
      ...item,
      sourceId: 'acme-reviews',
      externalId: `${username}-3`,
      type: 'work_product',
      value: 640,
    },
    {
      ...item,
      sourceId: 'skill-exams',
      externalId: `${username}-4`,
      type: 'assessment',
      value: 720,
    },
  ]
}

async function installationWithWorkers(count: number) {
  const there = await installation()
  const { report, file } = there
  const usernames = Array.from({ length: count }, (_, n) => `person-${n}`)
  const workers = usernames.map((username) => publicLine({ username, externalId: username }))
  const items = usernames.flatMap((username, n) => evidenceOf(username, 500 + (n % 400)))
  assert.equal((await report('keys', 'create')).code, 0)
  assert.equal((await report('sources', 'register', '--from', file('s.ndjson', sources))).code, 0)
  assert.equal((await report('workers', 'import', '--from', file('w.ndjson', workers))).code, 0)
  assert.equal((await report('evidence', 'import', '--from', file('e.ndjson', items))).code, 0)
  return there
}

test('five commands lead from nothing to signed scores; a second run changes nothing; the audit log has each step', async () => {
  const { report, db } = await installationWithWorkers(3)
  const first = await report('recompute')
  assert.partialDeepStrictEqual(first, { code: 0, ok: true, scored: 3, issued: 3 })
  assert.partialDeepStrictEqual(await report('recompute'), { code: 0, scored: 0 })
  const again = await report('recompute', '--all', '--workers', '3')
  assert.partialDeepStrictEqual(again, { code: 0, scored: 3, kept: 3, issued: 0 })
  const rows = await db.rows<{ subject: string; score: number }>(sql`
    select c.subject, s.score from score_snapshots s
    join score_credentials c on c.vc_sha256 = s.vc_sha256 where s.state = 'active'
    order by c.subject`)
  assert.deepEqual(
    rows.map(({ subject }) => subject),
    [0, 1, 2].map((n) => `https://scores.example.org/u/person-${n}`),
  )
  assert.partialDeepStrictEqual(await report('audit', 'verify'), { code: 0 })
  const actions = await db.rows(sql`
    select action, details from audit_log where action like 'scores.%' order by seq`)
  assert.partialDeepStrictEqual(actions, [
    { action: 'scores.recomputed' },
    { action: 'scores.marked' },
    { action: 'scores.recomputed' },
  ])
})

test('revoking evidence and withdrawing consent take effect at once, by command alone', async () => {
  const { report, db } = await installationWithWorkers(2)
  await report('recompute')
  const revoked = await report(
    'evidence',
    'revoke',
    'skill-exams/person-0-1',
    '--reason',
    'policy',
    '--yes',
  )
  assert.partialDeepStrictEqual(revoked, { code: 0, rescored: [{ outcome: 'issued' }] })
  const events = await db.rows<{ type: string }>(sql`
    select type from webhook_events where type <> 'candidate.consent_changed' order by seq desc
    limit 2`)
  assert.deepEqual(
    events.map(({ type }) => type),
    ['score.revised', 'evidence.revoked'],
  )
  const open = async (username: string) => {
    const [row] = await db.rows<{ count: number }>(sql`
      select count(*) as count from score_credentials
      where subject like '%/' || ${username}::text and revoked_at is null`)
    return row?.count
  }
  assert.equal(await open('person-1'), 1)
  await report('consent', 'withdraw', 'person-1', 'score_sharing')
  assert.equal(await open('person-1'), 0)
  assert.equal(await open('person-0'), 1)
  await report('identity', 'revoke', 'person-0')
  assert.equal(await open('person-0'), 0)
})

test('without a signing key no score is computed, but evidence can be revoked', async () => {
  const { run, report, file } = await installation()
  await report('sources', 'register', '--from', file('s.ndjson', sources))
  await report('workers', 'import', '--from', file('w.ndjson', [publicLine({ username: 'ada' })]))
  await report('evidence', 'import', '--from', file('e.ndjson', evidenceOf('ada', 800)))
  const refused = await run(['recompute'])
  assert.equal(refused.code, 1)
  assert.match(refused.err, /No signing key is active\. Run `assay keys create`/)
  const revoked = await run([
    'evidence',
    'revoke',
    'skill-exams/ada-1',
    '--reason',
    'policy',
    '--yes',
  ])
  assert.equal(revoked.code, 0)
  assert.match(revoked.out, /left to the next recomputation/)
})

test('SIGKILL during a recomputation, repeatedly: in the end each worker has one score, one credential and one event', async () => {
  const { report, start, db, url } = await installationWithWorkers(1_200)
  // Holds a worker of the queue's last batch, so that an earlier batch is committed by then even
  // with three parallel workers.
  const [last] = await db.rows<{ id: string }>(sql`
    update score_recomputations set since = since + interval '1 hour'
    where worker_id = (select max(worker_id::text)::uuid from score_recomputations)
    returning worker_id as id`)
  const when = `new.worker_id = '${last?.id}'`
  for (const round of [1, 2]) {
    const held = await holdInserts(url, { table: 'score_snapshots', when })
    const child = start(['recompute', '--workers', '3'])
    const closed = once(child, 'close')
    await held.reached(child)
    child.kill('SIGKILL')
    const [, signal] = await closed
    await held.release()
    assert.equal(signal, 'SIGKILL', `round ${round}`)
    const [found] = await db.rows<{ scored: number; halves: number }>(sql`
      select count(s.worker_id) as scored,
        count(*) filter (where (s.worker_id is null) <> (r.worker_id is not null)
          or (s.worker_id is null) <> (e.worker_id is null)
          or (s.vc_sha256 is null) <> (e.id is null)) as halves
      from workers w
      left join score_snapshots s on s.worker_id = w.id
      left join score_recomputations r on r.worker_id = w.id
      left join webhook_events e on e.worker_id = w.id and e.type = 'score.updated'`)
    const { scored = 0, halves } = found ?? {}
    assert.ok(scored > 0 && scored < 1_200, `round ${round}: ${scored} scored`)
    assert.equal(halves, 0)
  }
  assert.equal((await report('recompute', '--workers', '2')).code, 0)
  const [counts] = await db.rows(sql`
    select (select count(*) from score_snapshots) as scores,
      (select count(*) from score_credentials where superseded_at is null) as credentials,
      (select count(*) from webhook_events where type = 'score.updated') as events`)
  assert.deepEqual(counts, { scores: 1_200, credentials: 1_200, events: 1_200 })
})

test('a server computes due scores in the background', async () => {
  const { env, db } = await installationWithWorkers(2)
  await startServer(env)
  const issued = sql`select 1 from webhook_events where type = 'score.updated'`
  await eventually('both are scored', {
    see: async () => (await db.rows(issued)).length === 2,
  })
})

test('one altered byte in the engine: /readyz answers 503 and names it, no score is computed, and all else works, revocation included', async () => {
  const { env, report, db } = await installationWithWorkers(1)
  await report('recompute')
  const root = join(temporaryFolder(), 'release')
  const folders = ['src', 'engines', 'vectors', 'vocabulary', 'migrations', 'docs', 'packages']
  const files = ['package.json', 'README.md', ...rootPages]
  for (const name of [...folders, ...files]) cpSync(name, join(root, name), { recursive: true })
  symlinkSync(resolve('node_modules'), join(root, 'node_modules'))
  const engine = join(root, 'engines', readdirSync(join(root, 'engines'))[0] ?? '')
  writeFileSync(engine, readFileSync(engine, 'utf8').replace('250', '251'))
  const file = join(root, 'src/cli/assay.ts')

  const server = await startServer(env, [], file)
  const ready = await fetch(`${server.base}/readyz`)
  assert.equal(ready.status, 503)
  assert.partialDeepStrictEqual(await ready.json(), {
    checks: { database: 'ok', engine: 'altered' },
  })
  assert.equal((await fetch(`${server.base}/standard/v1/skills`)).status, 200)
  const result = await fetch(`${server.base}/.well-known/service-engine.json`)
  assert.partialDeepStrictEqual(await result.json(), {
    engine: { lifecycle: 'refused', refusal: 'altered', binary_sha256: null },
  })
  const manifest = await fetch(
    `${server.base}/.well-known/service-score-core-release-manifest.json`,
  )
  assert.partialDeepStrictEqual(await manifest.json(), { binary: { sha256: null } })

  const doctor = await assay(['doctor', '--json'], env, file)
  const { findings } = JSON.parse(doctor.out)
  const engineFinding = findings.find(({ check }: { check: string }) => check === 'engine')
  assert.deepEqual([doctor.ended, engineFinding.level], [1, 'fail'])
  assert.match(engineFinding.message, /^no score is computed: engines\/.* has the SHA-256 /)

  const refused = await assay(['recompute', '--all'], env, file)
  assert.equal(refused.ended, 1)
  assert.match(refused.err, /Scores cannot be computed: engines\/.* has the SHA-256/)
  const args = ['evidence', 'revoke', 'skill-exams/person-0-1', '--reason', 'policy', '--yes']
  assert.equal((await assay(args, env, file)).ended, 0)
  const [left] = await db.rows<{ open: number; due: number }>(sql`
    select (select count(*) from score_credentials where revoked_at is null) as open,
      (select count(*) from score_recomputations) as due`)
  assert.deepEqual(left, { open: 0, due: 1 })
})
