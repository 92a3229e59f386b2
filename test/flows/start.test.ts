/**
 * The start of `assay serve`: errors name their cause, and the demo works as printed, also on the
 * second start.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { publicUrl } from '../support/build/credentials.ts'
import {
  base64Json,
  payloadV1,
  readBase64Json,
  signAuthorization,
  testTerms,
  testWallet,
} from '../support/build/payments.ts'
import { beforeRival } from '../support/fault/rival.ts'
import { ask } from '../support/start/ask.ts'
import { emptyDatabase } from '../support/start/database.ts'
import { get, type IssuedJson, issue, scoreLine, verify } from '../support/start/deployment.ts'
import {
  assay,
  type Env,
  eventually,
  freePort,
  isAlive,
  postgresPid,
  report,
  type ServerProcess,
  startServer,
  temporaryFolder,
} from '../support/start/processes.ts'

const folder = temporaryFolder()

test('all invalid settings are reported at once, before anything is opened: one line of the log by a server, one line each by a command', async () => {
  const dataDir = join(folder, 'never')
  const wrong = {
    PORT: '70000',
    PUBLIC_URL: 'https://scores.example.org/path',
    DATABASE_URL: 'mysql://root:secret@localhost/x',
    TRUSTED_PROXIES: '0.0.0.0/0',
    LOG_LEVEL: 'loud',
    PROCESSES: '0',
    CREDENTIAL_VALIDITY_DAYS: 'a year',
  }
  const { ended, out, err } = await assay(['serve'], { ...wrong, ASSAY_DATA_DIR: dataDir })
  assert.equal(ended, 2)
  assert.equal(err, '')
  const line = JSON.parse(out)
  assert.deepEqual([line.level, line.msg], ['error', 'the settings are not valid'])
  const named = [...String(line.why).matchAll(/([A-Z_]+) must be /g)].map(([, name]) =>
    String(name),
  )
  assert.deepEqual(named.toSorted(), Object.keys(wrong).toSorted())
  const command = await assay(['migrate'], { ...wrong, ASSAY_DATA_DIR: dataDir })
  assert.equal(command.ended, 2)
  const lines = command.err.trim().split('\n').slice(1)
  assert.deepEqual(
    lines.map((text) => /^ {2}(\w+) must be /.exec(text)?.[1] ?? '').toSorted(),
    Object.keys(wrong).toSorted(),
  )
  assert.doesNotMatch(out + command.err, /secret/)
  assert.equal(existsSync(dataDir), false)
})

test('unreadable or invalid certificates for webhooks stop the start, and the message names the setting', async () => {
  const database = await emptyDatabase()
  const noCertificate = join(folder, 'ca.pem')
  writeFileSync(noCertificate, 'not a certificate\n')
  const env = {
    DATABASE_URL: database.url,
    PUBLIC_URL: publicUrl,
    ASSAY_DATA_DIR: join(folder, 'ca'),
    SECRETS_KEYRING: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
  }
  assert.equal((await assay(['migrate'], env)).ended, 0)
  for (const WEBHOOK_CA_FILE of [join(folder, 'nowhere.pem'), folder, noCertificate]) {
    const { ended, out } = await assay(['jobs'], { ...env, WEBHOOK_CA_FILE })
    assert.equal(ended, 1)
    assert.match(whyEnded(out), /^WEBHOOK_CA_FILE must name a file of certificates in PEM \(/)
  }
  await database.drop()
})

/** Returns the reason why a process ended, from its log. */
function whyEnded(log: string): string {
  const lines = log
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const ends = lines.find(({ msg }) => msg === 'the process ends')
  assert.equal(ends?.level, 'error', log)
  return ends.why
}

test('a key file that is a point of small order stops the start; the message names the file and no database is opened', async () => {
  const dataDir = join(folder, 'unsound')
  const file = join(dataDir, 'keys', 'unsound.pem')
  mkdirSync(join(dataDir, 'keys'), { recursive: true })
  const ofEd25519 = Buffer.from('302a300506032b6570032100', 'hex')
  const point = Buffer.concat([ofEd25519, Buffer.from([1]), Buffer.alloc(31)]).toString('base64')
  writeFileSync(file, `-----BEGIN PUBLIC KEY-----\n${point}\n-----END PUBLIC KEY-----\n`)
  const { ended, out, err } = await assay(['serve'], {
    ASSAY_DATA_DIR: dataDir,
    PUBLIC_URL: publicUrl,
  })
  assert.equal(ended, 1)
  assert.equal(err, '')
  assert.ok(whyEnded(out).startsWith(`${file}: `), out)
  assert.match(whyEnded(out), /point of small order/)
  assert.deepEqual(readdirSync(dataDir), ['keys'])
})

test('an operator’s database without migrations is not changed; the named command migrates it', async () => {
  const database = await emptyDatabase()
  after(() => database.drop())
  const env = { ASSAY_DATA_DIR: folder, DATABASE_URL: database.url, PUBLIC_URL: publicUrl }
  const { ended, out } = await assay(['serve'], env)
  assert.equal(ended, 1)
  assert.match(whyEnded(out), /^The database of DATABASE_URL lacks 0001_\S+.*`assay migrate`/)
  await report(['migrate'], env)
  const server = await startServer(env)
  server.signal('SIGINT')
  assert.equal(await server.ended, 0)
})

