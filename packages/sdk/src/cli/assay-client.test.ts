/** The command `assay-client` as a developer runs it, against the real service. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { contextAt } from '../../../../test/support/build/actions.ts'
import { score } from '../../../../test/support/build/credentials.ts'
import { newKey } from '../../../../test/support/build/keys.ts'
import { revokeNow } from '../../../../test/support/build/registry.ts'
import { fanOut, happen } from '../../../../test/support/build/webhooks.ts'
import {
  eventually,
  freePort,
  programs,
  temporaryFolder,
} from '../../../../test/support/start/processes.ts'
import {
  startIssuing,
  startService,
  type TestService,
} from '../../../../test/support/start/service.ts'
import { verifyWebhook } from '../webhook-signature.ts'

async function listening(handler: RequestListener): Promise<string> {
  const server = createServer(handler).listen(0, '127.0.0.1')
  after(() => server.close().closeAllConnections())
  await once(server, 'listening')
  return `localhost:${(server.address() as AddressInfo).port}`
}

/** The address is known before the service starts, because it names the issuer. */
let service: TestService | undefined
const host = await listening((incoming, response) => {
  const { method, url, headers } = incoming
  const forwarded = request(`${service?.base}${url}`, { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers)
    answer.pipe(response)
  })
  incoming.pipe(forwarded)
})
const publicUrl = `http://${host}`
const started = await startService(publicUrl)
service = started
after(() => started.stop())
const { db } = started.database
const issuer = await startIssuing(started)
const folder = temporaryFolder()
const program = join(import.meta.dirname, 'assay-client.ts')

function start(args: readonly string[], env: Record<string, string> = {}): ChildProcess {
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', program, ...args],
    {
      env: { ...programs, XDG_CONFIG_HOME: folder, ...env },
    },
  )
  after(() => child.kill('SIGKILL'))
  return child
}

async function run(
  args: readonly string[],
  { input = '', env = {} }: { input?: string; env?: Record<string, string> } = {},
): Promise<{ code: number; out: string; err: string }> {
  const child = start(args, env)
  const { stdin, stdout, stderr } = child
  assert.ok(stdin !== null && stdout !== null && stderr !== null)
  stdin.on('error', () => {}).end(input)
  const [out, err, [code]] = await Promise.all([
    textOf(stdout),
    textOf(stderr),
    once(child, 'close'),
  ])
  return { code, out, err }
}

test('verify: 0 for a valid credential, 1 with the reason for others, 2 if nothing could be checked', async () => {
  const valid = await issuer.issue(score())
  const revoked = await issuer.issue(score({ username: 'grace-hopper' }))
  const token = { by: 'token', bytes: Buffer.from(revoked.statusToken, 'hex') } as const
  await revokeNow(contextAt(db), [token])
  await issuer.publish()
  const write = (name: string, document: unknown): string => {
    const file = join(folder, name)
    writeFileSync(file, JSON.stringify(document))
    return file
  }
  const changed = structuredClone(valid.credential)
  Object.assign(changed.credentialSubject, { score: 999 })
  const elsewhere = { ...valid.credential, issuer: 'did:web:localhost%3A1' }
  for (const [name, document, code, reason] of [
    ['valid', valid.credential, 0, null],
    ['changed', changed, 1, 'signature_invalid'],
    ['revoked', revoked.credential, 1, 'revoked'],
    ['elsewhere', elsewhere, 2, null],
    ['nothing', [], 2, null],
  ] as const) {
    const ended = await run(['verify', write(`${name}.json`, document), '--json'])
    assert.equal(ended.code, code, `${name}: ${ended.err}`)
    if (code < 2) assert.equal(JSON.parse(ended.out).reason, reason, name)
    else assert.ok(JSON.parse(ended.err).message.length > 20, ended.err)
  }
  const site = await listening((_, response) => response.end('<!doctype html>'))
  const ofPage = { ...valid.credential, issuer: `did:web:${site.replace(':', '%3A')}` }
  const noKeys = await run(['verify', write('page.json', ofPage)])
  assert.match(noKeys.err, /\/\.well-known\/did\.json answered with something other than JSON\./)
  const text = JSON.stringify(valid.credential)
  const piped = await run(['verify', '-'], { input: text })
  assert.match(
    piped.out,
    new RegExp(`^valid\\n.*\\nissuer: did:web:${host.replace(':', '%3A')}\\n$`),
  )
  const other = await run(['verify', '-', '--issuer', 'did:web:example.org'], { input: text })
  assert.equal(other.code, 2)
  assert.match(other.err, /and not did:web:example\.org/)
})

