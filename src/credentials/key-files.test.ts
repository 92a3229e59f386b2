/**
 * Private keys on disk: written completely, readable only by their owner, rejected with the name of
 * the file.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pemOfSeed, signer } from '../../test/support/build/credentials.ts'
import { makeKeyFile, readSigners } from './key-files.ts'

const root = mkdtempSync(join(tmpdir(), 'assay-keys-'))
after(() => rmSync(root, { recursive: true }))

function folder(name: string): string {
  return join(root, name)
}

test('a new key file is named by its kid, has mode 0600 in a folder of mode 0700, and can be read back', async () => {
  const keys = folder('made')
  const before = process.umask(0)
  const kid = await makeKeyFile(keys).finally(() => process.umask(before))
  assert.match(kid, /^z6Mk[1-9A-HJ-NP-Za-km-z]{44}$/)
  assert.deepEqual(readdirSync(keys), [`${kid}.pem`], 'no half-written file stays')
  assert.equal(statSync(join(keys, `${kid}.pem`)).mode & 0o777, 0o600)
  assert.equal(statSync(keys).mode & 0o777, 0o700)
  assert.deepEqual([...(await readSigners(keys)).keys()], [kid])
})

test('every key file of a folder is read, and other files are ignored', async () => {
  const keys = folder('several')
  const kids = [await makeKeyFile(keys), await makeKeyFile(keys)].sort()
  writeFileSync(join(keys, 'README'), 'not a key')
  writeFileSync(join(keys, 'x.pem.new'), 'half a key')
  assert.deepEqual([...(await readSigners(keys)).keys()].sort(), kids)
})

test('a missing folder holds no keys', async () => {
  assert.equal((await readSigners(folder('absent'))).size, 0)
})

test('a sound public key file is accepted and is not a signer', async () => {
  const keys = folder('public')
  mkdirSync(keys)
  const der = Buffer.from('MCowBQYDK2VwAyEA6kpsY+KcUgq+9VB7Ey7F+ZVHdq6+vnuSQh7qaRRG0iw=', 'base64')
  const pem = `-----BEGIN PUBLIC KEY-----\n${der.toString('base64')}\n-----END PUBLIC KEY-----\n`
  writeFileSync(join(keys, 'public.pem'), pem)
  writeFileSync(join(keys, 'private.pem'), pemOfSeed(Buffer.alloc(32, 7)))
  assert.deepEqual([...(await readSigners(keys)).keys()], [signer.kid])
})

test('refused: an unreadable file is reported with its name', async () => {
  const keys = folder('unreadable')
  mkdirSync(keys)
  symlinkSync('nowhere', join(keys, 'x.pem'))
  const message = `${join(keys, 'x.pem')}: the file cannot be read`
  await assert.rejects(readSigners(keys), { name: 'KeyRefused', message })
})

test('refused: a folder and a pipe are rejected without reading them', async () => {
  const keys = folder('not-files')
  for (const make of [
    mkdirSync,
    (path: string) => execFileSync('/usr/bin/env', ['mkfifo', path]),
  ]) {
    mkdirSync(keys)
    make(join(keys, 'x.pem'))
    const message = `${join(keys, 'x.pem')}: not a file`
    await assert.rejects(readSigners(keys), { name: 'KeyRefused', message })
    rmSync(keys, { recursive: true })
  }
})

test('refused: a file too large for a key is rejected before it is read', async () => {
  const keys = folder('large')
  mkdirSync(keys)
  writeFileSync(join(keys, 'x.pem'), '')
  truncateSync(join(keys, 'x.pem'), 2 ** 32)
  const message = `${join(keys, 'x.pem')}: too large to be a PEM key`
  await assert.rejects(readSigners(keys), { name: 'KeyRefused', message })
})

test('refused: a file that holds no key is reported with its name and the reason', async () => {
  const keys = folder('garbage')
  mkdirSync(keys)
  writeFileSync(join(keys, 'x.pem'), 'garbage')
  const message = `${join(keys, 'x.pem')}: the file is not a PEM key`
  await assert.rejects(readSigners(keys), { name: 'KeyRefused', message })
})

test('refused: a key folder that is a file', async () => {
  const keys = folder('file')
  writeFileSync(keys, '')
  const message = `${keys}: the key folder cannot be read`
  await assert.rejects(readSigners(keys), { name: 'KeyRefused', message })
})
