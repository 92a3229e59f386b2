/**
 * The verdict: every reason alone, the precedence of reasons, every note and time limit, and no
 * changed credential passes.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Circumstances,
  changed,
  inside,
  issuedAt,
  type Json,
  keyRow,
  now,
  origin,
  publicUrl,
  registered,
  registryOf,
  sameValue,
  sign,
  signer,
  signerOf,
  trust,
  vector,
  vectorCredentials,
  verdictOn,
} from '../../test/support/build/credentials.ts'
import fc from '../../test/support/oracle/fc.ts'
import { proofForms } from './proof.ts'
import { type Reason, reasonMessage } from './reasons.ts'
import { signatureCache } from './signature-cache.ts'
import { type SigningKey, trustOf } from './trust.ts'
import { checkCredential, type Findings, verdict, verifyCredential } from './verify.ts'

const credential = vectorCredentials.native
const revokedAt = new Date('2026-06-01T10:00:00.750Z')

/** Returns a registry that holds the vector's credential in this state. */
function knows(over: Parameters<typeof registered>[1]) {
  return () => registered(vector.payload, over)
}

test('a genuine credential is valid, and the verdict contains its flattened claims', async () => {
  assert.deepEqual(await verdictOn(credential), {
    schemaVersion: 'service.score_vc_verify.v1',
    valid: true,
    message: 'The credential is genuine and valid.',
    signatureValid: true,
    issuerMatch: true,
    revocation: { checked: true, revoked: false, revokedAt: null },
    credential: {
      issuer: 'did:web:scores.example.org',
      subject: 'https://scores.example.org/u/ada-lovelace',
      score: 742,
      scoreBand: 'strong',
      confidenceLow: 701,
      confidenceHigh: 778,
      issuedAt: '2026-05-14T09:00:00Z',
      engineId: 'https://scores.example.org/.well-known/service-engine.json',
      engineVersion: '1.4.2',
      engineBinarySha256: '51a1f05af85e342e3c849b47d387086476282d5f50dc240c19216d6edfb1eb5a',
      verificationMethod: vector.key.verificationMethod,
    },
    presented: {
      issuer: 'did:web:scores.example.org',
      payloadSha256: vector.vcSha256,
      proofType: 'ServiceScoreEd25519Signature2026',
      verificationMethod: vector.key.verificationMethod,
      optionsSha256: vector.native.proofOptionsSha256,
    },
    notes: ['proof:native', 'status_source:live'],
  })
})

test('the rows of reasonMessage are in the published order of precedence', () => {
  assert.deepEqual(Object.keys(reasonMessage), [
    'malformed_credential',
    'ambiguous_json',
    'unsupported_proof',
    'issuer_mismatch',
    'unknown_key',
    'key_revoked',
    'signature_invalid',
    'not_yet_valid',
    'expired',
    'revoked',
    'status_unknown',
    'status_unavailable',
  ])
})

// malformed_credential

const malformed: Record<string, (copy: Json) => void> = {
  'no @context': (copy) => delete copy['@context'],
  '@context as a string': (copy) => (copy['@context'] = origin.contextUrl),
  'only the W3C context': (copy) => (copy['@context'] = ['https://www.w3.org/ns/credentials/v2']),
  'the contexts in another order': (copy) => (copy['@context'] as string[]).reverse(),
  'a context appended': (copy) => (copy['@context'] as string[]).push('https://evil.example/c'),
  'a context that redefines terms': (copy) =>
    (copy['@context'] = ['https://www.w3.org/ns/credentials/v2', { score: 'urn:not-the-score' }]),
  'another context of ours': (copy) =>
    ((copy['@context'] as string[])[1] = 'https://evil.example/standard/v1/context.jsonld'),
  'no type': (copy) => delete copy.type,
  'type as a string': (copy) => (copy.type = 'ServiceScoreCredential'),
  'another type': (copy) => (copy.type = ['VerifiableCredential', 'OpenBadgeCredential']),
  'no issuer': (copy) => delete copy.issuer,
  'issuer as an object': (copy) => (copy.issuer = { id: origin.issuer }),
  'no credentialSubject': (copy) => delete copy.credentialSubject,
  'credentialSubject as an array': (copy) => (copy.credentialSubject = [copy.credentialSubject]),
  'credentialSubject null': (copy) => (copy.credentialSubject = null),
  'credentialStatus as an array': (copy) => (copy.credentialStatus = [copy.credentialStatus]),
  'credentialStatus null': (copy) => (copy.credentialStatus = null),
  'no proof': (copy) => delete copy.proof,
  'validFrom without a time zone': (copy) => (copy.validFrom = '2026-05-14T09:00:00'),
  'validUntil as a date': (copy) => (copy.validUntil = '2027-05-14'),
  'validUntil as a number': (copy) => (copy.validUntil = 1_810_285_200),
  'validUntil null': (copy) => (copy.validUntil = null),
  'validUntil in month 13': (copy) => (copy.validUntil = '2027-13-14T09:00:00Z'),
  'issuanceDate as an array': (copy) => (copy.issuanceDate = [copy.issuanceDate]),
}