test('login stores a key for this user alone, and every command then uses it; a wrong key is refused', async () => {
  const { key } = await newKey(db, {
    environment: 'test',
    scopes: ['candidates:read', 'scores:read'],
  })
  const wrong = await run(['login', publicUrl], { input: `svc_test_${'a'.repeat(43)}\n` })
  assert.equal(wrong.code, 2)
  assert.match(wrong.err, /401 invalid_api_key/)
  const right = await run(['login', publicUrl], { input: `${key}\n` })
  assert.equal(right.code, 0, right.err)
  assert.equal(statSync(join(folder, 'assay/client.json')).mode & 0o777, 0o600)

  const { out } = await run(['whoami', '--json'])
  assert.deepEqual(JSON.parse(out), {
    baseUrl: publicUrl,
    key: `${key.slice(0, 13)}…`,
    kind: 'test',
  })
  const found = JSON.parse((await run(['search', 'typescript', '--limit', '1', '--json'])).out)
  const [{ username }] = found.candidates
  assert.equal(JSON.parse((await run(['candidate', username])).out).username, username)
  assert.equal(
    JSON.parse((await run(['credential', username, '--json'])).out).type[0],
    'VerifiableCredential',
  )
  assert.match((await run(['skills', 'typescript'])).out, /^hss:typescript +TypeScript$/m)
  for (const text of [right.out, right.err, wrong.err, out]) assert.ok(!text.includes(key))
})

test('a wrong command line says what to give, with 2', async () => {
  const wrong = [
    [['no-such'], /There is no command no-such/],
    [['verify'], /Give one file/],
    [['verify', 'a', 'b'], /Give one file/],
    [['search', 'ada', '--no-such'], /Unknown option/],
    [['webhooks', 'listen'], /--forward-to/],
    [['webhooks', 'no-such'], /webhooks listen, or webhooks trigger TYPE/],
    [['webhooks', 'trigger', 'x', '--forward-to', 'http://localhost:1/'], /score\.updated/],
    [['report', '-'], /- is not JSON\. Give a report such as/],
    [['completion', 'no-such'], /Give bash, zsh or fish/],
    [
      ['verify', '/no/such/file'],
      /The file \/no\/such\/file cannot be read: there is no such file/,
    ],
    [['verify', 'http://localhost:1/x'], /http:\/\/localhost:1\/x cannot be reached: /],
  ] as const
  const ended = await Promise.all(
    wrong.map(([args]) => run(args, { env: { ASSAY_URL: publicUrl } })),
  )
  for (const [index, { code, err }] of ended.entries()) {
    assert.equal(code, 2, err)
    assert.match(err, wrong[index]?.[1] ?? /^$/)
  }
  assert.equal((await run(['--help'])).code, 0)
  const env = { ASSAY_URL: publicUrl, XDG_CONFIG_HOME: join(folder, 'nothing') }
  const asJson = await run(['candidate', 'ada', '--json'], { env })
  const fault = JSON.parse(asJson.err)
  assert.deepEqual([asJson.code, fault.error, fault.status], [2, 'payment_required', 402])
  assert.match(fault.docsUrl, /\/docs\/errors\/payment_required$/)
  const completed = await run(['completion', 'zsh'])
  assert.match(completed.out, /bashcompinit\ncomplete .*webhooks.*score\.updated.*--json/)
})

test('a reader of standard output that goes away is no failure', async () => {
  const child = start(['--help'])
  const { stdout, stderr } = child
  assert.ok(stdout !== null && stderr !== null)
  stdout.destroy()
  const [err, [code]] = await Promise.all([textOf(stderr), once(child, 'close')])
  assert.deepEqual([code, err], [0, ''])
})

/** Accepts events on `port`, and appends each to a file before it answers. */
async function startReceiver(port: number, file: string): Promise<ChildProcess> {
  const code = `
    const { appendFileSync } = require('node:fs')
    require('node:http').createServer((request, response) => {
      let body = ''
      request.on('data', (chunk) => { body += chunk })
      request.on('end', () => {
        appendFileSync(process.argv[1], JSON.stringify({ body, headers: request.headers }) + '\\n')
        response.end()
      })
    }).listen(Number(process.argv[2]), '127.0.0.1', () => console.log('ready'))`
  const child = spawn(process.execPath, ['-e', code, file, String(port)])
  after(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return child
}

interface Received {
  body: string
  headers: Record<string, string>
}

function receivedIn(file: string): Received[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line))
}

function idsIn(file: string): Set<string> {
  return new Set(receivedIn(file).map(({ body }) => JSON.parse(body).id))
}

