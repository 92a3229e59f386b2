import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { UnavailableError } from '../platform/errors.ts'
import { messageOf, remedyOf } from './command.ts'
import { renderResult } from './commands/credentials.ts'
import { withoutControls, withoutSecrets } from './output.ts'

test('neither a password nor a private key is printed', () => {
  const { privateKey } = generateKeyPairSync('ed25519')
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const said = withoutSecrets(`postgres://assay:s3cret@db.example.org/assay failed near ${pem}`)
  assert.equal(said.includes('s3cret'), false)
  assert.equal(said.includes(pem.split('\n')[1] ?? '?'), false)
  assert.ok(said.includes('db.example.org/assay failed near'))
})

test('a quoted value in a message cannot move the cursor of the terminal or rename its window', () => {
  const quoted = 'answered 500: \u001b]0;owned\u0007\u001b[2J\u009b31m\u202e\r'
  assert.equal(
    withoutControls(`${quoted}gone\n\tnext`),
    'answered 500:  ]0;owned [2J 31m gone\n\tnext',
  )
})

const hostile = {
  schemaVersion: 'service.score_vc_verify.v1' as const,
  valid: false,
  reason: 'revoked\n',
  message: 'gone\u001b[2J',
  signatureValid: true,
  issuerMatch: true,
  revocation: { checked: true, revoked: true, revokedAt: '2026\r\nVALID' },
  credential: { subject: 'https://a\nVALID: all is well', score: 1, scoreBand: '\u202e' },
  presented: {},
  notes: ['a\u0007'],
}

test('a changed document is not called "not revoked": the status is that of its original', () => {
  const revocation = { checked: true, revoked: false, revokedAt: null }
  const line = (signatureValid: boolean) =>
    renderResult({ ...hostile, signatureValid, revocation }, 1).find((one) =>
      /revocation/.test(one),
    )
  assert.match(line(true) ?? '', /revocation +not revoked$/)
  assert.match(line(false) ?? '', /revocation +not checked: the status is that of the original/)
})

test('a text in a credential cannot move the cursor of the terminal or add a line', () => {
  const lines = renderResult(hostile, 1)
  for (const line of lines) assert.match(line, /^[\P{C}]+$/u)
  assert.ok(lines[0]?.startsWith('NOT VALID (revoked'))
})

test('a command names what to do: room on a full disk, a certificate, else the setting of the database', () => {
  const said = (why: string) => messageOf(new UnavailableError('failed', { cause: new Error(why) }))
  assert.match(said('could not extend file "base/1": No space left on device'), /Make room on the/)
  assert.match(said('certificate has expired'), /expired\. Check DATABASE_URL: the certificate of/)
  const own = 'connection requires a valid client certificate'
  assert.match(said(own), /client certificate\. Check DATABASE_URL, or run/)
  assert.match(
    remedyOf('self-signed certificate', 'DATABASE_READ_URLS') ?? '',
    /DATABASE_READ_URLS/,
  )
  assert.match(said('connect ECONNREFUSED'), /Check DATABASE_URL, or run/)
})

test('a file that cannot be written is named with its reason, not with a system call', () => {
  const error = Object.assign(new Error("EROFS: read-only file system, open '/data/lock'"), {
    code: 'EROFS',
    path: '/data/lock',
  })
  assert.equal(messageOf(error), '/data/lock is on a read-only file system (EROFS).')
})
