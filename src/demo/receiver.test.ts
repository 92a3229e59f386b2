/** Sends to the demo's receiver over TLS, as any process on this machine can. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:https'
import { after, test } from 'node:test'
import { began, testRing } from '../../test/support/build/webhooks.ts'
import { testDatabase } from '../../test/support/start/database.ts'
import { createAccount } from '../accounts/access/manage.ts'
import { signatureHeader } from '../webhooks/delivery/attempt-request.ts'
import { findActiveIds, findEndpoints } from '../webhooks/endpoints/store.ts'
import { accountName } from './account.ts'
import { createAuthority } from './certificates.ts'
import { openDemoReceiver } from './receiver.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())

test('400: the receiver does not show an event with a missing or foreign signature as verified', async () => {
  const said: string[] = []
  const account = await db.transaction((tx) => createAccount(tx, accountName, began))
  assert.ok(account)
  const parts = { db, clock: () => began, ring: testRing, activeMax: 5 }
  const receiver = await openDemoReceiver({ ...parts, say: (line) => void said.push(line) })
  after(() => receiver?.close())
  const endpoints = await findEndpoints(db, await findActiveIds(db, account.id), began)
  const own = endpoints.find((one) => one.url.startsWith('https://127.0.0.1:'))
  const url = own?.url ?? assert.fail('it is registered')

  const body = JSON.stringify({ type: 'score.updated', id: 'evt_1', data: {} })
  const timestamp = began.getTime() / 1_000
  const other = signatureHeader(`whsec_${'A'.repeat(43)}`, { timestamp, body: Buffer.from(body) })
  for (const headers of [{}, { 'Service-Webhook-Signature': other }]) {
    const sent = request(url, { method: 'POST', headers, agent: false, rejectUnauthorized: false })
    sent.end(body)
    const [answer] = await once(sent, 'response')
    answer.resume()
    assert.equal(answer.statusCode, 400)
  }
  assert.deepEqual(said, [])
})

test('a receiver that the database does not register leaves no port open, so the process ends', async () => {
  const before = await openPorts()
  const transaction = () => Promise.reject(new Error('No space left on device'))
  const parts = { clock: () => began, ring: testRing, activeMax: 5, say: () => {} }
  await assert.rejects(openDemoReceiver({ ...parts, db: { ...db, transaction } }), /No space/)
  assert.equal(await openPorts(), before)
})

async function openPorts(): Promise<number> {
  // A port is closed at the end of a turn of the event loop.
  for (let turns = 0; turns < 2; turns++) await new Promise(setImmediate)
  return process.getActiveResourcesInfo().filter((one) => one === 'TCPServerWrap').length
}

test('a certificate of any length has no empty line, at which OpenSSL would stop reading', () => {
  const { certify } = createAuthority()
  for (let length = 1; length <= 48; length++)
    assert.doesNotMatch(certify('a'.repeat(length)).cert, /\n\n/)
})