for (const [what, change] of Object.entries(malformed))
  test(`malformed_credential: ${what}`, async () => {
    const result = await verdictOn(changed(credential, change))
    assert.equal(result.reason, 'malformed_credential')
    assert.equal(result.valid, false)
    assert.equal(result.signatureValid, false)
    assert.deepEqual(result.revocation, { checked: false, revoked: false })
    assert.equal(result.credential, undefined)
  })

test('malformed_credential: an empty object is a finding, not an error', async () => {
  const result = await verdictOn({})
  assert.equal(result.reason, 'malformed_credential')
  assert.equal(result.issuerMatch, false)
  assert.deepEqual(result.presented, {})
})

const wrongTypes: Record<string, (copy: Json) => void> = {
  'score as text': (copy) => (inside(copy, 'credentialSubject').score = '742'),
  'a fractional score': (copy) => (inside(copy, 'credentialSubject').score = 742.5),
  'confidenceLow null': (copy) => (inside(copy, 'credentialSubject').confidenceLow = null),
  'confidenceHigh as text': (copy) => (inside(copy, 'credentialSubject').confidenceHigh = '778'),
  'evidenceCount as a boolean': (copy) => (inside(copy, 'credentialSubject').evidenceCount = true),
  'scoreBand as a number': (copy) => (inside(copy, 'credentialSubject').scoreBand = 4),
  'a subject id as an object': (copy) => (inside(copy, 'credentialSubject').id = {}),
  'engineVersion as a number': (copy) => (inside(copy, 'credentialSubject').engineVersion = 1.4),
  'a status id as a number': (copy) => (inside(copy, 'credentialStatus').id = 7),
  'statusListIndex as a number': (copy) =>
    (inside(copy, 'credentialStatus').statusListIndex = 94_567),
  'id as a number': (copy) => (copy.id = 7),
  'a score above 1000': (copy) => (inside(copy, 'credentialSubject').score = 1001),
  'a negative score': (copy) => (inside(copy, 'credentialSubject').score = -1),
  'confidenceLow below 0': (copy) => (inside(copy, 'credentialSubject').confidenceLow = -1),
  'confidenceHigh above 1000': (copy) => (inside(copy, 'credentialSubject').confidenceHigh = 1001),
  'confidenceLow above confidenceHigh': (copy) =>
    (inside(copy, 'credentialSubject').confidenceLow = 779),
  'a negative evidenceCount': (copy) => (inside(copy, 'credentialSubject').evidenceCount = -1),
  'an unknown band': (copy) => (inside(copy, 'credentialSubject').scoreBand = 'splendid'),
  'a third type': (copy) => (copy.type as unknown[]).push(7),
  'validUntil on 30 February': (copy) => (copy.validUntil = '2027-02-30T09:00:00Z'),
  'validUntil at hour 24': (copy) => (copy.validUntil = '2027-05-14T24:00:00Z'),
  'issuanceDate on 31 June': (copy) => (copy.issuanceDate = '2026-06-31T09:00:00Z'),
}

for (const [what, change] of Object.entries(wrongTypes))
  test(`malformed_credential: ${what}, signed with our own key`, async () => {
    const payload = changed(vector.payload, change)
    const result = await verdictOn(sign(payload), { registry: registryOf(payload) })
    assert.equal(result.reason, 'malformed_credential')
    assert.equal(result.valid, false)
    assert.equal(result.credential, undefined)
  })

