/** A purchase has a name of its payer's choice: however often it is signed for under it, it is paid for once. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { startFaultyLoop } from '../support/faulty-loop.ts'
import { assertError, assertPaid, chainTest, pay, signedHeader } from '../support/paid-loop.ts'

const loop = await startFaultyLoop()
const server = await loop.start()
after(() => loop.stop())

chainTest(
  'one purchase under one Idempotency-Key: signed twice, charged once; another thing under it is 400',
  async () => {
    const wallet = await loop.richWallet()
    const headers = { 'Idempotency-Key': 'one-purchase-of-mine' }
    const first = assertPaid(await pay(server, await signedHeader(wallet), { headers }))
    const again = assertPaid(await pay(server, await signedHeader(wallet), { headers }))
    assert.equal(again, first)
    const reused = await pay(server, await signedHeader(wallet), { headers, path: '/things/2' })
    assertError(reused, 400, 'purchase_key_reused')
    assert.equal(await loop.spent(wallet), 10_000)
    const other = await loop.richWallet()
    assert.notEqual(assertPaid(await pay(server, await signedHeader(other), { headers })), first)
    assert.equal(await loop.spent(other), 10_000)
  },
)

chainTest('one purchase signed ten times at once under one key is charged once', async () => {
  const wallet = await loop.richWallet()
  const headers = { 'Idempotency-Key': 'ten-signatures-at-once' }
  const replies = await Promise.all(
    Array.from({ length: 10 }, async () => pay(server, await signedHeader(wallet), { headers })),
  )
  assert.equal(new Set(replies.map(assertPaid)).size, 1)
  assert.equal(await loop.spent(wallet), 10_000)
})
