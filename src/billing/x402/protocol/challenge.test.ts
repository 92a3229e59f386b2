import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { PaymentRequiredV1Schema, PaymentRequiredV2Schema } from '@x402/core/schemas'
import { readBase64Json, testTerms } from '../../../../test/support/build/payments.ts'
import { challengeOf } from './challenge.ts'
import { checkQuote, makeQuote, quoteRandomBytes } from './match.ts'
import { resourceKey, resourceUrl } from './terms.ts'

const now = new Date('2026-05-14T12:00:00Z')
const secret = 'a secret of at least thirty-two characters'
const quote = makeQuote(testTerms, { secret, random: randomBytes(quoteRandomBytes), now })
const parts = { quote, idempotencyKey: 'purchase-number-0001', headerVersion: 1 } as const

test('the challenge is closed and has every specified member, and the header is the base64 of the same JSON', () => {
  const { body, headers } = challengeOf(testTerms, parts)
  assert.deepEqual(body, {
    x402Version: 1,
    accepts: [
      {
        scheme: 'exact',
        network: 'base-sepolia',
        amount: '10000',
        maxAmountRequired: '10000',
        resource: 'https://scores.example.org/api/v1/scores/1',
        description: 'One score',
        mimeType: 'application/json',
        payTo: '0x00000000000000000000000000000000000000aa',
        asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
        maxTimeoutSeconds: 300,
        extra: {
          name: 'USDC',
          version: '2',
          nonce: quote,
          endpoint: 'score_lookup',
          idempotencyKey: 'purchase-number-0001',
        },
      },
    ],
  })
  assert.equal(headers['PAYMENT-REQUIRED'], Buffer.from(JSON.stringify(body)).toString('base64'))
  assert.ok(PaymentRequiredV1Schema.safeParse(body).success)
})

test('with header version 2 the body stays version 1, and clients of version 2 read the header', () => {
  const { body, headers } = challengeOf(testTerms, { ...parts, headerVersion: 2 })
  assert.ok(PaymentRequiredV1Schema.safeParse(body).success)
  const header = readBase64Json(headers['PAYMENT-REQUIRED'])
  const { accepts, resource } = PaymentRequiredV2Schema.parse(header)
  assert.equal(accepts[0]?.network, 'eip155:84532')
  assert.equal(accepts[0]?.amount, '10000')
  assert.equal(accepts[0]?.extra?.['nonce'], quote)
  assert.equal(resource.url, testTerms.resource)
})

test('only the header of version 2 declares the payment identifier, in the form that the official helpers look for', () => {
  const { body, headers } = challengeOf(testTerms, { ...parts, headerVersion: 2 })
  assert.equal(Object.hasOwn(Object(body), 'extensions'), false)
  const { extensions } = Object(readBase64Json(headers['PAYMENT-REQUIRED']))
  const { info, schema } = extensions['payment-identifier']
  assert.deepEqual(info, { required: false })
  assert.deepEqual(Object.keys(schema.properties), ['required', 'id'])
})

test('a quote has 64 characters of an alphabet that every client accepts', () => {
  assert.match(quote, /^[A-Za-z0-9_-]{64}$/)
})

test('a quote is valid only for its own terms, also under a former secret', () => {
  const secrets = ['another secret of thirty-two characters!', secret]
  const check = (terms: typeof testTerms, text = quote) => checkQuote(text, terms, { secrets, now })
  assert.equal(check(testTerms), 'good')
  const others: Partial<typeof testTerms>[] = [
    { resource: 'https://scores.example.org/api/v1/scores/2' },
    { endpoint: 'candidate_lookup' },
    { amount: '9999' },
    { asset: testTerms.payTo },
    { payTo: testTerms.asset },
    { network: 'base' },
  ]
  for (const other of others) assert.equal(check({ ...testTerms, ...other }), 'foreign')
  assert.equal(checkQuote(quote, testTerms, { secrets: [secrets[0] ?? ''], now }), 'foreign')
})

test('a quote with a changed character or another length is foreign', () => {
  const check = (text: string) => checkQuote(text, testTerms, { secrets: [secret], now })
  for (let i = 0; i < quote.length; i++) {
    const changed = `${quote.slice(0, i)}${quote[i] === 'A' ? 'B' : 'A'}${quote.slice(i + 1)}`
    assert.equal(check(changed), 'foreign', `character ${i}`)
  }
  for (const text of ['', 'short', `${quote}A`, quote.slice(1), `${quote.slice(0, -1)}=`])
    assert.equal(check(text), 'foreign')
})

test('a quote is old from the second after its time', () => {
  const at = (seconds: number) =>
    checkQuote(quote, testTerms, {
      secrets: [secret],
      now: new Date(now.getTime() + seconds * 1_000),
    })
  assert.equal(at(300), 'good')
  assert.equal(at(301), 'old')
})

test('a resource has one URL for any order of its query, and the ledger stores only its digest', () => {
  const query = { q: 'a b&c', limit: '18' }
  const url = resourceUrl('https://scores.example.org', '/api/v1/candidates/search', {
    path: {},
    query,
  })
  assert.equal(url, 'https://scores.example.org/api/v1/candidates/search?limit=18&q=a%20b%26c')
  const path = resourceUrl('https://scores.example.org', '/api/v1/candidates/{username}', {
    path: { username: '@ann' },
    query: {},
  })
  assert.equal(path, 'https://scores.example.org/api/v1/candidates/%40ann')
  assert.equal(resourceKey(url).length, 32)
})