for (const created of ['', 'yesterday', '0', '2026-05-14T09:00:00', '2026-02-30T09:00:00Z'])
  test(`malformed_credential: created ${JSON.stringify(created)}, signed with our own key`, async () => {
    const result = await verdictOn(sign(vector.payload, { created }))
    assert.equal(result.reason, 'malformed_credential')
    assert.equal(result.message, 'proof.created must be a date-time with a time zone.')
  })

test('issuer_mismatch: the member types of a foreign credential are not checked', async () => {
  const payload = changed(foreignPayload, (copy) => {
    inside(copy, 'credentialSubject').score = '742'
  })
  assert.equal((await verdictOn(sign(payload))).reason, 'issuer_mismatch')
})

// ambiguous_json

const text = JSON.stringify(credential)
const ambiguous: Record<string, string> = {
  'a name twice': text.replace('"score":742', '"score":999,"score":742'),
  'a name twice, once escaped': text.replace('"score":742', '"sc\\u006fre":999,"score":742'),
  'the whole subject twice': text.replace(
    '"credentialSubject"',
    '"credentialSubject":{},"credentialSubject"',
  ),
  'proof twice': `{"proof":{},${text.slice(1)}`,
  'a lone surrogate': text.replace('"strong"', '"strong\\ud800"'),
  'a NUL': text.replace('"strong"', '"strong\\u0000"'),
  '1e400': text.replace('742', '1e400'),
  'a decimal that is rounded to 742': text.replace('742', '742.00000000000001'),
  'a decimal that is rounded to 0': text.replace('742', '1e-400'),
  '2^53 + 1': text.replace('742', '9007199254740993'),
  'the name __proto__': text.replace('"score":742', '"__proto__":{"score":999},"score":742'),
  'depth 33': text.replace('742', `${'['.repeat(31)}742${']'.repeat(31)}`),
  '10,001 members': text.replace('742', `[${'0,'.repeat(10_000)}0]`),
}

for (const [what, body] of Object.entries(ambiguous))
  test(`ambiguous_json: ${what}`, async () => {
    const result = await verdictOn(body)
    assert.equal(result.reason, 'ambiguous_json')
    assert.equal(result.signatureValid, false)
    assert.equal(result.credential, undefined)
    assert.deepEqual(result.revocation, { checked: false, revoked: false })
  })

// issuer_mismatch

const elsewhere = 'https://evil.example'
const foreignPayload = changed(vector.payload, (copy) => {
  copy.issuer = 'did:web:evil.example'
  copy['@context'] = [(copy['@context'] as string[])[0], `${elsewhere}/standard/v1/context.jsonld`]
})

test('issuer_mismatch: a genuine credential of another issuer', async () => {
  const theirs = signerOf(8)
  const result = await verdictOn(
    sign(foreignPayload, { by: theirs, verificationMethod: `did:web:evil.example#${theirs.kid}` }),
  )
  assert.equal(result.reason, 'issuer_mismatch')
  assert.equal(result.issuerMatch, false)
  assert.equal(result.signatureValid, false)
  assert.equal(result.credential, undefined)
})

for (const issuer of [
  'did:web:scores.example.org:evil',
  'did:web:SCORES.example.org',
  'did:web:scores.example.org ',
  'https://scores.example.org',
  'constructor',
])
  test(`issuer_mismatch: ${JSON.stringify(issuer)} signed with our own key`, async () => {
    const payload = changed(vector.payload, (copy) => {
      copy.issuer = issuer
    })
    const result = await verdictOn(sign(payload), { registry: registryOf(payload) })
    assert.equal(result.reason, 'issuer_mismatch')
    assert.equal(result.valid, false)
  })

test('a former address of this deployment stays an issuer, with its own context', async () => {
  const moved = trustOf(['https://new.example.org', publicUrl], [keyRow(signer)])
  assert.equal((await verdictOn(credential, { trust: moved })).valid, true)
  const mixed = changed(credential, (copy) => {
    copy.issuer = 'did:web:new.example.org'
  })
  assert.equal((await verdictOn(mixed, { trust: moved })).reason, 'malformed_credential')
})

// keys

test('unknown_key: the signing key is not in the table', async () => {
  const stranger = signerOf(8)
  const result = await verdictOn(sign(vector.payload, { by: stranger }))
  assert.equal(result.reason, 'unknown_key')
  assert.equal(result.issuerMatch, true)
  assert.equal(result.signatureValid, false)
})

