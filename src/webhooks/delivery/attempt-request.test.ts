/**
 * Deliveries verify by the rules of the specification, by the code in the documentation, and by
 * public libraries.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { Webhook } from 'standardwebhooks'
import { Stripe } from 'stripe'
import {
  type Attempt,
  attemptHeaders,
  signatureHeader,
  standardSignature,
  verifySignature,
} from './attempt-request.ts'
import { newSecret } from './secret.ts'

interface Vector {
  name: string
  secret: string
  nowSeconds: number
  body: string
  header: string
  valid: boolean
}

interface Vectors {
  signatures: Vector[]
  standardWebhooks: {
    secret: string
    id: string
    timestamp: number
    body: string
    header: string
  }[]
}

const vectors: Vectors = JSON.parse(readFileSync('vectors/webhook-signatures.json', 'utf8'))

for (const { name, header, valid, ...question } of vectors.signatures) {
  test(`vector: ${name}`, () => assert.equal(verifySignature(header, question), valid))
}

test('the service signs exactly the vectors', () => {
  const [first] = vectors.signatures
  assert.ok(first?.valid)
  const timestamp = Number(/t=(\d+)/.exec(first.header)?.[1])
  assert.equal(signatureHeader(first.secret, { timestamp, body: first.body }), first.header)
  for (const { secret, id, timestamp, body, header } of vectors.standardWebhooks)
    assert.equal(standardSignature([secret], { eventId: id, timestamp, body }), header)
})

const docs = readFileSync('docs/receive-webhooks.md', 'utf8')

function program(language: string): string {
  const [, code] = new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's').exec(docs) ?? []
  assert.ok(code, `docs/receive-webhooks.md has a program in ${language}`)
  assert.ok(code.trim().split('\n').length <= 40, `the ${language} program has at most 40 lines`)
  return code
}

const folder = mkdtempSync(join(tmpdir(), 'assay-receiver-'))
after(() => rmSync(folder, { recursive: true }))

test('the TypeScript verifier of the documentation agrees with every vector', async () => {
  const file = join(folder, 'verify.ts')
  writeFileSync(file, program('ts'))
  const { verifyWebhook } = (await import(pathToFileURL(file).href)) as {
    verifyWebhook: (secret: string, header: string, body: Buffer, now: number) => boolean
  }
  for (const { name, secret, header, body, nowSeconds, valid } of vectors.signatures)
    assert.equal(verifyWebhook(secret, header, Buffer.from(body), nowSeconds), valid, name)
})

const hasPython = spawnSync('python3', ['--version']).status === 0

test('the Python verifier of the documentation agrees with every vector', (t) => {
  if (!hasPython) {
    t.diagnostic('there is no python3 on this machine: the Python verifier was NOT run')
    return
  }
  const run = `
import json, sys
for one in json.load(open(sys.argv[1], encoding='utf-8'))['signatures']:
    valid = verify_webhook(one['secret'], one['header'], one['body'].encode(), one['nowSeconds'])
    assert valid is one['valid'], one['name']
    print(one['name'])
`
  writeFileSync(join(folder, 'verify.py'), program('python') + run)
  const args = [join(folder, 'verify.py'), 'vectors/webhook-signatures.json']
  const { status, stdout, stderr } = spawnSync('python3', args, { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  assert.equal(stdout.trim().split('\n').length, vectors.signatures.length)
})

function attemptOf(body: string): Attempt {
  return {
    id: '0d4f9c52-6a3b-4c1e-9f27-8b5a1c2d3e4f',
    eventId: 'evt_1',
    eventType: 'score.updated',
    body,
    attempt: 1,
    isTest: false,
    position: 1,
  }
}

/** A present delivery, for libraries that check the clock. */
function delivery() {
  const secret = newSecret()
  const body = JSON.stringify({ id: 'evt_1', text: 'Grüße ✓' })
  return { secret, body, headers: attemptHeaders(attemptOf(body), { current: secret }, new Date()) }
}

test('the Stripe library accepts our header with the secret as it is shown', () => {
  const { secret, body, headers } = delivery()
  const header = headers['Service-Webhook-Signature'] ?? ''
  const { webhooks } = new Stripe('sk_test_none')
  assert.deepEqual({ ...webhooks.constructEvent(body, header, secret) }, JSON.parse(body))
  assert.throws(() => webhooks.constructEvent(`${body} `, header, secret))
  assert.throws(() => webhooks.constructEvent(body, header, newSecret()))
})

test('the Standard Webhooks library accepts our headers with the secret as it is shown', () => {
  const { secret, body, headers } = delivery()
  assert.deepEqual(new Webhook(secret).verify(body, headers), JSON.parse(body))
  assert.throws(() => new Webhook(secret).verify(`${body} `, headers))
  assert.throws(() => new Webhook(newSecret()).verify(body, headers))
})

test('during a rotation the Standard Webhooks library accepts either secret', () => {
  const [current, next] = [newSecret(), newSecret()]
  const body = '{}'
  const headers = attemptHeaders(attemptOf(body), { current, next }, new Date())
  for (const secret of [current, next]) new Webhook(secret).verify(body, headers)
  assert.equal(headers['Service-Webhook-Signature']?.match(/v1=/g)?.length, 1)
})
