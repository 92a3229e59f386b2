/**
 * Fires every alert of deploy/prometheus by its real fault: a Prometheus scrapes a server and a
 * jobs process, and evaluates the rules without their waits.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { readSigners } from '../../src/credentials/key-files.ts'
import { startEmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.ts'
import { changed, inside, sign, vector } from '../../test/support/build/credentials.ts'
import {
  base64Json,
  payloadV1,
  signAuthorization,
  testTerms,
  testWallet,
} from '../../test/support/build/payments.ts'
import { publicLine } from '../../test/support/build/workers.ts'
import { ask } from '../../test/support/start/ask.ts'
import { onServer } from '../../test/support/start/database.ts'
import { ownedFolder, runAs, startGuarded } from '../../test/support/start/debian-postgres.ts'
import { startMailServer } from '../../test/support/start/mail-server.ts'
import {
  type Child,
  type Env,
  eventually,
  freePort,
  report,
  spawnAssay,
  startServer,
  temporaryFolder,
} from '../../test/support/start/processes.ts'

const rules = readFileSync('deploy/prometheus/assay.rules.yaml', 'utf8')
const alerts = [...rules.matchAll(/alert: (\w+)/g)].map(([, name = '']) => name)
const seen = new Map<string, number>()

const folder = temporaryFolder()
const dataDir = join(folder, 'database')
const openDatabase = () => startEmbeddedPostgres({ dataDir, durable: false, log: () => {} })
let database = await openDatabase()
const run = (statement: string) => onServer(database.url, statement)

const mails = await startMailServer()
const facilitator = createServer((request, response) => {
  const kinds = [{ x402Version: 2, scheme: 'exact', network: 'eip155:84532' }]
  if (request.url === '/supported')
    response.end(JSON.stringify({ kinds, extensions: [], signers: {} }))
  else if (request.url === '/verify') response.end(JSON.stringify({ isValid: true, payer }))
  // The caller cannot know whether the payment was made.
  else request.socket.destroy()
})
facilitator.listen(0, '127.0.0.1')
await once(facilitator, 'listening')
after(() => facilitator.close())
const wallet = testWallet()
const payer = wallet.address

writeFileSync(join(folder, 'mail-ca.pem'), mails.ca)
const metricsPorts = { server: await freePort(), jobs: await freePort() }
const env: Env = {
  DATABASE_URL: database.url,
  ASSAY_DATA_DIR: join(folder, 'data'),
  PUBLIC_URL: 'https://scores.example.org',
  SECRETS_KEYRING: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
  WEBHOOK_ALLOW_CIDRS: '127.0.0.1',
  WEBHOOK_PORTS: 'any',
  KEY_CALLS_PER_MINUTE: '1000000',
  KEY_CALLS_PER_DAY: '100000000',
  SMTP_URL: mails.url,
  SMTP_CA_FILE: join(folder, 'mail-ca.pem'),
  MAIL_FROM: 'assay@scores.example.org',
  X402_PAY_TO: testTerms.payTo,
  X402_FACILITATOR: 'remote',
  X402_FACILITATOR_URL: `http://127.0.0.1:${(facilitator.address() as AddressInfo).port}`,
  X402_SECRETS: 'a secret of at least thirty-two characters',
}
await report(['migrate'], env)
await report(['keys', 'create'], env)
await load('sources', 'register', [
  { id: 'exams', name: 'Exams', kind: 'accredited', group: 'exams' },
  { id: 'acme', name: 'Acme', kind: 'organisation', group: 'acme' },
])
await load('workers', 'import', [publicLine({ username: 'ada' })])
await addEvidence(1)
await report(['recompute'], env)
await report(['accounts', 'create', 'Reader'], env)
await report(['credits', 'grant', 'Reader', '100000', '--reason', 'test'], env)
const scope = ['--scope', 'candidates:read']
const { key } = await report(['api-keys', 'create', 'Reader', ...scope], env)

const servingEnv = { ...env, METRICS_PORT: String(metricsPorts.server) }
const server = await startServer(servingEnv, ['--no-jobs'])
let jobs: Child = startJobs()

/** Starts the jobs process. `more` are settings that differ. */
function startJobs(more: Env = {}): Child {
  return spawnAssay(['jobs'], { ...env, METRICS_PORT: String(metricsPorts.jobs), ...more })
}