for (const verificationMethod of [
  signer.kid,
  `${origin.issuer}#`,
  `did:web:evil.example#${signer.kid}`,
  `did:key:${signer.kid}#${signer.kid}`,
])
  test(`unknown_key: verificationMethod ${verificationMethod}`, async () => {
    const result = await verdictOn(sign(vector.payload, { verificationMethod }))
    assert.equal(result.reason, 'unknown_key')
  })

test('signature_invalid: a foreign key signs under the kid of our key', async () => {
  const verificationMethod = `${origin.issuer}#${signer.kid}`
  const result = await verdictOn(sign(vector.payload, { by: signerOf(8), verificationMethod }))
  assert.equal(result.reason, 'signature_invalid')
})

function withKey(over: Partial<SigningKey>): Circumstances {
  return { trust: trustOf([publicUrl], [keyRow(signer, over)]) }
}

test('key_revoked: the verdict reports the signature and omits the claims (decision D56)', async () => {
  const result = await verdictOn(credential, withKey({ state: 'revoked', revokedAt: now }))
  assert.equal(result.reason, 'key_revoked')
  assert.equal(result.signatureValid, true)
  assert.equal(result.valid, false)
  assert.equal(result.credential, undefined)
  assert.equal(result.presented.payloadSha256, vector.vcSha256)
})

test('key_revoked: the registry reports the revocation before this process refreshes its keys', async () => {
  const registry = knows({ keyRevokedAt: now })
  const result = await verdictOn(credential, { registry })
  assert.equal(result.reason, 'key_revoked')
  assert.equal(result.credential, undefined)
})

test('a retired key verifies its signatures for ever, with a note', async () => {
  const retiredAt = new Date('2026-05-20T00:00:00Z')
  const result = await verdictOn(credential, withKey({ state: 'retired', retiredAt }))
  assert.equal(result.valid, true)
  assert.deepEqual(result.notes, ['proof:native', 'key_retired', 'status_source:live'])
})

const minutes = (count: number) => new Date(issuedAt.getTime() + count * 60_000)
const second = (time: Date, by: number) => new Date(time.getTime() + by * 1_000)

const keyWindows: [string, Partial<SigningKey>, boolean][] = [
  ['activated 300 s after created', { activatedAt: minutes(5) }, true],
  ['activated 301 s after created', { activatedAt: second(minutes(5), 1) }, false],
  ['retired 300 s before created', { state: 'retired', retiredAt: minutes(-5) }, true],
  ['retired 301 s before created', { state: 'retired', retiredAt: second(minutes(-5), -1) }, false],
]
for (const [what, over, holds] of keyWindows)
  test(`key window: a key ${what} ${holds ? 'holds' : 'does not hold'}`, async () => {
    const result = await verdictOn(credential, withKey(over))
    assert.equal(result.valid, holds)
    assert.equal(result.signatureValid, holds)
    if (!holds) assert.equal(result.reason, 'signature_invalid')
    assert.equal(result.notes.includes('created_outside_key_window'), !holds)
  })

test('key window: a key revoked 301 s before created is key_revoked, and its signature does not count', async () => {
  const over = { state: 'revoked', revokedAt: second(minutes(-5), -1) } as const
  const result = await verdictOn(credential, withKey(over))
  assert.equal(result.reason, 'key_revoked')
  assert.equal(result.signatureValid, false)
})

test('unknown_key: a pending key, or one revoked while pending, verifies nothing', async () => {
  const pending = { activatedAt: null, createdAt: minutes(-60) }
  const early = await verdictOn(credential, withKey({ state: 'pending', ...pending }))
  assert.deepEqual([early.reason, early.signatureValid], ['unknown_key', false])
  const revoked = withKey({ state: 'revoked', revokedAt: minutes(60), ...pending })
  const late = await verdictOn(credential, revoked)
  assert.deepEqual([late.reason, late.signatureValid], ['key_revoked', false])
})

// time

const times: [string, Date, Reason | undefined][] = [
  ['300 s before validFrom', minutes(-5), undefined],
  ['301 s before validFrom', second(minutes(-5), -1), 'not_yet_valid'],
  ['300 s after validUntil', new Date('2027-05-14T09:05:00Z'), undefined],
  ['301 s after validUntil', new Date('2027-05-14T09:05:01Z'), 'expired'],
]
for (const [what, at, reason] of times)
  test(`${reason ?? 'valid'}: ${what}`, async () => {
    const result = await verdictOn(credential, { now: at })
    assert.equal(result.reason, reason)
    assert.equal(result.valid, reason === undefined)
    assert.equal(result.signatureValid, true)
    assert.equal(result.credential?.score, 742, 'genuine claims are shown although out of time')
  })

