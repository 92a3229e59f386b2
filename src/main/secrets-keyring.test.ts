import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parseKeyring } from '../platform/crypto/keyring.ts'
import { openSecretsKeyring } from './secrets-keyring.ts'

const folder = mkdtempSync(join(tmpdir(), 'assay-ring-'))
after(() => rmSync(folder, { recursive: true }))

const databaseUrl = 'postgres://db.example.org/assay'
const secretsKeyring = parseKeyring(`k7:${Buffer.alloc(32, 7).toString('base64')}`)
const open = (dataDir: string, more: object = {}) =>
  openSecretsKeyring({ secretsKeyring: undefined, databaseUrl: undefined, dataDir, ...more })

test('with the embedded database the keyring is a private file, the same for every start and child', async () => {
  const dataDir = join(folder, 'embedded')
  const ring = await open(dataDir)
  assert.equal(ring?.size, 1)
  assert.deepEqual(await open(dataDir), ring)
  assert.deepEqual(await open(dataDir, { databaseUrl }), ring, 'a child is given the URL')
  assert.equal(statSync(join(dataDir, 'webhook-secrets.keys')).mode & 0o777, 0o600)
})

test('with a shared database no keyring file is created', async () => {
  assert.equal(await open(join(folder, 'shared'), { databaseUrl }), null)
  assert.ok(!readdirSync(folder).includes('shared'))
})

test('the setting overrides the file with any database', async () => {
  for (const url of [undefined, databaseUrl])
    assert.equal(
      await open(join(folder, 'set'), { databaseUrl: url, secretsKeyring }),
      secretsKeyring,
    )
  assert.ok(!readdirSync(folder).includes('set'))
})
