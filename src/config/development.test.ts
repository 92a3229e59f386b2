import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from './config.ts'
import { developmentWarnings } from './development.ts'

const production = { PUBLIC_URL: 'https://scores.example.org' }
const payTo = { X402_PAY_TO: `0x${'1'.repeat(40)}`, X402_SECRETS: 'a'.repeat(64) }

function warnedOf(env: Record<string, string>): string[] {
  return developmentWarnings(readConfig({ ...production, ...env }))
}

test('the defaults of a deployment with https cause no warning', () => {
  assert.deepEqual(warnedOf({}), [])
  assert.deepEqual(
    warnedOf({
      LOG_LEVEL: 'info',
      WEBHOOK_PORTS: '443,8443',
      WEBHOOK_ALLOW_CIDRS: '10.0.0.0/8,fd00::/8',
      WEBHOOK_ALLOW_HTTP: 'false',
      X402_NETWORK: 'base-sepolia',
    }),
    [],
    'without a payee no payment is taken on the test network',
  )
})

for (const [env, expected] of [
  [
    { PUBLIC_URL: 'http://localhost:8080' },
    /^PUBLIC_URL with http is for development: .*https.*lacks Secure/,
  ],
  [{ LOG_LEVEL: 'debug' }, /^LOG_LEVEL=debug is for development: /],
  [{ WEBHOOK_ALLOW_HTTP: 'true' }, /^WEBHOOK_ALLOW_HTTP=true is for development: /],
  [{ WEBHOOK_PORTS: 'any' }, /^WEBHOOK_PORTS=any is for development: /],
  [{ WEBHOOK_ALLOW_CIDRS: '10.0.0.0/8,127.0.0.0/8' }, /^WEBHOOK_ALLOW_CIDRS with loopback /],
  [{ WEBHOOK_ALLOW_CIDRS: '::1' }, /^WEBHOOK_ALLOW_CIDRS with loopback /],
  [{ ...payTo, X402_NETWORK: 'base-sepolia' }, /^X402_NETWORK=base-sepolia is for development: /],
] as const)
  test(`${Object.entries(env).at(-1)?.join('=')} causes a warning`, () => {
    const [warning, ...more] = warnedOf(env)
    assert.match(warning ?? '', expected)
    assert.deepEqual(more, [])
  })
