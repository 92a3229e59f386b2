/** The verdicts of the client against those of the service's own verifier, with the same files. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { didDocumentOf, publicKeyDocumentOf } from '../../../src/credentials/documents.ts'
import { kidOf } from '../../../src/credentials/signing-key.ts'
import {
  bitsOf,
  statusListPayload,
  statusListProofs,
} from '../../../src/credentials/status-list.ts'
import { verifyOffline } from '../../../src/credentials/verify-offline.ts'
import { credentialType as serviceType } from '../../../src/edge/http/identifiers.ts'
import { sha256Hex } from '../../../src/platform/crypto/bytes.ts'
import { parseStrictJson } from '../../../src/platform/json/strict-json.ts'
import { scoreBands } from '../../../src/standard/bands.ts'
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
} from '../../../test/support/build/credentials.ts'
import fc from '../../../test/support/oracle/fc.ts'
import { explain } from './explain.ts'
import { credentialType } from './proof.ts'
import { readStrictJson, type StrictJson } from './strict-json.ts'
import { structureError } from './structure.ts'
import { KeyDocumentError, type Verdict, verifyCredential } from './verify.ts'

const entry = inside(vectorCredentials.native, 'credentialStatus')
const index = Number(entry.statusListIndex)
const listId = String(entry.statusListCredential).split('/').at(-1) ?? ''
const key = publicKeyDocumentOf(origin, keyRow(signer))
const did = didDocumentOf(origin, [keyRow(signer)])

function listOf(
  revoked: number[] = [],
  {
    form = 'eddsa-jcs-2022',
    publishedAt = now,
    by = signer,
  }: {
    form?: 'native' | 'eddsa-jcs-2022' | 'eddsa-rdfc-2022'
    publishedAt?: Date
    by?: typeof signer
  } = {},
): Json {
  const payload = statusListPayload(origin, { listId, bits: bitsOf(revoked), publishedAt })
  return { ...payload, proof: statusListProofs(payload, origin, by)[form] }
}

interface Files {
  keyDocument?: unknown
  statusLists?: readonly unknown[]
  at?: Date
}

/** Asserts that client and service agree on a text, and returns the client's verdict. */
async function agreed(text: string, files: Files = {}): Promise<Verdict> {
  const { keyDocument = did, statusLists = [listOf()], at = now } = files
  const verdict = await verifyCredential(text, { keyDocument, statusLists, now: at })
  const read = parseStrictJson(Buffer.from(text))
  if (read.kind === 'invalid' || !isObject(read.value)) {
    assert.equal(verdict.reason, 'malformed_credential')
    return verdict
  }
  const ambiguity = read.kind === 'ambiguous' ? read.why : null
  const expected = verifyOffline(read.value, ambiguity, {
    files: { key: keyDocument, lists: statusLists },
    now: at,
  })
  const { valid, reason, issuerMatch, signatureValid, revocation, credential } = verdict
  const { checked, revoked } = expected.revocation
  assert.deepEqual(
    { valid, reason, issuerMatch, signatureValid, revocation, credential },
    {
      valid: expected.valid,
      reason: expected.reason,
      issuerMatch: expected.issuerMatch,
      signatureValid: expected.signatureValid,
      revocation: { checked, revoked },
      credential: expected.credential,
    },
    text.slice(0, 2_000),
  )
  return verdict
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const forms = ['native', 'eddsa-jcs-2022'] as const

for (const form of forms)
  test(`valid: the ${form} vector, with its digests, by key document and did.json`, async () => {
    for (const keyDocument of [key, did]) {
      const { work, ...verdict } = await agreed(JSON.stringify(vectorCredentials[form]), {
        keyDocument,
      })
      assert.equal(verdict.valid, true)
      assert.equal(sha256Hex(work.canonicalPayload ?? ''), vector.vcSha256)
      assert.equal(work.canonicalPayload, vector.canonicalPayload)
      assert.equal(work.list?.index, index)
    }
  })

test('unsupported_form: an eddsa-rdfc-2022 proof is left to the service', async () => {
  const { 'eddsa-rdfc-2022': credential } = vectorCredentials
  const verdict = await verifyCredential(credential, { keyDocument: did, statusLists: [], now })
  assert.equal(verdict.reason, 'unsupported_form')
  assert.equal(verdict.valid, false)
})

const native = vectorCredentials.native
const text = JSON.stringify(native)
const subject = inside(native, 'credentialSubject')

/** Claims that no issuer of ours signs. */
const impossible: Json[] = [
  { score: 1001 },
  { score: -1 },
  { confidenceLow: -1 },
  { confidenceHigh: 1001 },
  { confidenceLow: 779 },
  { evidenceCount: -1 },
  { scoreBand: 'splendid' },
]

test('every reason is that of the service: key, validity, revocation and list', async () => {
  const revokedKey = keyRow(signer, { state: 'revoked', revokedAt: now })
  const cases: [string, string, Files][] = [
    ['revoked', text, { statusLists: [listOf([index])] }],
    ['revoked', text, { statusLists: [listOf([index], { form: 'native' })] }],
    ['revoked', text, { statusLists: [listOf(), listOf([index])] }],
    ['status_unavailable', text, { statusLists: [] }],
    ['status_unavailable', text, { statusLists: [listOf([], { by: signerOf(8) })] }],
    ['status_unavailable', text, { statusLists: [{ id: entry.statusListCredential }, null, 7] }],
    [
      'status_unavailable',
      text,
      { statusLists: [listOf([], { publishedAt: new Date(now.getTime() - 87_000_000) })] },
    ],
    ['key_revoked', text, { keyDocument: didDocumentOf(origin, [revokedKey]) }],
    ['unknown_key', text, { keyDocument: publicKeyDocumentOf(origin, keyRow(signerOf(8))) }],
    ['signature_invalid', text.replace('742', '743'), {}],
    ['expired', text, { at: new Date('2029-01-01T00:00:00Z') }],
    ['not_yet_valid', text, { at: new Date('2026-01-01T00:00:00Z') }],
    ['issuer_mismatch', text.replaceAll('did:web:scores', 'did:web:others'), {}],
    ['unsupported_proof', text.replace('assertionMethod', 'authentication'), {}],
    ['malformed_credential', '{}', {}],
    ['malformed_credential', '[]', {}],
    ['malformed_credential', 'no JSON', {}],
    ['malformed_credential', JSON.stringify(sign({ ...vector.payload, id: 7 })), {}],
    ...impossible.map((over): [string, string, Files] => [
      'malformed_credential',
      JSON.stringify(sign({ ...vector.payload, credentialSubject: { ...subject, ...over } })),
      {},
    ]),
  ]
  for (const [reason, presented, files] of cases)
    assert.equal((await agreed(presented, files)).reason, reason)
})

test('ambiguous_json: what two JSON readers read differently is ambiguous here as well', async () => {
  for (const body of [
    text.replace('"score":742', '"score":999,"score":742'),
    text.replace('"score":742', '"sc\\u006fre":999,"score":742'),
    `{"proof":{},${text.slice(1)}`,
    text.replace('"strong"', '"strong\\ud800"'),
    text.replace('"strong"', '"strong\\u0000"'),
    text.replace('742', '1e400'),
    text.replace('742', '742.00000000000001'),
    text.replace('742', '1e-400'),
    text.replace('742', '9007199254740993'),
    text.replace('"score":742', '"__proto__":{"score":999},"score":742'),
    text.replace('742', `${'['.repeat(31)}742${']'.repeat(31)}`),
    text.replace('742', `[${'0,'.repeat(10_000)}0]`),
    text.replace('742', `${'['.repeat(5_000)}${']'.repeat(5_000)}`),
  ])
    assert.equal((await agreed(body)).reason, 'ambiguous_json', body.slice(0, 900))
})

test('the strict reader judges every text as the service does, and reads the same value', () => {
  const strings = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('\\', '"', 'a', '__proto__'),
  )
  const numbers = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(1e21, 2 ** 53, -0, 5e-324))
  const values = fc.anything({
    key: strings,
    values: [strings, numbers, fc.boolean(), fc.constant(null)],
  })
  const check = (body: string) => {
    const mine = readOrNull(body)
    const theirs = parseStrictJson(Buffer.from(body))
    if (!body.isWellFormed()) return
    assert.equal(kindOf(mine), theirs.kind, body)
    if (theirs.kind === 'value') assert.deepEqual(mine?.value, theirs.value)
  }
  fc.assert(
    fc.property(values, (value: unknown) => check(JSON.stringify(value) ?? '')),
    { numRuns: 500 },
  )
  fc.assert(
    fc.property(
      fc.nat(text.length),
      fc.nat(5),
      fc.constantFrom('', '"', '{', '}', ',', '0', ' '),
      (at: number, cut: number, put: string) =>
        check(text.slice(0, at) + put + text.slice(at + cut)),
    ),
    { numRuns: 500 },
  )
})

