/** Tests the resolver against a real name server: its answers, its cache, and hostile answers. */
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import {
  type NameAnswer,
  type Question,
  startNameServer,
} from '../../../test/support/start/name-server.ts'
import { temporaryFolder } from '../../../test/support/start/processes.ts'
import { startPlainTalker } from '../../../test/support/start/receiver.ts'
import { openEgress } from './client.ts'
import { ownResolver, withHostsFile } from './names.ts'
import { strangerRules } from './rules.ts'

const name = 'hooks.example'
const v6 = '2606:4700:0:0:0:0:0:1111'
/** Milliseconds. Long enough for a slow machine: an existing record is answered at once. */
const longMs = 20_000

async function resolving(
  answer: (question: Question) => NameAnswer | readonly NameAnswer[] | null,
  deadlineMs = longMs,
) {
  const server = await startNameServer((question) => [answer(question) ?? []].flat())
  after(() => server.close())
  const resolve = ownResolver({ deadlineMs, servers: [server.address] })
  return { ...server, resolve, fresh: () => ownResolver({ deadlineMs, servers: [server.address] }) }
}

const addresses = (...list: string[]): NameAnswer => ({
  records: list.map((address) => ({ address })),
})
const only =
  (v4: readonly string[], v6: readonly string[] = []) =>
  ({ type }: Question) =>
    addresses(...(type === 'A' ? v4 : v6))

test('A and AAAA records are both used, IPv4 first', async () => {
  const both = await resolving(only(['192.0.2.1', '192.0.2.2'], [v6]))
  assert.deepEqual(await both.resolve(name), ['192.0.2.1', '192.0.2.2', '2606:4700::1111'])
  assert.deepEqual(both.asked.map(({ type }) => type).sort(), ['A', 'AAAA'])
  assert.deepEqual(new Set(both.asked.map((question) => question.name)), new Set([name]))
})

test('a name may have addresses of one family only', async () => {
  assert.deepEqual(await (await resolving(only(['192.0.2.1']))).resolve(name), ['192.0.2.1'])
  assert.deepEqual(await (await resolving(only([], [v6]))).resolve(name), ['2606:4700::1111'])
})

test('an alias is followed to its addresses; an alias without an address has none', async () => {
  const alias = { alias: 'edge.example.net' }
  const led = await resolving(({ type }) =>
    type === 'A' ? { records: [alias, { address: '192.0.2.7' }] } : { records: [alias] },
  )
  assert.deepEqual(await led.resolve(name), ['192.0.2.7'])
  const nowhere = await resolving(() => ({ records: [alias] }))
  await assert.rejects(nowhere.resolve(name), /has no address/)
})

test('a name of the hosts file resolves if its address is in an allowed network, else by DNS', async () => {
  const file = join(temporaryFolder(), 'hosts')
  writeFileSync(
    file,
    '127.0.0.1 localhost\n10.0.0.7\tHooks.Internal hooks # hooks.example\n10.0.0.8 hooks\nfd00::7 hooks\n192.168.0.1 far.internal\n',
  )
  const resolve = withHostsFile((asked) => Promise.resolve([`DNS ${asked}`]), {
    networks: strangerRules({ allowCidrs: ['10.0.0.0/8'] }).allow,
    file,
  })
  assert.deepEqual(await resolve('hooks.internal'), ['10.0.0.7'])
  assert.deepEqual(await resolve('hooks'), ['10.0.0.7', '10.0.0.8'])
  for (const other of ['localhost', 'far.internal', 'hooks.example', '10.0.0.7'])
    assert.deepEqual(await resolve(other), [`DNS ${other}`])
  writeFileSync(file, '10.0.0.9 hooks')
  assert.deepEqual(await resolve('hooks'), ['10.0.0.9'], 'a change takes effect')
  rmSync(file)
  assert.deepEqual(await resolve('hooks'), ['DNS hooks'], 'no file, no names')
})

for (const [what, code] of [
  ['NXDOMAIN', 3],
  ['SERVFAIL', 2],
  ['REFUSED', 5],
] as const)
  test(`${what}: the name has no address, and is not queried again for a while`, async () => {
    const { resolve, asked } = await resolving(() => ({ code }))
    await assert.rejects(resolve(name), /has no address/)
    const { length } = asked
    await assert.rejects(resolve(name), /has no address/)
    assert.equal(asked.length, length)
  })

test('concurrent and later look-ups of one name share one query', async () => {
  const { resolve, asked } = await resolving(only(['192.0.2.1']))
  await Promise.all(Array.from({ length: 50 }, () => resolve(name)))
  await resolve(name)
  assert.equal(asked.length, 2)
})

for (const [what, answer, seconds] of [
  ['no address', { code: 3 }, 5],
  ['an address that may not be kept', { records: [{ address: '192.0.2.1', ttl: 0 }] }, 5],
  [
    'addresses of which one is soon another',
    {
      records: [
        { address: '192.0.2.1', ttl: 30 },
        { address: '192.0.2.2', ttl: 20 },
      ],
    },
    20,
  ],
  ['an address for an hour', { records: [{ address: '192.0.2.1', ttl: 3_600 }] }, 60],
] as const)
  test(`${what}: the answer is cached for ${seconds} seconds and then queried again`, async (t) => {
    let nowMs = 0
    t.mock.method(performance, 'now', () => nowMs)
    const { resolve, asked } = await resolving(({ type }) =>
      type === 'A' ? answer : { records: [] },
    )
    const ask = () => resolve(name).catch(() => null)
    await ask()
    const { length } = asked
    nowMs = seconds * 1_000 - 1
    await ask()
    assert.equal(asked.length, length)
    nowMs += 1
    await ask()
    assert.ok(asked.length > length)
  })