test('not_yet_valid: issuanceDate counts as well as validFrom', async () => {
  const payload = changed(vector.payload, (copy) => {
    copy.issuanceDate = '2026-07-01T00:00:00Z'
  })
  const result = await verdictOn(sign(payload), { registry: registryOf(payload) })
  assert.equal(result.reason, 'not_yet_valid')
  assert.equal(result.message, 'The credential is valid from 2026-07-01T00:00:00Z.')
})

test('a credential without dates is always in time, and a date may have a fraction and an offset', async () => {
  const undated = changed(vector.payload, (copy) => {
    delete copy.issuanceDate
    delete copy.validFrom
    delete copy.validUntil
  })
  const circumstances = { registry: registryOf(undated) }
  assert.equal((await verdictOn(sign(undated), circumstances)).valid, true)
  const offset = changed(vector.payload, (copy) => {
    copy.validUntil = '2026-06-01T12:00:00.5+02:00'
  })
  for (const [at, valid] of [
    ['2026-06-01T10:05:00Z', true],
    ['2026-06-01T10:05:01Z', false],
  ] as const) {
    const result = await verdictOn(sign(offset), {
      registry: registryOf(offset),
      now: new Date(at),
    })
    assert.equal(result.valid, valid, at)
  }
})

// revocation

test('revoked: the verdict holds the time, the message holds the day, and the claims are shown', async () => {
  const registry = knows({ revokedAt })
  const result = await verdictOn(credential, { registry })
  assert.equal(result.reason, 'revoked')
  assert.equal(result.message, 'The issuer revoked this credential on 2026-06-01.')
  const revocation = { checked: true, revoked: true, revokedAt: '2026-06-01T10:00:00Z' }
  assert.deepEqual(result.revocation, revocation)
  assert.equal(result.signatureValid, true)
  assert.equal(result.credential?.score, 742)
})

test('superseded: the credential is valid, with a note (decision D28)', async () => {
  const registry = knows({ supersededAt: now })
  const result = await verdictOn(credential, { registry })
  assert.equal(result.valid, true)
  assert.deepEqual(result.notes, ['proof:native', 'status_source:live', 'superseded'])
})

test('status_unknown: the signature verifies and the registry does not contain the credential', async () => {
  const result = await verdictOn(credential, { registry: () => ({ kind: 'unknown' }) })
  assert.equal(result.reason, 'status_unknown')
  assert.equal(result.signatureValid, true)
  assert.deepEqual(result.revocation, { checked: false, revoked: false })
  assert.equal(result.credential, undefined, 'the claims may be a forger’s (decision D56)')
  assert.equal(result.presented.payloadSha256, vector.vcSha256)
})

test('claims are shown only with failures that a genuine credential can have', () => {
  for (const reason of reasons) {
    const claims = { score: 742 }
    const findings = { ...noFindings, failures: new Map([[reason, '']]), claims }
    const isShown = ['not_yet_valid', 'expired', 'revoked', 'status_unavailable'].includes(reason)
    assert.deepEqual(verdict(findings, null).credential, isShown ? claims : undefined, reason)
    const both = new Map<Reason, string>([
      [reason, ''],
      ['key_revoked', ''],
    ])
    assert.equal(verdict({ ...findings, failures: both }, null).credential, undefined, reason)
  }
})

test('status_unknown: the token belongs to another credential, revoked or not', async () => {
  for (const others of [null, revokedAt]) {
    const vcSha256 = Buffer.alloc(32, 1)
    const registry = () =>
      registered(vector.payload, {
        vcSha256,
        revokedAt: others,
        supersededAt: now,
        keyRevokedAt: now,
      })
    const result = await verdictOn(credential, { registry })
    assert.equal(result.reason, 'status_unknown')
    assert.ok(!result.notes.includes('superseded'))
  }
})

test('status_unavailable: no credential is valid while the registry is unavailable (decision D29)', async () => {
  const result = await verdictOn(credential, { registry: () => ({ kind: 'unavailable' }) })
  assert.equal(result.reason, 'status_unavailable')
  assert.equal(result.valid, false)
  assert.equal(result.signatureValid, true)
  assert.deepEqual(result.revocation, { checked: false, revoked: false })
})