/** Null for a text that is not JSON. */
function readOrNull(body: string): StrictJson | null {
  try {
    return readStrictJson(body)
  } catch (error) {
    assert.ok(error instanceof SyntaxError)
    return null
  }
}

function kindOf(read: StrictJson | null): 'value' | 'ambiguous' | 'invalid' {
  if (read === null) return 'invalid'
  return read.isAmbiguous ? 'ambiguous' : 'value'
}

test('a list that was read before is read again once any of it changed', async () => {
  const list = listOf()
  const check = async (over: Json): Promise<string | undefined> =>
    (await agreed(text, { statusLists: [{ ...list, ...over }] })).reason
  const proof = inside(list, 'proof')
  const revoked = listOf([index])
  for (const [over, reason] of [
    [{}, undefined],
    [{ credentialSubject: inside(revoked, 'credentialSubject') }, 'status_unavailable'],
    [{}, undefined],
    [{ proof: inside(revoked, 'proof') }, 'status_unavailable'],
    [{ proof: { ...proof, created: '2026-05-15T09:00:00Z' } }, 'status_unavailable'],
    [revoked, 'revoked'],
    [{ validUntil: '2099-01-01T00:00:00Z' }, 'status_unavailable'],
    [{}, undefined],
  ] as const)
    assert.equal(await check(over), reason, JSON.stringify(over).slice(0, 80))
})

