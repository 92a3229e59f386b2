/**
 * The drill for a stolen signing key, from the theft to the last new credential: two servers, a
 * webhook receiver, and real commands. The second server has only the file of the stolen key.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { readSigners } from '../../src/credentials/key-files.ts'
import { sql } from '../../src/platform/db/db.ts'
import { newKey } from '../support/build/keys.ts'
import { publicLine } from '../support/build/workers.ts'
import { beforeRival } from '../support/fault/rival.ts'
import { ask } from '../support/start/ask.ts'
import { testDatabase } from '../support/start/database.ts'
import { type IssuedJson, statusOf, verdictsByList, verify } from '../support/start/deployment.ts'
import {
  assay,
  type Env,
  eventually,
  report,
  type ServerProcess,
  startServer,
  temporaryFolder,
} from '../support/start/processes.ts'
import { startReceiver, testAuthority } from '../support/start/receiver.ts'

/** More than one batch of 256 workers. */
const workers = 300

const database = await testDatabase()
const { db } = database
after(() => database.drop())
const [folder, otherFolder] = [temporaryFolder(), temporaryFolder()]
writeFileSync(join(folder, 'ca.pem'), testAuthority().cert)
const env: Env = {
  DATABASE_URL: database.url,
  ASSAY_DATA_DIR: folder,
  PUBLIC_URL: 'https://scores.example.org',
  TRUSTED_PROXIES: '127.0.0.1',
  METERING: 'off',
  METRICS_PORT: '0',
  SECRETS_KEYRING: `k1:${randomBytes(32).toString('base64')}`,
  WEBHOOK_ALLOW_CIDRS: '127.0.0.1',
  WEBHOOK_PORTS: 'any',
  WEBHOOK_CA_FILE: join(folder, 'ca.pem'),
}
const receiver = await startReceiver(['127.0.0.1'], (response) => response.end())
after(() => receiver.close())

await report(['keys', 'create'], env)
await importScores()
const otherEnv = { ...env, ASSAY_DATA_DIR: otherFolder }
cpSync(join(folder, 'keys'), join(otherFolder, 'keys'), { recursive: true })
const [one, other] = await Promise.all([startServer(env), startServer(otherEnv)])
await report(['accounts', 'create', 'acme'], env)
const hook = `https://127.0.0.1:${receiver.port}/hook`
await report(['webhooks', 'create', hook, '--account', 'acme', '--event', 'score.revised'], env)
const key = await newKey(db)
const scores = await db.rows<{ id: string; username: string; vc: string }>(sql`
  select encode(s.snapshot_id, 'hex') as id, p.username, encode(s.vc_sha256, 'hex') as vc
  from score_snapshots s join profiles p using (worker_id)
  where s.state = 'active' order by p.username`)

async function importScores(): Promise<void> {
  const usernames = Array.from({ length: workers }, (_, n) => `person-${n}`)
  const item = (username: string, sourceId: string, n: number) => ({
    username,
    sourceId,
    externalId: `${username}-${sourceId}-${n}`,
    skillId: 'hss:typescript',
    type: 'assessment',
    value: 600 + n,
    observedOn: '2026-04-30',
  })
  const lines: Record<string, object[]> = {
    sources: [
      { id: 'exams', name: 'Exams', kind: 'accredited', group: 'exams' },
      { id: 'acme', name: 'Acme', kind: 'organisation', group: 'acme' },
    ],
    workers: usernames.map((username) => publicLine({ username, externalId: username })),
    evidence: usernames.flatMap((username) => [
      item(username, 'exams', 1),
      item(username, 'exams', 2),
      item(username, 'acme', 1),
    ]),
  }
  for (const [noun, verb] of [
    ['sources', 'register'],
    ['workers', 'import'],
    ['evidence', 'import'],
  ] as const) {
    const path = join(folder, `${noun}.ndjson`)
    writeFileSync(path, (lines[noun] ?? []).map((line) => `${JSON.stringify(line)}\n`).join(''))
    await report([noun, verb, '--from', path], env)
  }
  const scored = await report(['recompute'], env)
  assert.equal(scored.issued, workers)
}

