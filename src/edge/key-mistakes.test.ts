/** Mistakes that programs make with a key are answered by name. The message never shows the key. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { newKey } from '../../test/support/build/keys.ts'
import { ask } from '../../test/support/start/ask.ts'
import { startService } from '../../test/support/start/service.ts'

const service = await startService('https://scores.example.org')
after(service.stop)

const { key } = await newKey(service.database.db)
const path = '/api/v1/webhooks/endpoints'

async function refusalOf(headers: Record<string, string>) {
  const { status, body } = await ask(service.base, { path, headers })
  assert.ok(!String(body).includes(key), 'the answer never shows the key')
  return { status, ...(JSON.parse(String(body)) as { error: string; message: string }) }
}

test('401: a key in X-Api-Key is missing, and the message names the header', async () => {
  const { status, error, message } = await refusalOf({ 'X-Api-Key': key })
  assert.deepEqual([status, error], [401, 'missing_api_key'])
  assert.match(message, /^This service does not read X-Api-Key\. Send .* Bearer/)
})

test('401: a key without Bearer is invalid, and the message names the word', async () => {
  for (const header of [key, `Token ${key}`, `Bearer${key}`]) {
    const { status, error, message } = await refusalOf({ Authorization: header })
    assert.deepEqual([status, error], [401, 'invalid_api_key'])
    assert.match(message, /does not begin with Bearer/)
  }
})

test('401: a wrong key behind Bearer has the usual message and the next step', async () => {
  const { error, message } = await refusalOf({ Authorization: 'Bearer svc_live_wrong' })
  assert.equal(error, 'invalid_api_key')
  assert.match(message, /^The API key is not valid\. Check the key: it may be mistyped/)
})