/** Kills the jobs process. It counts as dead a minute after its last heartbeat. */
async function killJobs(): Promise<void> {
  if (jobs.exitCode !== null || jobs.signalCode !== null) return
  const ended = once(jobs, 'close')
  jobs.kill('SIGKILL')
  await ended
}

async function load(noun: string, verb: string, lines: readonly object[]): Promise<void> {
  const from = join(folder, `${noun}.ndjson`)
  writeFileSync(from, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  await report([noun, verb, '--from', from], env)
}

function addEvidence(run: number): Promise<void> {
  const items = ['exams', 'acme'].flatMap((sourceId) =>
    [1, 2].map((n) => ({
      username: 'ada',
      sourceId,
      externalId: `${sourceId}-${run}-${n}`,
      skillId: 'hss:typescript',
      type: sourceId === 'exams' ? 'assessment' : 'work_product',
      value: 600 + n,
      observedOn: '2026-04-30',
    })),
  )
  return load('evidence', 'import', items)
}

/** Publishes `candidate.consent_changed` so many times. */
async function changeConsent(times: number): Promise<void> {
  for (let n = 0; n < times; n++) {
    await report(['consent', 'withdraw', 'ada', 'search_listing'], env)
    await report(['consent', 'grant', 'ada', 'search_listing'], env)
  }
}

const candidate = {
  path: '/api/v1/candidates/ada',
  headers: { Authorization: `Bearer ${String(key)}` },
}
const readCandidate = () => ask(server.base, candidate)

/** Starts a Prometheus with the rules, whose waits and windows are short. */
async function startPrometheus(): Promise<number> {
  const place = join(folder, 'prometheus')
  ownedFolder(place)
  const eager = rules.replaceAll(/^ +for: .*\n/gm, '').replaceAll(/\[\w+\]/g, '[40s]')
  writeFileSync(join(place, 'assay.rules.yaml'), eager)
  const targets = Object.values(metricsPorts).map((port) => `127.0.0.1:${port}`)
  writeFileSync(
    join(place, 'prometheus.yml'),
    JSON.stringify({
      global: { scrape_interval: '3s', scrape_timeout: '3s', evaluation_interval: '2s' },
      rule_files: ['assay.rules.yaml'],
      scrape_configs: [{ job_name: 'assay', static_configs: [{ targets }] }],
    }),
  )
  const port = await freePort()
  const address = `--web.listen-address=127.0.0.1:${port}`
  const files = ['--config.file=prometheus.yml', '--storage.tsdb.path=data']
  after(startGuarded(place, ['prometheus', ...files, address]).stop)
  return port
}

const hasPrometheus = spawnSync('prometheus', ['--version']).status === 0
const skip = hasPrometheus ? false : 'needs prometheus of the Debian package prometheus'
const prometheus = hasPrometheus ? await startPrometheus() : 0

/** Returns the names of the alerts that fire now. */
async function firing(): Promise<string[]> {
  const reply = await fetch(`http://127.0.0.1:${prometheus}/api/v1/alerts`).catch(() => null)
  if (reply === null) return []
  const { data } = (await reply.json()) as { data: { alerts: { labels: { alertname: string } }[] } }
  return data.alerts.map(({ labels }) => labels.alertname)
}

/** Registers a test: the fault fires these alerts. `undo` ends the fault. */
function faultFires(
  fault: string,
  names: readonly string[],
  make: () => Promise<unknown>,
  undo: () => Promise<unknown> = async () => {},
): void {
  void test(`${names.join(', ')}: ${fault}`, { skip }, async () => {
    const startedAt = performance.now()
    await make()
    for (const name of names) {
      await eventually(`${name} fires`, {
        withinMs: 150_000,
        see: async () => (await firing()).includes(name),
      })
      seen.set(name, Math.round((performance.now() - startedAt) / 1_000))
    }
    await undo()
  })
}

test('a service that works fires no alert', { skip }, async () => {
  const query = encodeURIComponent('count(count_over_time(survey_age_seconds[1m]) > 5)')
  await eventually('both processes were scraped', {
    withinMs: 120_000,
    see: async () => {
      const url = `http://127.0.0.1:${prometheus}/api/v1/query?query=${query}`
      const text = await fetch(url).then(
        (reply) => reply.text(),
        () => '',
      )
      return text.includes('"2"]')
    },
  })
  assert.deepEqual(await firing(), [])
})

faultFires('a key ends in three days', ['AssayApiKeysEnd'], () =>
  report(['api-keys', 'create', 'Reader', ...scope, '--expires-days', '3'], env),
)

faultFires('a dispute is not decided in time', ['AssayDisputeOverdue'], async () => {
  await report(['disputes', 'open', 'ada', '--kind', 'score', '--no-restrict'], env)
  await run(`update disputes set opened_at = opened_at - interval '2 months', due_at = now()`)
})

faultFires('the mail server rejects a mail', ['AssayMailsGivenUp'], async () => {
  mails.answer.toRecipient = { code: 550, text: 'no such user' }
  await report(['users', 'invite', 'eve@example.org', '--account', 'Reader'], env)
})

faultFires('the mail server is away', ['AssayMailsStuck'], async () => {
  await mails.stop()
  await report(['users', 'invite', 'bob@example.org', '--account', 'Reader'], env)
})

faultFires('a webhook receiver is away', ['AssayEndpointsFail'], async () => {
  const hook = `https://127.0.0.1:${await freePort()}/hook`
  const event = ['--event', 'candidate.consent_changed']
  await report(['webhooks', 'create', hook, '--account', 'Reader', ...event], env)
  await changeConsent(3)
})

faultFires('a forged credential is verified', ['AssayKeyStolen'], async () => {
  const [signer = assert.fail()] = (await readSigners(join(folder, 'data/keys'))).values()
  const created = `${new Date().toISOString().slice(0, 19)}Z`
  const forged = changed(vector.payload, (copy) => {
    inside(copy, 'credentialSubject').score = 999
    copy.validFrom = copy.issuanceDate = created
  })
  const body = JSON.stringify(sign(forged, { by: signer, created }))
  const headers = { 'Content-Type': 'application/json' }
  await ask(server.base, { method: 'POST', path: '/api/v1/score-vc/verify', headers, body })
})

faultFires(
  'a newer release migrates the database',
  ['AssaySchemaNewer'],
  () => run(`insert into schema_migrations values ('9999-next.sql', '', now(), 9999)`),
  async () => {
    await run(`delete from schema_migrations where name = '9999-next.sql'`)
    await eventually('the server reads again', {
      see: async () => (await readCandidate()).status === 200,
    })
  },
)

faultFires(
  'a view was renamed by hand',
  ['AssayInternalErrors'],
  async () => {
    await run('alter view public_profiles rename to public_profiles_away')
    assert.equal((await readCandidate()).status, 500)
  },
  () => run('alter view public_profiles_away rename to public_profiles'),
)

const sockets: Socket[] = []
faultFires(
  'one address opens too many connections',
  ['AssayConnectionsRefused'],
  async () => {
    for (let n = 0; n < 300; n++)
      sockets.push(connect(server.port, '127.0.0.1').on('error', () => {}))
  },
  async () => {
    for (const socket of sockets) socket.destroy()
  },
)

const search = () => ask(server.base, { ...candidate, path: '/api/v1/candidates/search?q=ada' })
faultFires('tables are locked under load', ['AssayOverloaded', 'AssayUnavailable'], async () => {
  const locked = run(
    `begin; lock table profiles, search_entries, search_terms in access exclusive mode; select pg_sleep(30)`,
  )
  const until = Date.now() + 28_000
  const callers = Array.from({ length: 200 }, async () => {
    while (Date.now() < until) await search().catch(() => {})
  })
  await Promise.all([locked, ...callers])
})

faultFires('the facilitator loses a settlement', ['AssayPaymentsUnresolved'], async () => {
  const { body } = await ask(server.base, { path: candidate.path })
  const [{ maxAmountRequired: amount }] = JSON.parse(body.toString()).accepts
  const terms = { ...testTerms, amount }
  const payment = base64Json(payloadV1(await signAuthorization(wallet, terms), terms))
  const headers = { 'X-PAYMENT': payment }
  assert.equal((await ask(server.base, { path: candidate.path, headers })).status, 503)
})

faultFires('the facilitator is away', ['AssayPaymentsFail'], async () => {
  facilitator.close()
  facilitator.closeAllConnections()
})

faultFires('a balance was changed by hand', ['AssayBooksDiffer'], async () => {
  await run('update credit_accounts set balance = balance + 1')
  await killJobs()
  jobs = startJobs()
})

faultFires('archive_command fails', ['AssayArchiveFails'], async () => {
  await run(`alter system set archive_mode = on`)
  await run(`alter system set archive_command = 'false'`)
  await database.stop()
  database = await openDatabase()
  await run('select pg_switch_wal()')
})

// Outside the folder of the run: a killed run leaves it mounted, and its folder must be removable.
const disk = mkdtempSync('/var/tmp/assay-full-disk-')
const canMount = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'tmpfs', disk]).status === 0
after(() => {
  if (canMount) execFileSync('umount', ['-l', disk])
  rmdirSync(disk)
})
faultFires(
  'the disk of the database is full',
  canMount ? ['AssayDiskFull'] : [],
  async () => {
    const { uid, gid } = runAs()
    if (uid !== undefined && gid !== undefined) chownSync(disk, uid, gid)
    await run(`create tablespace full_disk location '${disk}'`)
    await run('alter system set temp_tablespaces = full_disk')
    await run('select pg_reload_conf()')
  },
  async () => {
    await run('alter system reset temp_tablespaces')
    await run('select pg_reload_conf()')
  },
)

