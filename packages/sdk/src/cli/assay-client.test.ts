/** The command `assay-client` as a developer runs it, against the real service. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { revokeCredentials } from '../../../../src/score-credentials/revoke.ts'
import { contextAt } from '../../../../test/support/build/actions.ts'
import { score } from '../../../../test/support/build/credentials.ts'
import { newKey } from '../../../../test/support/build/keys.ts'
import { fanOut, happen } from '../../../../test/support/build/webhooks.ts'
import { eventually, temporaryFolder } from '../../../../test/support/start/processes.ts'
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
      env: { PATH: process.env.PATH, XDG_CONFIG_HOME: folder, ...env },
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
  await revokeCredentials(contextAt(db), [token])
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
    else assert.match(ended.err, /^assay-client: /)
  }
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
  for (const [args, message] of [
    [['no-such'], /There is no command no-such/],
    [['verify'], /Give one file/],
    [['verify', 'a', 'b'], /Give one file/],
    [['search', 'ada', '--no-such'], /Unknown option/],
    [['webhooks', 'listen'], /--forward-to/],
    [['verify', '/no/such/file'], /no such file/],
  ] as const) {
    const { code, err } = await run(args, { env: { ASSAY_URL: publicUrl } })
    assert.equal(code, 2)
    assert.match(err, message)
  }
  assert.equal((await run(['--help'])).code, 0)
})

test('listen: SIGKILL of the command and a receiver that is away lose no event, and each is signed', async () => {
  const { key } = await newKey(db, { scopes: ['webhooks:write'] })
  const env = { ASSAY_URL: publicUrl, ASSAY_API_KEY: key }
  const received: string[] = []
  const bodies: { body: string; headers: Record<string, string> }[] = []
  let isAway = false
  const receiver = await listening((incoming, response) => {
    void textOf(incoming).then((body) => {
      if (isAway) return incoming.socket.destroy()
      bodies.push({ body, headers: incoming.headers as Record<string, string> })
      received.push(JSON.parse(body).id)
      return response.end()
    })
  })
  const command = ['webhooks', 'listen', '--forward-to', `http://${receiver}/hook`]
  const has = (count: number): Promise<unknown> =>
    eventually(`${count} events`, { see: async () => new Set(received).size >= count })

  await happen(db, 'score.updated', { count: 30 })
  while ((await fanOut(db, 500)).length > 0);
  const first = start(command, env)
  await has(10)
  first.kill('SIGKILL')
  await once(first, 'close')
  isAway = true
  const second = start(command, env)
  await once(second.stdout ?? second, 'data')
  await happen(db, 'evidence.revoked', { count: 5 })
  while ((await fanOut(db, 500)).length > 0);
  isAway = false
  await has(35)
  assert.equal(new Set(received).size, 35)
  second.kill('SIGINT')
  const [code] = await once(second, 'close')
  assert.equal(code, 0)

  const [file = ''] = readFeedFiles()
  const { secret } = JSON.parse(readFileSync(file, 'utf8'))
  for (const { body, headers } of bodies)
    assert.equal(await verifyWebhook(body, headers, secret), true)
})

function readFeedFiles(): string[] {
  return readdirSync(join(folder, 'assay'))
    .filter((name) => name.startsWith('feed-'))
    .map((name) => join(folder, 'assay', name))
}
