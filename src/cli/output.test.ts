import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { vectorCredentials } from '../../test/support/build/credentials.ts'
import { nameByHex, nameById, nameOfLine } from './credential-name.ts'
import { withoutControls, withoutSecrets } from './output.ts'
import { toldResult } from './told-result.ts'

test('neither a password nor a private key is printed', () => {
  const { privateKey } = generateKeyPairSync('ed25519')
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const said = withoutSecrets(`postgres://assay:s3cret@db.example.org/assay failed near ${pem}`)
  assert.equal(said.includes('s3cret'), false)
  assert.equal(said.includes(pem.split('\n')[1] ?? '?'), false)
  assert.ok(said.includes('db.example.org/assay failed near'))
})

test('what a message quotes cannot move the cursor of the terminal or rename its window', () => {
  const quoted = 'answered 500: \u001b]0;owned\u0007\u001b[2J\u009b31m\u202e\r'
  assert.equal(
    withoutControls(`${quoted}gone\n\tnext`),
    'answered 500:  ]0;owned [2J 31m gone\n\tnext',
  )
})

test('a credential is named by id, URN, token, status URL, digest or by itself', () => {
  const id = '6b1f6c1e-6e0a-4a52-9a55-5f1c1b3f1c1e'
  const hex = '1a7674eb4ee78df7e1ac439a93c3fa8e3c945784d4dec9fd8e3011738b2f1d62'
  for (const text of [id, id.toUpperCase(), `urn:uuid:${id}`])
    assert.deepEqual(nameById(text), { by: 'id', id })
  for (const text of [hex, `https://scores.example.org/standard/v1/score-vc-status/${hex}`])
    assert.deepEqual(nameByHex(text, 'token'), { by: 'token', bytes: Buffer.from(hex, 'hex') })
  assert.deepEqual(nameOfLine(JSON.stringify(vectorCredentials.native)), { by: 'id', id })
  assert.equal(nameOfLine(` ${hex} `)?.by, 'token or digest')
  for (const text of ['', 'x', '{', '{}', '[]', hex.slice(1), `${hex}0`, `${id}0`])
    assert.equal(nameOfLine(text), null, text)
})

test('what a credential says cannot move the cursor of the terminal or add a line', () => {
  const lines = toldResult({
    schemaVersion: 'service.score_vc_verify.v1',
    valid: false,
    reason: 'revoked\n',
    message: 'gone\u001b[2J',
    signatureValid: true,
    issuerMatch: true,
    revocation: { checked: true, revoked: true, revokedAt: '2026\r\nVALID' },
    credential: { subject: 'https://a\nVALID: all is well', score: 1, scoreBand: '\u202e' },
    presented: {},
    notes: ['a\u0007'],
  })
  for (const line of lines) assert.match(line, /^[\P{C}]+$/u)
  assert.ok(lines[0]?.startsWith('NOT VALID (revoked'))
})
