import assert from 'node:assert/strict'
import { test } from 'node:test'
import { vectorCredentials } from '../../test/support/build/credentials.ts'
import { nameByHex, nameById, nameOfLine } from './credential-name.ts'

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
