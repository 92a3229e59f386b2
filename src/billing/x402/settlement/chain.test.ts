import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { testTerms } from '../../../../test/support/build/payments.ts'
import type { Authorization } from '../protocol/payload.ts'
import { chainOf, type Fate } from './chain.ts'

const since = new Date('2026-05-14T12:00:00Z')
const seconds = since.getTime() / 1_000
const payer = `0x${'1'.repeat(40)}`
const authorization: Authorization = {
  from: payer,
  to: testTerms.payTo,
  value: testTerms.amount,
  validAfter: '0',
  validBefore: String(seconds + 300),
  nonce: `0x${randomBytes(32).toString('hex')}`,
}
const transaction = `0x${'ab'.repeat(32)}`
const word = (value: string): string => `0x${BigInt(value).toString(16).padStart(64, '0')}`

/** Returns the fate of the authorization if a node gives these answers. */
function fate(answers: Record<string, unknown>): Promise<Fate> {
  const chain = chainOf((method) => Promise.resolve(answers[method]))
  return chain.fateOf(authorization, testTerms, since)
}

function blockAt(timestamp: number) {
  return { number: '0x10', timestamp: `0x${timestamp.toString(16)}` }
}

const transfer = {
  address: testTerms.asset,
  topics: [
    '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef',
    word(payer),
    word(testTerms.payTo),
  ],
  data: word(testTerms.amount),
  transactionHash: transaction,
}

/** The log entry for the use of the authorization. */
const used = {
  ...transfer,
  topics: [
    '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5',
    word(payer),
    authorization.nonce,
  ],
  data: '0x',
}

/** Returns the fate if the transaction that used the authorization has this log entry as well. */
function fateBeside(log: typeof transfer): Promise<Fate> {
  return fate({
    eth_getBlockByNumber: blockAt(seconds),
    eth_call: word('1'),
    eth_getLogs: [used],
    eth_getTransactionReceipt: { logs: [used, log] },
  })
}

test('a used authorization is paid if its transaction moved its coin from the payer to us in full', async () => {
  assert.deepEqual(await fateBeside(transfer), { fate: 'paid', transaction })
  const [topic = '', from = '', to = ''] = transfer.topics
  const other = word('0xbb')
  const wrong: Record<string, Partial<typeof transfer>> = {
    'another coin': { address: testTerms.payTo },
    'another event': { topics: [other, from, to] },
    'from another address': { topics: [topic, other, to] },
    'to another address': { topics: [topic, from, other] },
    'too little': { data: word('1') },
  }
  for (const [name, changes] of Object.entries(wrong))
    assert.deepEqual(await fateBeside({ ...transfer, ...changes }), { fate: 'void' }, name)
})

test('an unused authorization is final a minute after its time, when no other block can contain it', async () => {
  const fateAt = (timestamp: number) =>
    fate({ eth_getBlockByNumber: blockAt(timestamp), eth_call: word('0') })
  const validBefore = Number(authorization.validBefore)
  assert.deepEqual(await fateAt(validBefore + 60), { fate: 'open' })
  assert.deepEqual(await fateAt(validBefore + 61), { fate: 'expired' })
})

test('a claimed transaction is confirmed if it used this authorization and moved its coin to us in full', async () => {
  const shows = (logs: object[] | null) =>
    chainOf(() => Promise.resolve(logs === null ? logs : { logs })).shows(
      transaction,
      authorization,
      testTerms,
    )
  const [usedTopic = '', from = '', nonce = ''] = used.topics
  const other = word('0xbb')
  assert.equal(await shows([used, transfer]), true)
  assert.equal(await shows([]), false, 'a transaction that failed has no logs')
  assert.equal(await shows([transfer]), false)
  assert.equal(await shows([used]), false)
  for (const topics of [
    [usedTopic, other, nonce],
    [usedTopic, from, other],
  ])
    assert.equal(await shows([{ ...used, topics }, transfer]), false)
  assert.equal(await shows([used, { ...transfer, data: word('1') }]), false)
  assert.equal(await shows([{ ...used, address: testTerms.payTo }, transfer]), false)
})

test('a transaction is reverted only if its receipt says so', async () => {
  const isReverted = (receipt: object | Error) =>
    chainOf(async () => {
      if (receipt instanceof Error) throw receipt
      return receipt
    }).isReverted(transaction)
  assert.equal(await isReverted({ status: '0x0', logs: [] }), true)
  assert.equal(await isReverted({ status: '0x1', logs: [] }), false)
  assert.equal(await isReverted({ logs: [] }), false)
  assert.equal(await isReverted(new Error('down')), false)
})

test('a node that is behind is asked again; a node that does not answer confirms nothing', async () => {
  const answers = [null, { logs: [used, transfer] }]
  const behind = chainOf(() => Promise.resolve(answers.shift()))
  assert.equal(await behind.shows(transaction, authorization, testTerms), true)
  const silent = chainOf(() => Promise.reject(new Error('down')))
  assert.equal(await silent.shows(transaction, authorization, testTerms), false)
})
