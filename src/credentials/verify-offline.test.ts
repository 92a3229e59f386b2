import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import {
  changed,
  inside,
  type Json,
  keyRow,
  now,
  origin,
  sign,
  signer,
  signerOf,
  vector,
  vectorCredentials,
} from '../../test/support/build/credentials.ts'
import { didDocumentOf, publicKeyDocumentOf } from './documents.ts'
import { KeyFileRefused } from './key-file.ts'
import type { ProofForm } from './proof.ts'
import { kidOf, type Signer } from './signing-key.ts'
import { bitsOf, statusListPayload, statusListProofs } from './status-list.ts'
import { verifyOffline } from './verify-offline.ts'

const credential = vectorCredentials.native
const entry = inside(credential, 'credentialStatus')
const index = Number(entry.statusListIndex)
const key = publicKeyDocumentOf(origin, keyRow(signer))
const did = didDocumentOf(origin, [keyRow(signer)])

interface ListFacts {
  revoked?: number[]
  publishedAt?: Date
  listId?: string
  by?: Signer
  form?: ProofForm
  change?: (payload: Json) => void
}

interface Files {
  key: unknown
  list?: unknown
  lists?: unknown[]
}

function listOf(facts: ListFacts = {}): Json {
  const { revoked = [], publishedAt = now, by = signer, form = 'eddsa-rdfc-2022' } = facts
  const listId = facts.listId ?? String(entry.statusListCredential).split('/').at(-1) ?? ''
  const payload = statusListPayload(origin, { listId, bits: bitsOf(revoked), publishedAt })
  facts.change?.(payload)
  return { ...payload, proof: statusListProofs(payload, origin, by)[form] }
}

function verified(
  { key, list, lists = list === undefined ? [] : [list] }: Files,
  presented = credential,
  at = now,
) {
  return verifyOffline(presented, null, { files: { key, lists }, now: at })
}

for (const [form, presented] of Object.entries(vectorCredentials))
  test(`valid: a ${form} credential with key document or did.json, and a list that does not name it`, () => {
    for (const file of [key, did]) {
      const result = verified(
        { key: file, list: listOf({ revoked: [index - 1, index + 1] }) },
        presented,
      )
      assert.equal(result.valid, true)
      assert.deepEqual(result.revocation, { checked: true, revoked: false, revokedAt: null })
    }
  })

test('status_unavailable: without a list nothing is valid, though issuer and signature hold', () => {
  const result = verified({ key })
  assert.equal(result.valid, false)
  assert.equal(result.reason, 'status_unavailable')
  assert.ok(result.issuerMatch && result.signatureValid)
  assert.equal(result.revocation.checked, false)
  assert.ok(result.notes.includes('revocation_not_checked'))
  assert.equal(result.message, missing)
})

const missing = `The status list ${String(entry.statusListCredential)} is missing. Fetch it and name it with --list.`

test('status_unavailable: lists that the credential does not name leave its own missing, and the message names it', () => {
  const others = [listOf({ listId: 'aaaaaaaaaa' }), listOf({ listId: 'bbbbbbbbbb' }), did, [], null]
  const result = verified({ key, lists: others })
  assert.equal(result.reason, 'status_unavailable')
  assert.equal(result.message, missing)
  assert.deepEqual(result.revocation, { checked: false, revoked: false })
})

test('several lists in any order: the list that the credential names decides', () => {
  const others = [listOf({ listId: 'aaaaaaaaaa', revoked: [index] }), did]
  assert.equal(verified({ key, lists: [...others, listOf()] }).valid, true)
  assert.equal(
    verified({ key, lists: [listOf({ revoked: [index] }), ...others] }).reason,
    'revoked',
  )
})

test('revoked: one usable copy of the list with the revocation is enough, beside any other copies', () => {
  const old = listOf({ publishedAt: new Date(now.getTime() - 3_600_000) })
  const late = listOf({ revoked: [index] })
  const forged = listOf({ by: signerOf(8), revoked: [index] })
  for (const lists of [
    [old, late],
    [late, old],
    [forged, old, late],
  ])
    assert.equal(verified({ key, lists }).reason, 'revoked')
  assert.equal(verified({ key, lists: [forged, old] }).valid, true, 'a forged copy says nothing')
})