test('status_unavailable: a list that unpacks to 64 MiB is refused', async () => {
  const { gzipSync } = await import('node:zlib')
  const payload = statusListPayload(origin, { listId, bits: bitsOf([]), publishedAt: now })
  inside(payload, 'credentialSubject').encodedList =
    `u${gzipSync(Buffer.alloc(64 * 1_024 * 1_024)).toString('base64url')}`
  const bomb = { ...payload, proof: statusListProofs(payload, origin, signer).native }
  assert.equal((await agreed(text, { statusLists: [bomb] })).reason, 'status_unavailable')
})

test('a document of 1 MB, 10,000 levels deep, or that is no JSON at all gets a verdict', async () => {
  const deep = `${'[{"a":'.repeat(10_000)}1${'}]'.repeat(10_000)}`
  const withPart = (part: string) => text.replace('742', part)
  const cyclic: Json = { ...native }
  cyclic.proof = cyclic
  for (const [document, reason] of [
    [withPart(deep), 'ambiguous_json'],
    // Too deep for JSON.stringify as well.
    [JSON.parse(withPart(deep)), 'malformed_credential'],
    [withPart(`"${'a'.repeat(1_000_000)}"`), 'malformed_credential'],
    [withPart(`"${'a'.repeat(260_000)}"`), 'malformed_credential'],
    [withPart(`[${'1,'.repeat(120_000)}1]`), 'ambiguous_json'],
    [withPart(`7${'0'.repeat(200_000)}1`), 'ambiguous_json'],
    [{ ...native, credentialSubject: { ...subject, score: 742n } }, 'malformed_credential'],
    [{ ...native, issuer: '\ud800' }, 'ambiguous_json'],
    [cyclic, 'malformed_credential'],
    [undefined, 'malformed_credential'],
    [native, undefined],
  ] as const) {
    const verdict = await verifyCredential(document, {
      keyDocument: did,
      statusLists: [listOf()],
      now,
    })
    assert.equal(verdict.reason, reason, String(document).slice(0, 80))
  }
  const nested = JSON.parse(deep)
  for (const list of [nested, { ...listOf(), more: nested }, { ...listOf(), proof: cyclic }])
    assert.equal(
      (await verifyCredential(text, { keyDocument: did, statusLists: [list], now })).valid,
      false,
    )
})

/** The points of small order, without and with their sign, and what else stands for 0 and 1. */
const weakKeys = [
  '00'.repeat(32),
  `01${'00'.repeat(31)}`,
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  `ec${'ff'.repeat(30)}7f`,
  `ed${'ff'.repeat(30)}7f`,
  `ee${'ff'.repeat(30)}7f`,
  `ff${'ff'.repeat(30)}7f`,
].flatMap((digits) => {
  const bytes = Buffer.from(digits, 'hex')
  const signed = Buffer.from(bytes)
  signed[31] = (signed[31] as number) | 0x80
  return [bytes, signed]
})

test('a key of small order, or written a second way, is refused under its own name', async () => {
  for (const bytes of weakKeys) {
    const kid = kidOf(bytes)
    const id = `${origin.issuer}#${kid}`
    for (const keyDocument of [
      { ...did, verificationMethod: [{ id, publicKeyMultibase: kid }], assertionMethod: [id] },
      {
        issuer: origin.issuer,
        verificationMethod: { id, publicKeyBase64url: bytes.toString('base64url') },
      },
    ])
      await assert.rejects(
        verifyCredential(text, { keyDocument, statusLists: [], now }),
        KeyDocumentError,
        bytes.toString('hex'),
      )
  }
})