test('listen: SIGKILL of the command and of the receiver loses no event, and each is signed', async () => {
  const { key } = await newKey(db, { scopes: ['webhooks:write'] })
  const env = { ASSAY_URL: publicUrl, ASSAY_API_KEY: key }
  const [port, file] = [await freePort(), join(folder, 'received')]
  const to = ['--forward-to', `http://127.0.0.1:${port}/hook`]
  const has = (count: number): Promise<unknown> =>
    eventually(`${count} events`, { see: async () => idsIn(file).size >= count })

  await happen(db, 'score.updated', { count: 30 })
  while ((await fanOut(db, 500)).length > 0);
  const receiver = await startReceiver(port, file)
  const first = start(['webhooks', 'listen', ...to, '--since', '2026-01-01'], env)
  await has(10)
  first.kill('SIGKILL')
  receiver.kill('SIGKILL')
  await Promise.all([once(first, 'close'), once(receiver, 'close')])
  // Now the command finds the receiver dead.
  const second = start(['webhooks', 'listen', ...to, '--json'], env)
  const said = eventLinesOf(second)
  await eventually('a refused event', { see: async () => said.some(({ fault }) => fault) })
  await happen(db, 'evidence.revoked', { count: 5 })
  while ((await fanOut(db, 500)).length > 0);
  const again = await startReceiver(port, file)
  await has(20)
  again.kill('SIGKILL')
  await once(again, 'close')
  await startReceiver(port, file)
  await has(35)
  assert.equal(idsIn(file).size, 35)
  second.kill('SIGINT')
  const [code] = await once(second, 'close')
  assert.equal(code, 0)

  const triggered = await run(['webhooks', 'trigger', 'score.revised', ...to], { env })
  assert.equal(triggered.code, 0, triggered.err)
  assert.match(triggered.out, /^score\.revised evt_test_[0-9a-f]{32}: 200$/m)
  assert.equal(idsIn(file).size, 36)
  const [stored = ''] = readFeedFiles()
  const { secret } = JSON.parse(readFileSync(stored, 'utf8'))
  for (const { body, headers } of receivedIn(file))
    assert.equal(await verifyWebhook(body, headers, secret), true)
  for (const { body, headers } of receivedIn(file)) {
    assert.deepEqual(new Webhook(secret).verify(body, headers), JSON.parse(body))
    assert.equal(headers['webhook-id'], headers['service-webhook-id'])
    const isTest = headers['service-webhook-test'] === 'true'
    assert.equal(/^[1-9]\d*$/.test(headers['service-webhook-sequence'] ?? ''), !isTest)
  }
  assert.equal(receivedIn(file).at(-1)?.headers['service-webhook-test'], 'true')

  const nowhere = ['--forward-to', `http://127.0.0.1:${await freePort()}/`]
  const refused = await run(['webhooks', 'trigger', 'score.revised', ...nowhere, '--json'], { env })
  assert.equal(refused.code, 1)
  const facts = JSON.parse(refused.out.split('\n')[1] ?? '')
  assert.deepEqual([facts.type, facts.status], ['score.revised', null])
})

test('listen begins with the events from now on, and later where it ended', async () => {
  const { key } = await newKey(db, { scopes: ['webhooks:write'] })
  const env = { ASSAY_URL: publicUrl, ASSAY_API_KEY: key }
  const [port, file] = [await freePort(), join(folder, 'received-since')]
  const args = ['webhooks', 'listen', '--forward-to', `http://127.0.0.1:${port}/hook`, '--json']
  await startReceiver(port, file)
  await happen(db, 'score.updated', { count: 3 })
  while ((await fanOut(db, 500)).length > 0);
  for (const type of ['score.revised', 'dispute.opened'] as const) {
    const listening = start(args, env)
    const said = eventLinesOf(listening)
    await eventually('the place', { see: async () => said.some(({ receiver }) => receiver) })
    await happen(db, type, { at: new Date() })
    while ((await fanOut(db, 500)).length > 0);
    await eventually('the event', { see: async () => said.some((line) => line.type === type) })
    listening.kill('SIGINT')
    assert.deepEqual(await once(listening, 'close'), [0, null])
  }
  const types = receivedIn(file).map(({ body }) => JSON.parse(body).type)
  assert.deepEqual(types, ['score.revised', 'dispute.opened'])
  const both = await run([...args, '--since', '2026-01-01', '--after', '0'], { env })
  assert.deepEqual([both.code, /--after or --since/.test(both.err)], [2, true])
  const wrong = await run([...args, '--since', 'yesterday'], { env })
  assert.match(wrong.err, /--since is yesterday/)
})

interface SaidLine {
  fault?: string | null
  receiver?: string
  type?: string
}

/** The lines that a command with `--json` prints, as they come. */
function eventLinesOf({ stdout }: ChildProcess): SaidLine[] {
  const lines: SaidLine[] = []
  let rest = ''
  stdout?.on('data', (chunk) => {
    const parts = (rest + String(chunk)).split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts.map((line) => JSON.parse(line)))
  })
  return lines
}

function readFeedFiles(): string[] {
  return readdirSync(join(folder, 'assay'))
    .filter((name) => name.startsWith('feed-'))
    .map((name) => join(folder, 'assay', name))
}