async function read({ base }: ServerProcess, path: string) {
  const { status, body } = await ask(base, { path, headers: key.headers })
  return { status, body: JSON.parse(body.toString('utf8')) }
}

/** Returns the answers of both servers about the first, the middle and the last score. */
async function readSome() {
  const some = [scores[0], scores[workers >> 1], scores.at(-1)]
  const answers = [one, other].flatMap((server) =>
    some.map(async (score) => {
      const { body: publicScore } = await read(server, `/api/v1/scores/${score?.id}`)
      const { body: candidate } = await read(server, `/api/v1/candidates/${score?.username}`)
      const paths = [`scores/${score?.id}`, `candidates/${score?.username}`]
      const credentials = await Promise.all(
        paths.map((path) => read(server, `/api/v1/${path}/credential`)),
      )
      return { server, publicScore, candidate, credentials }
    }),
  )
  return Promise.all(answers)
}

/** Returns the credential that each event named as revoked, in the order of arrival. */
function revokedInEvents(): string[] {
  const events = receiver.received.map(({ body }) => JSON.parse(body))
  for (const { type, data } of events) {
    assert.deepEqual([type, data.reason], ['score.revised', 'correction'])
    assert.equal(data.snapshotId, data.previousSnapshotId)
    assert.equal(data.score, data.previousScore)
  }
  return events.map(({ data }) => data.previousScoreVcSha256)
}

async function gauge({ base, out }: ServerProcess): Promise<string | undefined> {
  const port = Number(/"metricsPort":(\d+).*"msg":"listening"/.exec(out())?.[1])
  const { body } = await ask(base.replace(/\d+$/, String(port)), { path: '/metrics' })
  return /^scores_without_credential (\d+)$/m.exec(body.toString('utf8'))?.[1]
}

const findingOf = async (check: string) => {
  const { out } = await assay(['doctor', '--json'], env)
  const { findings } = JSON.parse(out) as {
    findings: { check: string; level: string; message: string }[]
  }
  return findings.find((one) => one.check === check)
}

async function presentCredentials(): Promise<string[]> {
  const rows = await db.rows<{ vc: string }>(sql`
    select encode(vc_sha256, 'hex') as vc from public_scores where vc_sha256 is not null`)
  return rows.map(({ vc }) => vc)
}

let stolen: IssuedJson
let firstKid = ''

test('after the theft: no key signs, every read answers without a credential, and doctor and the gauge count the scores', async () => {
  assert.equal(scores.length, workers)
  const [before] = await readSome()
  stolen = before?.credentials[0]?.body
  assert.equal((await verify(one.base, stolen)).body.valid, true)
  assert.deepEqual(await findingOf('credentials'), {
    check: 'credentials',
    level: 'ok',
    message: `${workers} public scores, each with a valid credential`,
  })
  firstKid = [...(await readSigners(join(folder, 'keys'))).keys()][0] ?? ''
  const unconfirmed = await assay(['keys', 'revoke', firstKid], env)
  assert.match(unconfirmed.err, new RegExp(`${workers} public scores get new credentials`))

  const revoked = await report(['keys', 'revoke', firstKid, '--yes'], env)
  assert.partialDeepStrictEqual(revoked, { result: 'revoked', scores: workers, reissued: 0 })
  for (const { server, publicScore, candidate, credentials } of await readSome()) {
    assert.deepEqual([publicScore.scoreVc, candidate.score.scoreVc], [null, null])
    for (const { status, body } of credentials)
      assert.deepEqual([status, body.error], [404, 'score_credential_not_found'])
    const { body: verdict } = await verify(server.base, stolen)
    assert.deepEqual([verdict.valid, verdict.reason], [false, 'key_revoked'])
    assert.equal((await statusOf(server.base, stolen)).body.status, 'revoked')
  }
  assert.partialDeepStrictEqual(await findingOf('credentials'), { level: 'fail' })
  assert.match(
    String((await findingOf('credentials'))?.message),
    new RegExp(`^${workers} of ${workers} public scores have no valid credential`),
  )
  await eventually('the gauge counts them', {
    see: async () => (await gauge(one)) === String(workers),
  })
  assert.deepEqual(receiver.received, [])
})