test('after a rotation the keys of credential and list are picked by name, and a missing one is named', async () => {
  const [successor, pending] = [signerOf(8), signerOf(9)]
  const rotated = didDocumentOf(origin, [
    keyRow(signer, { state: 'retired', retiredAt: now }),
    keyRow(successor),
    keyRow(pending, { state: 'pending', activatedAt: null }),
  ])
  const statusLists = [listOf([], { by: successor })]
  assert.equal((await agreed(text, { keyDocument: rotated, statusLists })).valid, true)
  const early = JSON.stringify(sign(vector.payload, { by: pending }))
  const ofOneKey = publicKeyDocumentOf(origin, keyRow(successor))
  for (const [presented, files, reason] of [
    [early, { keyDocument: rotated }, 'unknown_key'],
    [text, { keyDocument: ofOneKey, statusLists }, 'unknown_key'],
    [text, { keyDocument: key, statusLists }, 'status_unavailable'],
  ] as const) {
    const verdict = await agreed(presented, files)
    assert.equal(verdict.reason, reason)
    assert.match(explain(verdict), /the key that .* is not in the key file: give did\.json\./i)
  }
})

test('a key of another kind, name or strength in did.json refuses no other key', async () => {
  const weak = kidOf(Buffer.alloc(32))
  const strange = [
    { id: `${origin.issuer}#p256`, type: 'JsonWebKey', publicKeyJwk: { kty: 'EC' } },
    { id: { toString: 1 }, type: 'Multikey', publicKeyMultibase: 7 },
    { id: `did:web:example.com#${signer.kid}`, publicKeyMultibase: signer.kid },
    { id: `${origin.issuer}#${weak}`, type: 'Multikey', publicKeyMultibase: weak },
  ]
  const methods = [...strange, ...(did.verificationMethod as Json[])]
  const assertionMethod = methods.map(({ id }) => id)
  const mixed = { ...did, verificationMethod: methods, assertionMethod }
  assert.equal((await agreed(text, { keyDocument: mixed })).valid, true)
})

test('a key document without a sound key of its issuer is refused', async () => {
  const method = inside(key, 'verificationMethod')
  const small = Buffer.alloc(32).toString('base64url')
  for (const keyDocument of [
    [],
    { issuer: origin.issuer },
    { ...key, issuer: 'did:key:z6Mk' },
    { ...did, verificationMethod: [] },
    { ...did, assertionMethod: [] },
    { ...key, verificationMethod: { ...method, publicKeyBase64url: { toString: 1, valueOf: 1 } } },
    { ...key, verificationMethod: { ...method, id: { toString: 1, valueOf: 1 } } },
    { ...key, verificationMethod: { ...method, publicKeyBase64url: 'AAAA' } },
    { ...key, verificationMethod: { ...method, publicKeyBase64url: small } },
    { ...key, verificationMethod: { ...method, id: `${origin.issuer}#${signerOf(8).kid}` } },
  ])
    await assert.rejects(
      verifyCredential(text, { keyDocument, statusLists: [], now }),
      KeyDocumentError,
    )
})

test('the published vector of a status list is read, and its bits mean what it says', async () => {
  const { credentials, revokedIndexes } = JSON.parse(
    readFileSync('vectors/status-list.json', 'utf8'),
  )
  const at = new Date(Date.parse(credentials.native.validFrom) + 1_000)
  const named = changed(vector.payload, (copy) => {
    inside(copy, 'credentialStatus').statusListCredential = credentials.native.id
  })
  for (const place of [...revokedIndexes, 1, 9, 131_070]) {
    inside(named, 'credentialStatus').statusListIndex = String(place)
    const verdict = await agreed(JSON.stringify(sign(named)), {
      statusLists: [credentials['eddsa-jcs-2022']],
      at,
    })
    assert.equal(verdict.revocation.revoked, revokedIndexes.includes(place))
  }
})

test('the names on the wire are those of the service', () => {
  assert.equal(credentialType, serviceType)
})

test('the bands of a credential are those of the skill standard', () => {
  const errorOf = (band: string): string | null => {
    const { proof, ...payload } = changed(vectorCredentials.native, (copy) => {
      inside(copy, 'credentialSubject').scoreBand = band
    })
    return structureError(payload, proof, { isOurs: true })
  }
  for (const { band } of scoreBands) assert.equal(errorOf(band), null, band)
  assert.equal(errorOf('great'), 'credentialSubject.scoreBand must be the name of a score band.')
})