test('a silent name server: the look-up fails at its deadline', async () => {
  const { resolve } = await resolving(() => null, 300)
  await assert.rejects(resolve(name), /has no address/)
})

test('if one family is silent and the other answers, the silent one counts as empty', async () => {
  const { resolve } = await resolving(
    (question) => (question.type === 'A' ? addresses('192.0.2.1') : null),
    2_000,
  )
  assert.deepEqual(await resolve(name), ['192.0.2.1'])
})

test('look-ups that hang do not delay another name', async () => {
  const { resolve } = await resolving(
    (question) => (question.name.startsWith('hangs') ? null : only(['192.0.2.1'])(question)),
    5_000,
  )
  let ended = 0
  const hanging = Array.from({ length: 32 }, (_, i) =>
    resolve(`hangs${i}.example`).catch(() => ended++),
  )
  assert.deepEqual(await resolve(name), ['192.0.2.1'])
  assert.equal(ended, 0)
  await Promise.all(hanging)
})

test('a truncated answer is queried again over TCP', async () => {
  const many = Array.from({ length: 60 }, (_, i) => `192.0.2.${i + 1}`)
  const { resolve, asked } = await resolving((question) =>
    question.over === 'udp' ? { isCut: true } : only(many)(question),
  )
  assert.deepEqual([...(await resolve(name))].sort(), [...many].sort())
  assert.ok(asked.some(({ over }) => over === 'tcp'))
})

test('an answer to a different question is ignored', async () => {
  const { resolve } = await resolving((question) => [
    { ...only(['127.0.0.2'])(question), isForged: true },
    only(['192.0.2.1'])(question),
  ])
  assert.deepEqual(await resolve(name), ['192.0.2.1'])
})

/**
 * 127.0.0.1 stands for public addresses and 127.0.0.2 for blocked ones. `reached` records each
 * connection.
 */
async function listeningClient(resolve: (name: string) => Promise<readonly string[]>) {
  const reached: (string | undefined)[] = []
  const answer = (socket: Socket): void => {
    reached.push(socket.localAddress)
    socket.end('HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n')
  }
  const { port, close } = await startPlainTalker(answer, '0.0.0.0')
  after(close)
  const egress = openEgress({
    rules: strangerRules({ allowCidrs: ['127.0.0.1'], ports: 'any', allowHttp: true }),
    resolve,
    deadlines: { connectMs: longMs, totalMs: longMs },
  })
  after(() => egress.close())
  const send = async (host = name): Promise<string> => {
    const url = `http://${host}:${port}/`
    const sent = await egress.send({ method: 'POST', url, body: '{}' })
    return 'failure' in sent ? sent.failure : String(sent.status)
  }
  return { reached, send }
}

test('a name that resolves to a public address first and a private one next never gets a private connection (1,000 times)', async () => {
  let turn = 0
  const turns = [
    ['127.0.0.1'],
    ['127.0.0.2'],
    ['127.0.0.1', '127.0.0.2'],
    ['127.0.0.2', '127.0.0.1'],
  ]
  const { fresh, asked } = await resolving(({ type }) => ({
    records: (type === 'A' ? (turns[turn++ % 4] ?? []) : []).map((address) => ({
      address,
      ttl: 0,
    })),
  }))
  // Harder than production: without a cache, each connection resolves the name again.
  const { reached, send } = await listeningClient((host) => fresh()(host))
  const outcomes: Record<string, number> = {}
  for (let i = 0; i < 1_000; i++) {
    const outcome = await send()
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
  }
  assert.deepEqual(outcomes, { 204: 250, blocked_address: 750 })
  assert.deepEqual(new Set(reached), new Set(['127.0.0.1']))
  assert.equal(asked.filter(({ type }) => type === 'A').length, 1_000)
})

test('each connection resolves its name once, so a changed answer a moment later has no effect', async () => {
  let turn = 0
  const { resolve, asked } = await resolving(({ type }) => ({
    records: type === 'A' ? [{ address: turn++ === 0 ? '127.0.0.1' : '127.0.0.2', ttl: 0 }] : [],
  }))
  const { reached, send } = await listeningClient(resolve)
  assert.equal(await send(), '204')
  assert.deepEqual(reached, ['127.0.0.1'])
  assert.equal(asked.filter(({ type }) => type === 'A').length, 1)
})

test('an alias into a private network is blocked_address; a name that does not exist is dns_error', async () => {
  const { resolve } = await resolving(({ name: asked, type }) => {
    if (asked !== name) return { code: 3 }
    return type === 'A'
      ? { records: [{ alias: 'metadata.internal' }, { address: '169.254.169.254' }] }
      : {}
  })
  const { reached, send } = await listeningClient(resolve)
  assert.equal(await send(), 'blocked_address')
  assert.equal(await send('nowhere.example'), 'dns_error')
  assert.deepEqual(reached, [])
})
