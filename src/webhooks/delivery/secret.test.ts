import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { keyringFile, parseKeyring } from '../../platform/crypto/keyring.ts'
import { newSecret, openSecret, sealSecret, secretBytes, secretPrefix } from './secret.ts'

const ring = new Map([
  ['k2', randomBytes(32)],
  ['k1', randomBytes(32)],
])
const secretId = { endpointId: '0d4f9c52-6a3b-4c1e-9f27-8b5a1c2d3e4f', version: 1 }

test('a secret has the specified form without - and _, and stands for 32 bytes', () => {
  for (let i = 0; i < 200; i++) {
    const secret = newSecret()
    assert.match(secret, /^whsec_[A-Za-z0-9]{43}$/)
    assert.equal(secretBytes(secret).length, 32)
    assert.match(secretPrefix(secret), /^whsec_[A-Za-z0-9]{12}$/)
    assert.ok(secret.startsWith(secretPrefix(secret)))
  }
})

test('a draw that contains - or _ is repeated', () => {
  const draws = [Buffer.alloc(32, 0xff), Buffer.alloc(32, 0xfb), Buffer.alloc(32, 1)]
  const secret = newSecret(() => draws.shift() ?? assert.fail('one draw too many'))
  assert.deepEqual(secretBytes(secret), Buffer.alloc(32, 1))
})

test('a sealed secret opens only with its key and in its own place', () => {
  const secret = newSecret()
  const sealed = sealSecret(secret, secretId, ring)
  assert.equal(sealed.kid, 'k2')
  assert.equal(openSecret(sealed, secretId, ring), secret)
  assert.ok(!sealed.sealed.includes(Buffer.from(secret)))
  assert.ok(!sealed.sealed.includes(secretBytes(secret)))
  assert.throws(() => openSecret(sealed, { ...secretId, version: 2 }, ring))
  assert.throws(() =>
    openSecret(sealed, { ...secretId, endpointId: secretId.endpointId.replace('0', '1') }, ring),
  )
  assert.throws(() => openSecret({ ...sealed, kid: 'k1' }, secretId, ring))
  assert.throws(() => openSecret(sealed, secretId, new Map()), /k2 is not on the key ring/)
  for (let i = 0; i < sealed.sealed.length; i++) {
    const bent = Buffer.from(sealed.sealed)
    bent[i] = (bent[i] as number) ^ 1
    assert.throws(() => openSecret({ ...sealed, sealed: bent }, secretId, ring))
  }
})

test('the key ring is parsed strictly', () => {
  const key = randomBytes(32).toString('base64')
  assert.deepEqual([...parseKeyring(`new:${key}, old:${key}`).keys()], ['new', 'old'])
  for (const wrong of [
    '',
    key,
    `a:${key},a:${key}`,
    `a:${key.slice(4)}`,
    `a b:${key}`,
    `a:${key},`,
  ])
    assert.throws(() => parseKeyring(wrong), /kid:key pairs/, wrong)
})

test('concurrent processes create one key file, readable by its owner alone', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'assay-keyring-'))
  try {
    const path = join(folder, 'secrets', 'webhooks.keys')
    const rings = await Promise.all([1, 2, 3].map(() => keyringFile(path)))
    for (const found of rings) assert.deepEqual(found, rings[0])
    assert.equal((await stat(path)).mode & 0o777, 0o600)
    assert.deepEqual(await keyringFile(path), parseKeyring((await readFile(path, 'utf8')).trim()))
  } finally {
    await rm(folder, { recursive: true })
  }
})
