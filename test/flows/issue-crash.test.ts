/**
 * A process that issues credentials is killed at any time. Every credential that it announced is in
 * the registry and verifies, and no issue is half done.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { after, test } from 'node:test'
import { sha256Hex } from '../../src/platform/crypto/bytes.ts'
import { publishDueLists } from '../../src/score-credentials/publish-lists.ts'
import { issuedAt } from '../support/build/credentials.ts'
import { issuer, liveVerdict, testRegistry } from '../support/build/registry.ts'
import { eventually } from '../support/start/processes.ts'

const registry = await testRegistry()
const { db, client } = registry
after(() => registry.drop())

/**
 * Runs the loop until it has printed `lines` lines, waits `turns` turns of the event loop, and
 * kills it.
 */
async function killedAfter(lines: number, turns: number): Promise<string[]> {
  const child = spawn(process.execPath, ['test/support/fault/issue-loop.ts', registry.url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const printed: string[] = []
  const output = createInterface({ input: child.stdout })
  const enough = new Promise<void>((resolve) => {
    output.on('line', (line) => {
      if (printed.push(line) === lines) resolve()
    })
  })
  const closed = once(output, 'close')
  await Promise.race([enough, closed])
  for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate)
  child.kill('SIGKILL')
  await closed
  return printed.filter((line) => line.length === 64)
}

test('SIGKILL during issuing: no announced credential is lost and no row is incomplete', async () => {
  const announced: string[] = []
  for (const turns of [0, 3, 17, 111, 500, 2_000])
    announced.push(...(await killedAfter(1 + (turns % 40), turns)))
  assert.ok(announced.length >= 6, `${announced.length} announced`)
  assert.equal(new Set(announced).size, announced.length)

  await eventually('the last one’s transaction has ended', {
    see: async () => (await client.query(othersAtWork)).rowCount === 0,
  })
  const { rows } = await client.query(
    `select encode(vc_sha256, 'hex') as digest, payload, proof, revoked_at, superseded_at
     from score_credentials`,
  )
  const found = new Map(rows.map((row) => [row.digest, row]))
  for (const digest of announced)
    assert.ok(found.has(digest), `${digest} was announced and is lost`)
  for (const row of rows) {
    assert.equal(sha256Hex(row.payload), row.digest)
    const credential = { ...JSON.parse(row.payload), proof: JSON.parse(row.proof) }
    const { valid, reason } = await liveVerdict(db, credential, issuedAt)
    assert.deepEqual(
      [valid, reason],
      row.revoked_at === null ? [true, undefined] : [false, 'revoked'],
    )
  }
  const halves = await client.query(
    `select subject from score_credentials group by subject
     having count(*) filter (where superseded_at is null) <> 1`,
  )
  assert.deepEqual(halves.rows, [], 'everybody has exactly one current credential')
})

const othersAtWork = `select from pg_stat_activity
  where datname = current_database() and application_name = 'issue-loop'`

test('after the kills, one publication adds every revocation to its list', async () => {
  await publishDueLists(db, issuer, issuedAt)
  const { rows } = await client.query(
    'select count(*)::int as due from status_lists where revision > published_revision',
  )
  assert.equal(rows[0].due, 0)
})
