/** Tests the settings: defaults, each limit on both sides, and all problems reported at once. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, test } from 'node:test'
import { ConfigError, readConfig } from './config.ts'

function problemsOf(env: Record<string, string>): string[] {
  try {
    readConfig(env)
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.problems
  }
  return []
}

test('without environment variables, each setting has its default', () => {
  const config = readConfig({ ASSAY_DATA_DIR: 'somewhere' })
  assert.equal(config.port, 8080)
  assert.equal(config.host, '127.0.0.1')
  assert.equal(config.publicUrl, 'http://localhost:8080')
  assert.equal(config.databaseUrl, undefined)
  assert.equal(config.signingKeysDir, resolve('somewhere/keys'))
  assert.equal(config.metricsPort, 0)
  assert.equal(config.supersedeRevokes, false)
})

test('METRICS_PORT=off: there is no metrics server', () => {
  assert.equal(readConfig({ METRICS_PORT: 'off' }).metricsPort, null)
})

test('an empty variable counts as absent', () => {
  assert.deepEqual(readConfig({ PORT: '', PUBLIC_URL: '' }), readConfig({}))
})

test('all problems are reported at once, each with the name, the expected value and the actual value', () => {
  const problems = problemsOf({
    PORT: '65536',
    PUBLIC_URL: 'https://scores.example.org/path',
    TRUSTED_PROXIES: '0.0.0.0/0',
    LOG_LEVEL: 'loud',
    SUPERSEDE_REVOKES: 'yes',
  })
  assert.equal(problems.length, 5)
  assert.equal(problems[0], 'PORT must be a whole number from 0 to 65535; it is "65536"')
})

const accepted: [name: string, text: string][] = [
  ['PORT', '65535'],
  ['PUBLIC_URL', 'https://scores.example.org'],
  ['PUBLIC_URL', 'https://scores.example.org/'],
  ['PUBLIC_URL', 'http://localhost:8080'],
  ['FORMER_PUBLIC_URLS', 'https://a.example, https://b.example'],
  ['DATABASE_URL', 'postgresql://db.example.org/assay'],
  ['CREDENTIAL_VALIDITY_DAYS', '3650'],
  ['METRICS_PORT', 'off'],
  ['HOST', '::'],
  ['HOST', 'localhost'],
  ['METRICS_HOST', '0.0.0.0'],
  ['TRUSTED_PROXIES', '10.0.0.0/8,2001:db8::1'],
]
const refused: [name: string, text: string][] = [
  ['PORT', '-1'],
  ['PORT', '1e3'],
  ['PORT', ' 80'],
  ['HOST', '127.0.0.1:8080'],
  ['HOST', '-h'],
  ['METRICS_HOST', 'a host'],
  ['PUBLIC_URL', 'https://Scores.example.org'],
  ['PUBLIC_URL', 'https://scores.example.org:443'],
  ['PUBLIC_URL', 'scores.example.org'],
  ['PUBLIC_URL', 'https://scores.example.org?x'],
  ['PUBLIC_URL', 'https://user@scores.example.org'],
  ['PUBLIC_URL', 'ftp://scores.example.org'],
  ['FORMER_PUBLIC_URLS', 'https://a.example,b.example'],
  ['DATABASE_URL', 'mysql://db.example.org/assay'],
  ['CREDENTIAL_VALIDITY_DAYS', '0'],
  ['CREDENTIAL_VALIDITY_DAYS', '3651'],
  ['PROCESSES', '0'],
  ['TRUSTED_PROXIES', '::/0'],
  ['TRUSTED_PROXIES', 'localhost'],
]
for (const [name, text] of accepted)
  test(`${name} takes ${text}`, () => assert.deepEqual(problemsOf({ [name]: text }), []))
for (const [name, text] of refused)
  test(`${name} refuses ${JSON.stringify(text)}`, () =>
    assert.equal(problemsOf({ [name]: text }).length, 1))

test('the problem of a wrong DATABASE_URL does not quote its password', () => {
  const [problem] = problemsOf({ DATABASE_URL: 'mysql://assay:hush@db.example.org' })
  assert.equal(problem, 'DATABASE_URL must be a postgres:// URL')
})

test('PORT=0 requires PUBLIC_URL', () => {
  assert.equal(problemsOf({ PORT: '0' }).length, 1)
  assert.deepEqual(problemsOf({ PORT: '0', PUBLIC_URL: 'https://scores.example.org' }), [])
})

test('FORMER_PUBLIC_URLS ignores the current address and refuses a second address of one host', () => {
  const readFormer = (text: string) => {
    const env = { PUBLIC_URL: 'https://a.example', FORMER_PUBLIC_URLS: text }
    return problemsOf(env).length > 0 ? 'refused' : readConfig(env).formerPublicUrls
  }
  assert.deepEqual(readFormer('https://b.example,https://a.example'), ['https://b.example'])
  assert.deepEqual(readFormer('https://a.example:8443'), ['https://a.example:8443'])
  assert.equal(readFormer('http://a.example'), 'refused')
  assert.equal(readFormer('https://b.example,http://b.example'), 'refused')
})

const paying = {
  X402_FACILITATOR: 'remote',
  X402_PAY_TO: '0x00000000000000000000000000000000000000AA',
  X402_SECRETS: 'a secret of at least thirty-two characters',
  X402_FACILITATOR_URL: 'https://facilitator.example/',
}

test('METERING=on with X402_PAY_TO challenges callers; without a payee or without metering no caller is challenged', () => {
  const { X402_PAY_TO } = paying
  const { x402 } = readConfig({ X402_PAY_TO })
  assert.deepEqual(x402?.facilitator, { kind: 'none', rpcUrl: null })
  assert.deepEqual(readConfig({ X402_PAY_TO }).x402, x402, 'each process signs alike')
  assert.equal(readConfig({ X402_PAY_TO, METERING: 'off' }).x402, null)
  assert.deepEqual(problemsOf({ X402_FACILITATOR_URL: 'https://facilitator.example/' }), [
    'X402_FACILITATOR_URL is for X402_FACILITATOR=remote alone',
  ])
})

test('x402 payments are off until all their settings are present', () => {
  assert.equal(readConfig({}).x402, null)
  const { x402 } = readConfig(paying)
  assert.equal(x402?.payTo, '0x00000000000000000000000000000000000000aa')
  assert.deepEqual(x402?.facilitator, {
    kind: 'remote',
    url: 'https://facilitator.example',
    authorization: null,
    rpcUrl: null,
  })
  assert.deepEqual(x402?.amounts.candidate_search, '10000')
})

test('X402_FACILITATOR=none refuses the settings of other facilitators', () => {
  const { X402_FACILITATOR_URL: url, ...common } = paying
  const none = { ...common, X402_FACILITATOR: 'none' }
  assert.deepEqual(readConfig(none).x402?.facilitator, { kind: 'none', rpcUrl: null })
  assert.equal(problemsOf({ ...none, X402_FACILITATOR_URL: url }).length, 1)
  assert.equal(problemsOf({ ...none, X402_RELAYER_KEY_FILE: 'key' }).length, 1)
})

test('X402_PAY_TO with a wrong checksum stops the start', () => {
  const right = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
  assert.deepEqual(problemsOf({ ...paying, X402_PAY_TO: right }), [])
  assert.deepEqual(problemsOf({ ...paying, X402_PAY_TO: right.toLowerCase() }), [])
  const [problem] = problemsOf({ ...paying, X402_PAY_TO: right.replace('9f33', '9f34') })
  assert.match(problem ?? '', /^X402_PAY_TO must be right in every character/)
})

test('each missing x402 setting is reported, and no problem quotes a secret', () => {
  const expected = (env: Record<string, string>) => problemsOf({ ...paying, ...env }).join('\n')
  assert.match(expected({ X402_PAY_TO: '' }), /^X402_PAY_TO must be set/)
  assert.match(expected({ X402_SECRETS: '' }), /^X402_SECRETS must be set/)
  assert.match(expected({ X402_FACILITATOR_URL: '' }), /^X402_FACILITATOR_URL must be set/)
  assert.match(expected({ X402_FACILITATOR: 'local' }), /X402_RPC_URL and X402_RELAYER_KEY_FILE/)
  assert.match(expected({ X402_FACILITATOR: 'local' }), /X402_FACILITATOR_URL is for/)
  assert.match(expected({ METERING: 'off' }), /^METERING=off takes no payment/)
  assert.match(expected({ X402_RELAYER_KEY_FILE: 'key' }), /X402_RELAYER_KEY_FILE is for/)
  assert.doesNotMatch(expected({ X402_SECRETS: 'short-secret' }), /short-secret/)
  assert.doesNotMatch(expected({ X402_RPC_URL: 'node with a key' }), /with a key/)
})

test('the settings of the OpenID Connect provider are all set or none is, and problems never quote the secret', () => {
  const all = {
    OIDC_ISSUER: 'https://login.example.com/realms/example',
    OIDC_CLIENT_ID: 'assay',
    OIDC_CLIENT_SECRET: 'hush',
  }
  assert.equal(readConfig({}).oidc, null)
  assert.equal(readConfig(all).oidc?.name, 'login.example.com')
  assert.equal(readConfig({ ...all, OIDC_NAME: 'Example Login' }).oidc?.name, 'Example Login')
  for (const name of Object.keys(all)) {
    const [problem, ...more] = problemsOf({ ...all, [name]: '' })
    assert.match(problem ?? '', new RegExp(`^${name} must be set where OIDC_.* and OIDC_.* is$`))
    assert.doesNotMatch(problem ?? '', /hush/)
    assert.deepEqual(more, [])
  }
  const issuers = (OIDC_ISSUER: string) => problemsOf({ ...all, OIDC_ISSUER }).length
  for (const taken of ['https://example.auth0.com/', 'http://localhost:9', 'http://127.0.0.2:9'])
    assert.equal(issuers(taken), 0, taken)
  for (const wrong of [
    'http://login.example.com',
    'http://127.0.0.1.evil.example',
    'https://user:password@login.example.com',
    'https://login.example.com?tenant=1',
    'https://login.example.com#top',
    'login.example.com',
  ])
    assert.equal(issuers(wrong), 1, wrong)
  assert.doesNotMatch(String(problemsOf({ ...all, OIDC_CLIENT_SECRET: 'hush\n' })), /hush/)
  assert.equal(problemsOf({ SIGN_UP: 'open' }).length, 1)
  assert.deepEqual(problemsOf({ ...all, SIGN_UP: 'open' }), [])
})

test('each secret setting is read from the file that NAME_FILE names, without its line end', () => {
  const folder = mkdtempSync(join(tmpdir(), 'assay-secrets-'))
  after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'secret')
  const read = (text: string, env: Record<string, string>) => {
    writeFileSync(path, text)
    return env
  }
  const url = 'postgres://assay:hush@db.example/assay'
  assert.equal(readConfig(read(`${url}\n`, { DATABASE_URL_FILE: path })).databaseUrl, url)
  const { X402_SECRETS: secret, ...rest } = paying
  const { x402 } = readConfig(read(`${secret}\r\n`, { ...rest, X402_SECRETS_FILE: path }))
  assert.deepEqual(x402?.secrets, [secret])
  assert.equal(readConfig({ DATABASE_URL_FILE: '' }).databaseUrl, undefined)

  const [both] = problemsOf({ DATABASE_URL: url, DATABASE_URL_FILE: path })
  assert.equal(both, 'DATABASE_URL and DATABASE_URL_FILE are both set. Keep one of them.')
  const [empty] = problemsOf(read('\n', { DATABASE_URL_FILE: path }))
  assert.match(empty ?? '', /^DATABASE_URL_FILE must be a file .* is empty$/)
  const [wrong, ...more] = problemsOf(read('hush', { DATABASE_URL_FILE: path }))
  assert.match(wrong ?? '', /^DATABASE_URL must be/)
  assert.doesNotMatch(wrong ?? '', /hush/)
  assert.deepEqual(more, [])
  for (const [missing, code] of [
    [join(folder, 'missing'), 'ENOENT'],
    [folder, 'EISDIR'],
  ] as const)
    assert.match(problemsOf({ SMTP_URL_FILE: missing })[0] ?? '', new RegExp(`\\(${code}\\)$`))
})

test('a setting that is no secret is not read from a file', () => {
  assert.equal(readConfig({ PORT_FILE: '/nowhere' }).port, 8080)
})