test('a port in use gives one sentence with the setting, also for several processes and for the metrics', async () => {
  const database = await emptyDatabase()
  after(() => database.drop())
  const env = { ASSAY_DATA_DIR: folder, DATABASE_URL: database.url, PUBLIC_URL: publicUrl }
  await report(['migrate'], env)
  const port = await portInUse()
  for (const [args, setting] of [
    [[], 'PORT'],
    [['--processes', '2'], 'PORT'],
    [[], 'METRICS_PORT'],
  ] as const) {
    const { ended, out } = await assay(['serve', ...args], { ...env, [setting]: String(port) })
    assert.equal(ended, 1)
    assert.equal(
      whyEnded(out),
      `Port ${port} of 127.0.0.1 is in use. Stop the process that uses it, or set ${setting} to another port.`,
    )
  }
})

async function portInUse(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  after(() => server.close())
  await once(server, 'listening')
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** A name that a shell splits unless it is quoted. */
const dataDir = join(folder, "it's a place")
const port = await freePort()
const demo: Env = {
  ASSAY_DATA_DIR: dataDir,
  PORT: String(port),
  PUBLIC_URL: `http://localhost:${port}`,
  TRUSTED_PROXIES: '127.0.0.1',
}

function credential(name: string): IssuedJson {
  return JSON.parse(readFileSync(join(dataDir, 'demo/credentials', `${name}.json`), 'utf8'))
}

const expected = {
  valid: null,
  revoked: 'revoked',
  tampered: 'signature_invalid',
  expired: 'expired',
  superseded: null,
  'wrong-issuer': 'issuer_mismatch',
}

async function assertStory({ base }: ServerProcess): Promise<void> {
  for (const [name, reason] of Object.entries(expected)) {
    const { body } = await verify(base, credential(name))
    assert.deepEqual([body.valid, body.reason ?? null], [reason === null, reason], name)
  }
}

/** Runs the commands as printed, in a shell. */
async function assertCommandsWork(server: ServerProcess): Promise<void> {
  const printed = (): string[] =>
    server
      .out()
      .split('\n')
      .slice(0, -1)
      .filter((line) => line.startsWith('curl '))
  // They are printed after the line that says that the server listens.
  await eventually('the commands are printed', { see: async () => printed().length >= 4 })
  const commands = printed()
  const answers = await Promise.all(
    commands.map((command) => promisify(execFile)('/bin/sh', ['-c', command])),
  )
  const [valid, search, tampered, status, ...more] = answers.map(({ stdout }) => stdout)
  assert.match(valid ?? '', /"valid":true/)
  assert.match(search ?? '', /"resultCount":1/)
  assert.match(tampered ?? '', /"valid":false,"reason":"signature_invalid"/)
  assert.match(status ?? '', /"status":"revoked"/)
  assert.deepEqual(more, [])
}

/** Signs in with the printed link, as the developer of the demo. */
async function assertLinkSignsIn(server: ServerProcess): Promise<void> {
  const [, token = ''] = /^http\S+\/sign-in\/confirm\?token=([\w-]{43})$/m.exec(server.out()) ?? []
  const confirmed = await ask(server.base, {
    method: 'POST',
    path: '/sign-in/confirm',
    headers: {
      'Content-Type': 'application/x-www-form-urlencoded',
      Origin: `http://localhost:${port}`,
    },
    body: `token=${token}`,
  })
  assert.equal(confirmed.status, 303)
  const [Cookie = ''] = String(confirmed.headers['set-cookie']).split(';')
  const home = await ask(server.base, { path: '/dashboard', headers: { Cookie } })
  assert.match(home.body.toString(), /developer@example\.com/)
}

async function stop(server: ServerProcess): Promise<void> {
  server.signal('SIGINT')
  assert.equal(await server.ended, 0, server.err())
}

let issued: IssuedJson

test('two concurrent first starts on one data directory share database, key and demo; the commands work as printed', async () => {
  const servers = await Promise.all([
    startServer(demo, ['--demo']),
    startServer({ ...demo, PORT: '0' }, ['--demo']),
  ])
  for (const server of servers) await assertStory(server)
  const { keys } = await report(['keys', 'list'], demo)
  assert.deepEqual(
    (keys as { state: string }[]).map(({ state }) => state),
    ['active'],
  )
  assert.equal((await get(servers[0].base, '/readyz')).status, 200)
  await assertCommandsWork(servers[0])

  const postgres = postgresPid(dataDir) ?? 0
  await stop(servers[1])
  await assertStory(servers[0])
  ;[issued] = (await issue(demo, folder, [scoreLine()])) as [IssuedJson]
  await stop(servers[0])
  assert.ok(!isAlive(postgres), 'the last one stopped the database')
})

test('the second start takes less than 5 seconds and reuses everything', async () => {
  const before = credential('valid')
  const rival = async (): Promise<void> => {
    for (let i = 0; i < 5; i++) await assay(['--help'], {})
  }
  const server = await beforeRival(
    { what: 'the start', withinMs: 5_000, rival },
    startServer(demo, ['--demo']),
  )
  assert.deepEqual(credential('valid'), before)
  assert.doesNotMatch(server.out(), /making the demo/)
  assert.equal((await verify(server.base, issued)).body.valid, true)
  await assertStory(server)
  await assertCommandsWork(server)
  await assertLinkSignsIn(server)
  await assertReportWorks(server)
  await assertChallenges(server)
  await stop(server)
})

/**
 * Runs the curl command of docs/agent-decisions.md as printed: a new account can report without an
 * unlock (decision D43).
 */
async function assertReportWorks({ base }: ServerProcess): Promise<void> {
  const page = readFileSync('docs/agent-decisions.md', 'utf8')
  const command = page.match(/## Send a report\n\n```sh\n([^`]+)```/)?.[1] ?? ''
  const env = {
    ...process.env,
    BASE: base,
    API_KEY: readFileSync(join(dataDir, 'demo/api-key'), 'utf8').trim(),
  }
  const { stdout } = await promisify(execFile)('/bin/sh', ['-c', command], { env })
  const created = JSON.parse(stdout)
  assert.equal(created.schemaVersion, 'service.agent_decision_report_create.v1', stdout)
  assert.equal(created.replayed, false)
}

async function assertChallenges({ base }: ServerProcess): Promise<void> {
  const path = '/api/v1/candidates/search?q=typescript'
  const challenge = await ask(base, { path })
  assert.equal(challenge.status, 402)
  const body = JSON.parse(challenge.body.toString())
  assert.deepEqual(readBase64Json(challenge.headers['payment-required']), body)
  const { payTo, maxAmountRequired: amount } = body.accepts[0]
  const terms = { ...testTerms, payTo, amount }
  const payment = base64Json(payloadV1(await signAuthorization(testWallet(), terms), terms))
  const paid = await ask(base, { path, headers: { 'X-PAYMENT': payment } })
  assert.equal(paid.status, 503)
  assert.equal(JSON.parse(paid.body.toString()).error, 'payment_facilitator_unavailable')
}

test('METERING=on without a facilitator: 402 with a challenge if X402_PAY_TO is set, otherwise without one and with a warning (decision D21)', async () => {
  const payee = await startServer({ ...demo, X402_PAY_TO: testTerms.payTo })
  await assertChallenges(payee)
  await stop(payee)
  assert.doesNotMatch(payee.out(), /X402_PAY_TO/)
  const nobody = await startServer(demo)
  await assertUnchallenged(nobody, [402, 'payment_required'])
  assert.match(nobody.out(), /get 402 payment_required without a challenge.* Set X402_PAY_TO/)
})

test('METERING=off: the demo answers 401 without a key, also with X402_PAY_TO', async () => {
  const off = { METERING: 'off', X402_PAY_TO: testTerms.payTo }
  const server = await startServer({ ...demo, ...off }, ['--demo'])
  await assertUnchallenged(server, [401, 'missing_api_key'])
  assert.doesNotMatch(server.out(), /X402_PAY_TO/)
})

async function assertUnchallenged(
  server: ServerProcess,
  [status, error]: [status: number, error: string],
): Promise<void> {
  const reply = await ask(server.base, { path: '/api/v1/candidates/search?q=typescript' })
  await stop(server)
  assert.equal(reply.status, status)
  assert.equal(reply.headers['payment-required'], undefined)
  assert.equal(JSON.parse(reply.body.toString()).error, error)
}

test('another PUBLIC_URL is another issuer: the demo files are made again, and earlier credentials are not ours', async () => {
  const before = credential('valid')
  const otherPort = String(await freePort())
  const moved = { ...demo, PORT: otherPort, PUBLIC_URL: `http://localhost:${otherPort}` }
  const server = await startServer(moved, ['--demo'])
  assert.notEqual(credential('valid').id, before.id)
  await assertStory(server)
  await assertCommandsWork(server)
  assert.equal((await verify(server.base, before)).body.reason, 'issuer_mismatch')
  await stop(server)
})

test('two concurrent starts with two addresses: the demo files belong completely to one of them', async () => {
  const urls = ['http://localhost:1001', 'http://localhost:1002']
  const servers = await Promise.all(
    urls.map((url) => startServer({ ...demo, PORT: '0', PUBLIC_URL: url }, ['--demo'])),
  )
  const made = JSON.parse(readFileSync(join(dataDir, 'demo/made.json'), 'utf8'))
  const owner = servers[urls.indexOf(made.publicUrl)]
  assert.ok(owner !== undefined, made.publicUrl)
  await assertStory(owner)
  const { length } = readdirSync(join(dataDir, 'demo/credentials'))
  assert.equal(length, 6)
  for (const server of servers) await stop(server)
  assert.equal(postgresPid(dataDir), null)
})
