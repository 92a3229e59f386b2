/** Processes that share a relayer send one at a time, for any duration of the others' turns. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { privateKeyToAccount } from 'viem/accounts'
import { lockRelayer } from '../../src/billing/x402/settlement/store.ts'
import { boundedDb } from '../support/fault/faults.ts'
import {
  assertPaid,
  chainTest,
  pay,
  signedHeader,
  startLoopServer,
  startPaidLoop,
} from '../support/start/paid-loop.ts'

const loop = await startPaidLoop()
const { db } = loop.database
const askedAgain = Promise.withResolvers<void>()
const server = await startLoopServer(loop, {
  db: boundedDb(db, (number) => {
    if (number === 2) askedAgain.resolve()
  }),
})
after(async () => {
  await server.stop()
  await loop.stop()
})

chainTest(
  '200: while another process holds the relayer, the server keeps asking for its turn and sends nothing',
  async () => {
    const wallet = await loop.richWallet()
    const header = await signedHeader(wallet)
    const { address } = privateKeyToAccount(loop.chain.relayerKey)
    const paying = await db.transaction(async (tx) => {
      assert.ok(await lockRelayer(tx, address))
      const reply = pay(server, header)
      const first = await Promise.race([askedAgain.promise, reply])
      assert.equal(first, undefined, 'it was answered')
      assert.equal(await loop.spent(wallet), 0)
      return { reply }
    })
    assertPaid(await paying.reply)
    assert.equal(await loop.spent(wallet), 10_000)
  },
)