faultFires(
  'the jobs process has neither key files nor a keyring',
  [
    'AssayJobsWithoutKey',
    'AssayJobsWithoutKeyring',
    'AssayJobLate',
    'AssayStatusListOld',
    'AssayDeliveriesLate',
  ],
  async () => {
    await killJobs()
    jobs = startJobs({ ASSAY_DATA_DIR: join(folder, 'empty'), SECRETS_KEYRING: '' })
    await changeConsent(1)
    await run(`update status_lists set published_at = published_at - interval '9 hours'`)
    await eventually('events are copied', {
      see: () =>
        run('select 1 / (select count(*) from webhook_deliveries where finished_at is null)').then(
          () => true,
          () => false,
        ),
    })
    await run(`update webhook_deliveries set due_at = due_at - interval '10 minutes'`)
  },
)

faultFires(
  'no jobs process runs',
  ['AssayDown', 'AssayNoJobs', 'AssayScoresLate', 'AssayEventsLate'],
  async () => {
    await killJobs()
    await changeConsent(1)
    await addEvidence(2)
    await run(`update score_recomputations set since = now() - interval '1 hour'`)
  },
  async () => {
    jobs = startJobs()
  },
)

faultFires(
  'the signing key is revoked without a successor',
  ['AssayNoSigningKey', 'AssayCredentialsNotReplaced'],
  async () => {
    const { keys } = await report(['keys', 'list'], env)
    const [{ kid }] = keys as [{ kid: string }]
    await report(['keys', 'revoke', kid, '--yes'], env)
  },
)

// A score of a recalled engine gets no new credential, so this comes after the signing key.
faultFires('the engine is recalled', ['AssayEngineRefused'], async () => {
  const { engines } = await report(['engines', 'list'], env)
  const [{ version, sha256 }] = engines as [{ version: string; sha256: string }]
  await report(['engines', 'recall', version, sha256, '--reason', 'unfair', '--yes'], env)
})

faultFires(
  'PostgreSQL is stopped',
  ['AssayDatabaseAway', 'AssayDatabaseFails', 'AssayCallsNotLogged', 'AssayFiguresOld'],
  async () => {
    await readCandidate()
    await database.stop()
    for (let n = 0; n < 50; n++) await readCandidate()
  },
)

test('every alert was seen', { skip }, () => {
  assert.deepEqual(
    alerts.filter((name) => !seen.has(name) && (canMount || name !== 'AssayDiskFull')),
    [],
  )
  const lines = [...seen].map(([name, seconds]) => `${name} after ${seconds} s`)
  process.stdout.write(`${lines.join('\n')}\n`)
})