test('a credential without credentialStatus is looked up by its digest', async () => {
  const { credentialStatus: _, ...payload } = vector.payload
  const byDigest = await verdictOn(sign(payload), { registry: registryOf(payload) })
  assert.equal(byDigest.valid, true)
  const unknown = await verdictOn(sign(payload), { registry: registryOf(vector.payload) })
  assert.equal(unknown.reason, 'status_unknown')
})

for (const id of [
  `${elsewhere}/standard/v1/score-vc-status/${'a'.repeat(64)}`,
  `${origin.statusUrlPrefix}${'A'.repeat(64)}`,
  `${origin.statusUrlPrefix}${'a'.repeat(63)}`,
  `${origin.statusUrlPrefix}${'a'.repeat(64)}/`,
  `${origin.statusUrlPrefix}../${'a'.repeat(61)}`,
])
  test(`a foreign status id (${id.slice(0, 60)}…) is ignored, and the digest is looked up`, () => {
    const payload = changed(vector.payload, (copy) => {
      inside(copy, 'credentialStatus').id = id
    })
    const context = { trust, now, signatures: signatureCache() }
    const { status } = checkCredential(sign(payload), null, context)
    assert.equal(status?.token, null)
    assert.equal(status?.vcSha256.length, 32)
  })

// precedence

const reasons = Object.keys(reasonMessage) as Reason[]
const noFindings: Findings = {
  failures: new Map(),
  issuerMatch: true,
  signatureValid: true,
  notes: [],
  presented: {},
  claims: null,
  status: null,
}

test('precedence: the earlier of any two reasons is reported with its own message', () => {
  for (const [i, earlier] of reasons.entries())
    for (const later of reasons.slice(i + 1)) {
      const failures = new Map([
        [later, `message of ${later}`],
        [earlier, `message of ${earlier}`],
      ])
      const result = verdict({ ...noFindings, failures }, null)
      assert.equal(result.reason, earlier)
      assert.equal(result.message, `message of ${earlier}`)
      assert.equal(result.valid, false)
    }
})

test('precedence: removing defects one by one reveals the reasons in order', async () => {
  const late = new Date('2030-01-01T00:00:00Z')
  const isRevoked = knows({ revokedAt })
  const revokedKey = withKey({ state: 'revoked', revokedAt: now }).trust ?? assert.fail()
  const broken = changed(credential, (copy) => {
    inside(copy, 'proof').proofValue = 'z2'
  })
  const noSubject = changed(broken, (copy) => {
    delete copy.credentialSubject
  })
  const steps: [string | Json, Circumstances, Reason | undefined][] = [
    [
      twice(noSubject),
      { now: late, registry: isRevoked, trust: revokedKey },
      'malformed_credential',
    ],
    [twice(broken), { now: late, registry: isRevoked, trust: revokedKey }, 'ambiguous_json'],
    [
      { ...broken, proof: [] },
      { now: late, registry: isRevoked, trust: revokedKey },
      'unsupported_proof',
    ],
    [
      broken,
      { now: late, registry: isRevoked, trust: trustOf([elsewhere], []) },
      'issuer_mismatch',
    ],
    [broken, { now: late, registry: isRevoked, trust: trustOf([publicUrl], []) }, 'unknown_key'],
    [broken, { now: late, registry: isRevoked, trust: revokedKey }, 'key_revoked'],
    [broken, { now: late, registry: isRevoked }, 'signature_invalid'],
    [credential, { now: new Date(0), registry: isRevoked }, 'not_yet_valid'],
    [credential, { now: late, registry: isRevoked }, 'expired'],
    [credential, { registry: isRevoked }, 'revoked'],
    [credential, {}, undefined],
  ]
  for (const [body, circumstances, reason] of steps)
    assert.equal((await verdictOn(body, circumstances)).reason, reason)
})

function twice(body: Json): string {
  return `{"issuer":"x",${JSON.stringify(body).slice(1)}`
}