for (const form of ['native', 'eddsa-jcs-2022', 'eddsa-rdfc-2022'] as const)
  test(`revoked: by a list with a ${form} proof`, () => {
    const result = verified({ key, list: listOf({ revoked: [index], form }) })
    assert.equal(result.reason, 'revoked')
    assert.deepEqual(result.revocation, { checked: true, revoked: true })
  })

test('signature_invalid and expired come before revoked and status_unavailable', () => {
  const list = listOf({ revoked: [index] })
  const tampered = changed(credential, (copy) => {
    inside(copy, 'credentialSubject').score = 999
  })
  const altered = verified({ key, list }, tampered)
  assert.equal(altered.reason, 'signature_invalid')
  assert.equal(altered.revocation.checked, false, 'whose place in the list it names nobody knows')
  const later = new Date('2029-01-01T00:00:00Z')
  const lateList = listOf({ revoked: [index], publishedAt: later })
  assert.equal(verified({ key, list: lateList }, credential, later).reason, 'expired')
})

const subject = (payload: Json): Json => inside(payload, 'credentialSubject')
const bomb = `u${gzipSync(Buffer.alloc(64 * 1024 * 1024)).toString('base64url')}`

const uselessLists: Record<string, unknown> = {
  'signed by a key that is not in the key file': listOf({ by: signerOf(8) }),
  'changed after it was signed': changed(listOf({ revoked: [index] }), (copy) => {
    subject(copy).encodedList = subject(listOf()).encodedList
  }),
  'of another id': listOf({ listId: 'aaaaaaaaaa' }),
  'past its end': listOf({ publishedAt: new Date(now.getTime() - 87_000_000) }),
  'of the future': listOf({ publishedAt: new Date(now.getTime() + 400_000) }),
  'for suspension': listOf({
    form: 'native',
    change: (payload) => {
      subject(payload).statusPurpose = 'suspension'
    },
  }),
  'of another issuer': listOf({
    form: 'native',
    change: (payload) => {
      payload.issuer = 'did:web:example.com'
    },
  }),
  'with a context that redefines terms': listOf({
    form: 'native',
    change: (payload) => {
      payload['@context'] = ['https://www.w3.org/ns/credentials/v2', 'https://example.com/c']
    },
  }),
  'that unpacks to 64 MiB': listOf({
    change: (payload) => {
      subject(payload).encodedList = bomb
    },
  }),
  'shorter than the standard allows': listOf({
    change: (payload) => {
      subject(payload).encodedList = `u${gzipSync(Buffer.alloc(16_383)).toString('base64url')}`
    },
  }),
  'that is no list': {},
  'whose id has no text': { id: { toString: 1 }, credentialSubject: {} },
  'that is a list of JSON': [],
}

for (const [what, list] of Object.entries(uselessLists))
  test(`status_unavailable: a list ${what} tells nothing`, () => {
    const result = verified({ key, list })
    assert.equal(result.valid, false)
    assert.equal(result.reason, 'status_unavailable')
    assert.equal(result.revocation.checked, false)
  })

test('issuer_mismatch: the key file of another issuer', () => {
  const other = changed(did, (copy) => {
    copy.id = 'did:web:example.com'
    for (const method of copy.verificationMethod as Json[])
      method.id = String(method.id).replace(origin.issuer, 'did:web:example.com')
    copy.assertionMethod = (copy.verificationMethod as Json[]).map(({ id }) => id)
  })
  assert.equal(verified({ key: other }).reason, 'issuer_mismatch')
})

test('malformed_credential: a context that cannot become text, and a revocation time that cannot', () => {
  const strange = { ...credential, '@context': [{ toString: 1 }, { toString: 1 }] }
  assert.equal(verified({ key: did }, strange).reason, 'malformed_credential')
  const methods = (did.verificationMethod as Json[]).map((one) => ({
    ...one,
    revoked: { toString: 1 },
  }))
  assert.equal(verified({ key: { ...did, verificationMethod: methods } }).reason, 'key_revoked')
})

test('key_revoked: a did.json whose key is revoked', () => {
  const revoked = didDocumentOf(origin, [
    keyRow(signer, { state: 'revoked', revokedAt: new Date('2026-05-20T00:00:00Z') }),
  ])
  assert.equal(verified({ key: revoked }).reason, 'key_revoked')
  const asserting = [`${origin.issuer}#${signer.kid}`]
  assert.equal(verified({ key: { ...revoked, assertionMethod: asserting } }).reason, 'key_revoked')
})

