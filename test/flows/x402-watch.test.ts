/**
 * The operator's view of payments: availability, outcomes, durations of external calls, open
 * payments.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { testWallet } from '../support/build/payments.ts'
import { startFaultyLoop } from '../support/fault/faulty-loop.ts'
import { ask } from '../support/start/ask.ts'
import { startEdge } from '../support/start/edge.ts'
import {
  assertError,
  assertPaid,
  chainTest,
  pay,
  signedHeader,
  startLoopServer,
} from '../support/start/paid-loop.ts'
import { preparePaidReads, reads } from '../support/start/paid-reads.ts'
import { eventually } from '../support/start/processes.ts'

const loop = await startFaultyLoop()
const { facilitator, node } = loop
const server = await loop.start()
const local = await startLoopServer(loop)
after(async () => {
  await local.stop()
  await loop.stop()
})

/** Returns the value of a metric series, or undefined if it does not exist. */
async function counted(one: typeof server, series: string): Promise<number | undefined> {
  const line = (await one.counted()).split('\n').find((text) => text.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.split(' ').at(-1))
}

chainTest(
  'every attempt is counted by its outcome, and the time of the facilitator is measured',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    await ask(server.base, { path: '/things/1' })
    await pay(server, header, { headers: { 'PAYMENT-SIGNATURE': 'another' } })
    await pay(server, 'garbage')
    await pay(server, await signedHeader(testWallet()))
    await pay(server, header, { path: '/things/404' })
    assertPaid(await pay(server, header))
    facilitator.faults['/verify'] = 'request lost'
    await pay(server, await signedHeader(wallet))
    facilitator.faults['/verify'] = 'none'
    const of = (outcome: string) =>
      counted(server, `x402_attempts_total{endpoint="score_lookup",outcome="${outcome}"}`)
    assert.equal(await of('challenged'), 1)
    assert.equal(await of('malformed'), 1)
    assert.equal(await of('refused'), 2)
    assert.equal(await of('unsold'), 1)
    assert.equal(await of('paid'), 1)
    assert.equal(await of('facilitator_unavailable'), 1)
    assert.equal(await counted(server, 'x402_verify_seconds_count'), 4)
    assert.equal(await counted(server, 'x402_settle_seconds_count'), 1)
  },
)

chainTest(
  'the survey counts open payments, which may have been paid and are not settled',
  async () => {
    assert.equal(await counted(server, 'x402_open_payments{state="unknown"}'), undefined)
    await server.survey()
    assert.equal(await counted(server, 'x402_open_payments{state="unknown"}'), 0)
    facilitator.faults['/settle'] = 'answer lost'
    node.down = true
    const header = await signedHeader(await loop.richWallet())
    assertError(await pay(server, header), 503, 'payment_settlement_pending')
    facilitator.faults['/settle'] = 'none'
    node.down = false
    await server.survey()
    assert.equal(await counted(server, 'x402_open_payments{state="unknown"}'), 1)
    assertPaid(await pay(server, header))
    await server.survey()
    assert.equal(await counted(server, 'x402_open_payments{state="unknown"}'), 0)
    assert.ok(Number.isNaN(await counted(server, 'x402_relayer_ether')))
  },
)

chainTest("a local facilitator reports the relayer's ether, which pays for gas", async () => {
  await local.survey()
  const before = Number(await counted(local, 'x402_relayer_ether'))
  assert.ok(before > 1)
  assertPaid(await pay(local, await signedHeader(await loop.richWallet())))
  await local.survey()
  const left = Number(await counted(local, 'x402_relayer_ether'))
  assert.ok(left < before && left > before - 0.01, `${before} before, ${left} left`)
})

chainTest(
  'fitness reflects the answers of facilitator and node; a change is reported once',
  async () => {
    const examined = async (one: typeof server) => {
      await one.examine()
      return one.fitness()
    }
    assert.equal(server.fitness(), 'not asked yet')
    assert.equal(await examined(server), 'ok')
    const others = [{ x402Version: 1, scheme: 'exact', network: 'base-sepolia' }, 'nonsense']
    const { kinds } = facilitator
    facilitator.kinds = others
    assert.equal(await examined(server), 'the facilitator does not take such payments')
    facilitator.kinds = null
    assert.equal(await examined(server), 'the facilitator does not answer')
    assert.equal(await examined(server), 'the facilitator does not answer')
    node.down = true
    assert.equal(await examined(server), 'the node does not answer')
    node.down = false
    facilitator.kinds = kinds
    assert.equal(await examined(server), 'ok')
    assert.equal(server.troubles.filter((line) => line.includes('cannot be taken')).length, 3)

    assert.equal(await examined(local), 'ok')
    const elsewhere = await startLoopServer(loop, { settings: { network: 'base' } })
    assert.equal(await examined(elsewhere), 'the node is of another chain')
    await elsewhere.stop()
  },
)

chainTest('a relayer without ether is reported before a payment fails', async () => {
  const [relayer] = (await loop.chain.call('eth_accounts')) as string[]
  const balance = await loop.chain.call('eth_getBalance', [relayer, 'latest'])
  await loop.chain.call('anvil_setBalance', [relayer, '0x0'])
  await local.examine()
  await loop.chain.call('anvil_setBalance', [relayer, balance])
  assert.equal(local.fitness(), 'the relayer has no ether for gas')
})

test('readiness: a check that only some callers need is reported as degraded and keeps 200', async () => {
  const edge = await startEdge({
    readiness: () => Promise.resolve({ database: 'ok', payments: { degraded: 'no answer' } }),
  })
  const reply = await ask(`http://127.0.0.1:${edge.port}`, { path: '/readyz' })
  await edge.stop()
  assert.equal(reply.status, 200)
  assert.deepEqual(JSON.parse(reply.body.toString()), {
    status: 'ready',
    checks: { database: 'ok', payments: 'degraded: no answer' },
  })
})

chainTest('a server whose facilitator is silent stays ready and reports it', async () => {
  const { start } = await preparePaidReads(loop)
  const silent = await start({
    X402_FACILITATOR: 'remote',
    X402_FACILITATOR_URL: 'http://127.0.0.1:1',
    X402_RELAYER_KEY_FILE: '',
  })
  const { value } = await eventually('it has asked', {
    see: async () => {
      const reply = await ask(silent.base, { path: '/readyz' })
      const { checks } = JSON.parse(reply.body.toString())
      return checks.payments === 'degraded: not asked yet' ? null : { ...reply, checks }
    },
  })
  assert.equal(value?.status, 200)
  assert.equal(value?.checks.payments, 'degraded: the facilitator does not answer')
  assert.equal((await ask(silent.base, { path: reads.score })).status, 402)
})