test('the three checks are independent: a tampered and revoked credential reports both failures', async () => {
  const tampered = changed(credential, (copy) => {
    inside(copy, 'credentialSubject').score = 999
  })
  const registry = knows({ revokedAt })
  const result = await verdictOn(tampered, { registry })
  assert.equal(result.reason, 'signature_invalid')
  assert.equal(result.issuerMatch, true)
  assert.equal(result.signatureValid, false)
  assert.equal(result.revocation.revoked, true)
  assert.equal(result.credential, undefined, 'unverified claims are not repeated as claims')
})

test('the three checks are independent: our own revoked token is looked up under a foreign issuer', async () => {
  const moved = changed(credential, (copy) => {
    copy.issuer = 'did:web:evil.example'
  })
  const result = await verdictOn(moved, {
    registry: ({ token }) =>
      token === null ? { kind: 'unknown' } : registered(vector.payload, { revokedAt }),
  })
  assert.equal(result.reason, 'issuer_mismatch')
  assert.equal(result.issuerMatch, false)
  assert.deepEqual(result.revocation, {
    checked: true,
    revoked: true,
    revokedAt: '2026-06-01T10:00:00Z',
  })
  assert.equal(result.credential, undefined)
})

// tampering

/** Returns the text with one character changed, removed or added. */
function mutation(text: string) {
  return fc
    .record({
      place: fc.nat({ max: text.length - 1 }),
      character: fc.constantFrom(...Array.from('0123456789abcdefzAZ":,{}[]\\ \n-+.é\u0001')),
      kind: fc.constantFrom('replace', 'insert', 'remove'),
    })
    .map(({ place, character, kind }) => {
      const before = text.slice(0, place)
      if (kind === 'insert') return before + character + text.slice(place)
      return before + (kind === 'replace' ? character : '') + text.slice(place + 1)
    })
}

for (const form of proofForms) {
  const genuine = JSON.stringify(vectorCredentials[form])
  test(`tampering: a ${form} credential with one changed character verifies only if its value is the same`, async () => {
    let parsed = 0
    await fc.assert(
      fc.asyncProperty(mutation(genuine), async (mutant) => {
        const result = await verdictOn(mutant).catch(() => null)
        if (result === null) return
        parsed++
        assert.equal(result.valid, sameValue(mutant, genuine), mutant)
      }),
      { numRuns: 3_000 },
    )
    assert.ok(parsed > 500, `${parsed} mutants were JSON`)
  })
  test(`tampering: changing any digit or letter of a ${form} credential invalidates it`, async () => {
    for (let place = 0; place < genuine.length; place++) {
      const old = genuine.charAt(place)
      if (!/[0-9A-Za-z]/.test(old)) continue
      const other =
        old === '9' ? '8' : old === 'z' ? 'y' : String.fromCharCode(old.charCodeAt(0) + 1)
      const mutant = genuine.slice(0, place) + other + genuine.slice(place + 1)
      assert.equal((await verdictOn(mutant)).valid, false, mutant)
    }
  })
}

test('tampering: order of members, white space and escapes do not change the value', async () => {
  const reversed = Object.fromEntries(Object.entries(credential).reverse())
  assert.equal((await verdictOn(JSON.stringify(reversed, null, 2))).valid, true)
  assert.equal((await verdictOn(text.replace('strong', 'str\\u006fng'))).valid, true)
  assert.equal((await verdictOn(text.replace('742', '7.42e2'))).valid, true)
})

// signature cache

test('only signatures are cached: a revocation and the clock take effect at once', async () => {
  const signatures = signatureCache()
  const at = (time: Date, revoked: Date | null) =>
    verifyCredential(structuredClone(credential), null, {
      trust,
      signatures,
      now: time,
      statusOf: async () => registered(vector.payload, { revokedAt: revoked }),
    })
  assert.equal((await at(now, null)).valid, true)
  assert.equal((await at(now, revokedAt)).reason, 'revoked')
  assert.equal((await at(new Date('2030-01-01T00:00:00Z'), null)).reason, 'expired')
  assert.equal((await at(now, null)).valid, true)
})

test('every JSON object gets a verdict, and nothing is thrown', async () => {
  const names = fc.constantFrom(...Object.keys(credential), 'constructor', 'toString', 'x')
  await fc.assert(
    fc.asyncProperty(fc.dictionary(names, fc.jsonValue()), async (part) => {
      const result = await verdictOn(JSON.stringify({ ...credential, ...part }))
      assert.equal(typeof result.valid, 'boolean')
    }),
    { numRuns: 500 },
  )
})