/** The keys of an issuer after a rotation and before the next: retired, active, pending. */
const [successor, pending] = [signerOf(8), signerOf(9)]
const rotatedDid = didDocumentOf(origin, [
  keyRow(signer, { state: 'retired', retiredAt: now }),
  keyRow(successor),
  keyRow(pending, { state: 'pending', activatedAt: null }),
])

test('after a rotation did.json verifies the credential and the list, each by the key that it names', () => {
  const list = listOf({ by: successor })
  assert.equal(verified({ key: rotatedDid, list }).valid, true)
  const revoking = listOf({ by: successor, revoked: [index] })
  assert.equal(verified({ key: rotatedDid, list: revoking }).reason, 'revoked')
})

test('a key that is not in the key file is named as missing there, never as a stranger', () => {
  const afterRotation = publicKeyDocumentOf(origin, keyRow(successor))
  const byNoKey = verified({ key: afterRotation, list: listOf({ by: successor }) })
  assert.deepEqual([byNoKey.reason, byNoKey.valid], ['unknown_key', false])
  assert.match(byNoKey.message, /^The key that .* is not in the key file: give did\.json\./)
  const ofNoKey = verified({ key, list: listOf({ by: successor }) })
  assert.equal(ofNoKey.reason, 'status_unavailable')
  assert.match(ofNoKey.message, /the key that signed it is not in the key file: give did\.json\./)
})

test('unknown_key: a pending key is in did.json and asserts nothing yet', () => {
  const early = sign(vector.payload, { by: pending })
  assert.equal(verified({ key: rotatedDid, list: listOf() }, early).reason, 'unknown_key')
})

const strangeMethods: Json[] = [
  { ...(did.verificationMethod as Json[])[0], id: { toString: 1 }, revoked: { toString: 1 } },
  { id: `${origin.issuer}#p256`, type: 'JsonWebKey', publicKeyJwk: { kty: 'EC', crv: 'P-256' } },
  { id: `${origin.issuer}#zDn`, type: 'Multikey', publicKeyMultibase: 'zDnaerx9CtbPJ1q36T5Ln5wYt' },
  { id: { toString: 1 }, type: 'Multikey', publicKeyMultibase: 7 },
  { id: `did:web:example.com#${signer.kid}`, type: 'Multikey', publicKeyMultibase: signer.kid },
  ...[Buffer.alloc(32), Buffer.alloc(32, 0xff)].map((weak) => ({
    id: `${origin.issuer}#${kidOf(weak)}`,
    type: 'Multikey',
    publicKeyMultibase: kidOf(weak),
  })),
]

test('a key of another kind, name or strength in did.json refuses no other key', () => {
  const mixed = changed(did, (copy) => {
    copy.verificationMethod = [...strangeMethods, ...(copy.verificationMethod as Json[])]
    copy.assertionMethod = (copy.verificationMethod as Json[]).map(({ id }) => id)
  })
  assert.equal(verified({ key: mixed, list: listOf() }).valid, true)
  for (const strange of strangeMethods)
    assert.throws(
      () =>
        verified({
          key: { ...did, verificationMethod: [strange], assertionMethod: [strange.id] },
        }),
      KeyFileRefused,
    )
})

const method = inside(key, 'verificationMethod')
const uselessKeys: Record<string, unknown> = {
  'that is not an object': [],
  'of another kind': { issuer: origin.issuer },
  'whose key has another name': {
    ...key,
    verificationMethod: { ...method, id: `${origin.issuer}#${signerOf(8).kid}` },
  },
  'whose key is another than its name says': {
    ...key,
    verificationMethod: { ...method, publicKeyBase64url: 'AAAA' },
  },
  'of an issuer that is no did:web': {
    ...key,
    issuer: 'did:key:z6Mk',
    verificationMethod: { ...method, id: `did:key:z6Mk#${signer.kid}` },
  },
  'without a key': { ...did, verificationMethod: [] },
  'without a key that signs': { ...did, assertionMethod: [] },
}

for (const [what, file] of Object.entries(uselessKeys))
  test(`a key file ${what} is refused, not believed`, () => {
    assert.throws(() => verified({ key: file }), KeyFileRefused)
  })