test('a new key: the server that has its file issues every credential again, and each event names one revoked credential', async () => {
  await report(['keys', 'create'], env)
  await eventually('every score has a credential', {
    see: async () => (await presentCredentials()).length === workers,
  })
  await eventually('every event has arrived', {
    see: async () => receiver.received.length >= workers,
  })
  assert.deepEqual(revokedInEvents().toSorted(), scores.map(({ vc }) => vc).toSorted())
  for (const { server, publicScore, credentials } of await readSome()) {
    const score = scores.find(({ id }) => id === publicScore.id)
    assert.notEqual(publicScore.scoreVc.sha256, score?.vc)
    const [credential] = credentials.map(({ body }) => body)
    assert.equal((await verify(server.base, credential)).body.valid, true)
    assert.equal((await statusOf(server.base, credential)).body.status, 'active')
  }
  const { body: old } = await verify(other.base, stolen)
  assert.deepEqual([old.reason, old.notes.includes('superseded')], ['key_revoked', true])
  assert.partialDeepStrictEqual(await findingOf('credentials'), { level: 'ok' })
  await eventually('the gauge is zero', { see: async () => (await gauge(one)) === '0' })
})

test('a second theft with a key ready: one command replaces all credentials, keeps the status of the old ones, and no read after its answer returns one of them', async () => {
  const before = new Set(await presentCredentials())
  const [current] = await readSome()
  const credential = current?.credentials[0]?.body as IssuedJson
  const { active } = await rotateToNewKey()
  const second = String(current?.credentials[0]?.body.proof.verificationMethod).split('#')[1] ?? ''
  assert.notEqual(second, active)
  const revoking = ['keys', 'revoke', second, '--yes', '--keep-credentials']
  const revoked = await report(revoking, env)
  assert.partialDeepStrictEqual(revoked, { scores: workers, credentials: 'kept' })
  const present = await presentCredentials()
  assert.deepEqual([present.length, present.filter((vc) => before.has(vc)).length], [workers, 0])
  for (const { publicScore, candidate } of await readSome()) {
    assert.equal(before.has(publicScore.scoreVc.sha256), false)
    assert.deepEqual(candidate.score.scoreVc, publicScore.scoreVc)
  }
  assert.equal((await verify(other.base, credential)).body.reason, 'key_revoked')
  assert.equal((await statusOf(other.base, credential)).body.status, 'active')
  await eventually('every event has arrived', {
    see: async () => receiver.received.length >= 2 * workers,
  })
  assert.deepEqual(new Set(revokedInEvents().slice(workers)), before)
})

async function rotateToNewKey(): Promise<{ active: string }> {
  await report(['keys', 'create'], env)
  const { active } = await report(['keys', 'rotate', '--now'], env)
  return { active: String(active) }
}

test('afterwards nothing is left to do: recompute keeps every score, the lists verify offline, and the audit log is whole', async () => {
  const again = await report(['recompute', '--all'], env)
  // The servers' jobs take a part of the workers.
  assert.partialDeepStrictEqual(again, { issued: 0, reissued: 0 })
  assert.equal(again.kept, again.scored)
  const [present] = await readSome()
  const credential = present?.credentials[0]?.body as IssuedJson
  const isListed = async () => (await verdictsByList(other.base, [credential]))[0]?.valid
  const what = 'the new credential verifies offline'
  await beforeRival({ what, withinMs: 2_000, rival: isListed }, eventually(what, { see: isListed }))
  assert.equal(receiver.received.length, 2 * workers)
  assert.equal((await report(['audit', 'verify'], env)).ok, true)
  for (const server of [one, other]) {
    server.signal('SIGTERM')
    assert.equal(await server.ended, 0, server.err())
  }
})
