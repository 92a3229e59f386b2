import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  achievementId,
  badgeIssuer,
  badgeOf,
  issuedBadge,
} from '../../../test/support/build/badges.ts'
import { changed, type Json, signer } from '../../../test/support/build/credentials.ts'
import { base58Encode, sha256, sha256Hex } from '../../platform/crypto/bytes.ts'
import { canonicalJson } from '../../platform/json/canonical-json.ts'
import { type BadgeTrust, readBadge } from './open-badge.ts'

const trust: BadgeTrust = {
  issuer: badgeIssuer.id,
  publicKeys: [badgeIssuer.key],
  achievements: new Map([
    [achievementId, { skillId: 'hss:typescript', type: 'credential', value: 700 }],
  ]),
  acceptsUncheckedStatus: false,
  now: new Date('2026-05-14T09:00:00Z'),
}
const otherKey = 'z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK'
const badge = await issuedBadge()

test('a badge that the reference library signed is evidence of the mapped skill', () => {
  const { proof: _, ...document } = badge
  const facts = {
    skillId: 'hss:typescript',
    type: 'credential',
    value: 700,
    externalId: badge.id,
    observedOn: '2026-01-15',
    expiresOn: '2027-01-01',
    digest: sha256Hex(canonicalJson(document)),
  }
  assert.deepEqual(readBadge(badge, trust), facts)
  const several = { ...trust, publicKeys: [otherKey, badgeIssuer.key] }
  assert.deepEqual(readBadge(badge, several), facts)
  // In a list of proofs, the first supported proof decides, whatever the other proofs are.
  assert.deepEqual(readBadge({ ...badge, proof: [{ type: 'Other' }, badge.proof] }, trust), facts)
  assert.deepEqual(readBadge({ ...badge, proof: Array(8).fill(badge.proof) }, trust), facts)
})

test('a badge is valid from exactly the instant validFrom', () => {
  assert.ok('digest' in readBadge(badge, { ...trust, now: new Date('2026-01-15T09:00:00Z') }))
})

test('issuer and achievement may be plain ids, the badge id may have 200 characters, and AchievementCredential is a valid type', async () => {
  const short = await issuedBadge({
    id: `urn:${'a'.repeat(196)}`,
    type: ['VerifiableCredential', 'AchievementCredential'],
    issuer: badgeIssuer.id,
    credentialSubject: { achievement: achievementId },
  })
  const facts = readBadge(short, trust)
  assert.ok('digest' in facts, JSON.stringify(facts))
})

test('a badge counts to the end of the last day on which it is valid', async () => {
  for (const [validUntil, expiresOn] of [
    ['2027-01-01T00:00:01Z', '2027-01-02'],
    ['2026-12-31T23:00:00-01:00', '2027-01-01'],
    ['9999-12-31T00:00:00Z', '9999-12-31'],
    ['9999-12-31T23:59:59Z', undefined],
    [undefined, undefined],
  ]) {
    const { validUntil: _, ...endless } = badgeOf()
    const issued = await issuedBadge(validUntil === undefined ? {} : { validUntil })
    const read = validUntil === undefined ? await signedWithout(endless) : issued
    const facts = readBadge(read, trust)
    assert.ok('digest' in facts, JSON.stringify(facts))
    assert.equal(facts.expiresOn, expiresOn)
  }
})

function signedWithout(document: Json): Promise<Json> {
  return issuedBadge({ ...document, validUntil: undefined }).then((issued) =>
    JSON.parse(JSON.stringify(issued)),
  )
}

const proofOf = (over: Json): Json => ({ ...badge, proof: { ...(badge.proof as Json), ...over } })
const refused: readonly [name: string, field: string, reason: RegExp, credential: Json][] = [
  ['tampered', 'proof.proofValue', /does not hold/, { ...badge, name: 'Welding' }],
  ['a member added', 'proof.proofValue', /does not hold/, { ...badge, extra: 1 }],
  [
    'its proof changed',
    'proof.proofValue',
    /does not hold/,
    proofOf({ created: '2026-01-01T00:00:00Z' }),
  ],
  ['no proof', 'proof', /missing/, { ...badge, proof: undefined }],
  ['no text of 64 bytes', 'proof.proofValue', /64 bytes/, proofOf({ proofValue: 'z1' })],
  [
    'for another purpose',
    'proof.proofPurpose',
    /assertionMethod/,
    proofOf({ proofPurpose: 'authentication' }),
  ],
  ['an old proof', 'proof.expires', /past/, proofOf({ expires: '2026-05-14T09:00:00Z' })],
  ['a proof that ends some day', 'proof.expires', /date-time/, proofOf({ expires: '2027-05-14' })],
  ['a chained proof', 'proof.previousProof', /not supported/, proofOf({ previousProof: 'urn:x' })],
  [
    'another context',
    'proof.@context',
    /not the context/,
    { ...badge, '@context': [...(badge['@context'] as string[]), 'https://example.org/c'] },
  ],
  [
    'another suite',
    'proof.cryptosuite',
    /must be eddsa-jcs-2022/,
    proofOf({ cryptosuite: 'ecdsa-jcs-2019' }),
  ],
  [
    'a proof that calls itself a reason',
    'proof.cryptosuite',
    /must be/,
    { ...badge, proof: { reason: 'x', field: 'y' } },
  ],
  [
    'a proof of another kind',
    'proof.cryptosuite',
    /DataIntegrityProof/,
    proofOf({ type: 'Ed25519Signature2020' }),
  ],
  [
    'more proofs than are looked at',
    'proof',
    /more than 8/,
    { ...badge, proof: Array(9).fill(badge.proof) },
  ],
  [
    'a method that is no name',
    'proof.verificationMethod',
    /not registered with/,
    proofOf({ verificationMethod: { id: badgeIssuer.key } }),
  ],
  ['no badge', 'type', /OpenBadgeCredential/, { ...badge, type: ['VerifiableCredential'] }],
  ['no credential', 'type', /VerifiableCredential/, { ...badge, type: ['OpenBadgeCredential'] }],
  [
    'of the data model 1.1',
    '@context',
    /begin with/,
    { ...badge, '@context': ['https://www.w3.org/2018/credentials/v1'] },
  ],
  [
    'contexts the other way round',
    '@context',
    /begin with/,
    { ...badge, '@context': (badge['@context'] as string[]).toReversed() },
  ],
  [
    'a credential of something else',
    '@context',
    /Open Badges 3\.0/,
    { ...badge, '@context': ['https://www.w3.org/ns/credentials/v2'] },
  ],
  ['without an id', 'id', /one line/, { ...badge, id: undefined }],
  ['an empty id', 'id', /one line/, { ...badge, id: '' }],
  ['an id that is too long', 'id', /at most 200/, { ...badge, id: 'a'.repeat(201) }],
  ['an id of two lines', 'id', /one line/, { ...badge, id: 'a\nb' }],
  ['an id that is not what it looks like', 'id', /reorders/, { ...badge, id: 'urn:\u202egnp' }],
  ['an id that hides what it is', 'id', /reorders/, { ...badge, id: 'urn:\u2066gnp\u2069' }],
  ['of another issuer', 'issuer', /not the issuer/, { ...badge, issuer: 'did:web:evil.example' }],
  ['without a begin', 'validFrom', /date-time/, { ...badge, validFrom: '2026-01-15' }],
  [
    'without an achievement',
    'credentialSubject.achievement.id',
    /missing/,
    { ...badge, credentialSubject: {} },
  ],
]

test('each fault of a badge has its own message', () => {
  for (const [name, field, reason, credential] of refused) {
    const fault = readBadge(credential, trust)
    assert.ok('reason' in fault, name)
    assert.equal(fault.field, `credential.${field}`, name)
    assert.match(fault.reason, reason, name)
  }
})

test('each missing permission of the operator has its own message', async () => {
  const status = { type: 'BitstringStatusListEntry', statusListCredential: 'https://example.org/1' }
  const withStatus = await issuedBadge({ credentialStatus: status })
  const cases: readonly [field: string, reason: RegExp, over: Partial<BadgeTrust>, badge?: Json][] =
    [
      ['credential.proof.verificationMethod', /not registered with/, { publicKeys: [otherKey] }],
      ['credential.issuer', /not the issuer/, { issuer: 'did:web:other.example' }],
      ['sourceId', /without an issuer/, { issuer: null, publicKeys: [] }],
      ['credential.validFrom', /not valid yet/, { now: new Date('2026-01-15T08:59:59Z') }],
      ['credential.validUntil', /expired/, { now: new Date('2027-01-01T00:00:00Z') }],
      ['credential.credentialSubject.achievement.id', /mapped/, { achievements: new Map() }],
      ['credential.credentialStatus', /not looked up/, {}, withStatus],
    ]
  for (const [field, reason, over, credential = badge] of cases) {
    const fault = readBadge(credential, { ...trust, ...over })
    assert.ok('reason' in fault, field)
    assert.equal(fault.field, field)
    assert.match(fault.reason, reason)
  }
  assert.ok('digest' in readBadge(withStatus, { ...trust, acceptsUncheckedStatus: true }))
})

test('a verification method that names no key is not resolved: every key of the source is tried', () => {
  const renamed = proofOf({ verificationMethod: `${badgeIssuer.id}#key-1` })
  const fault = readBadge(renamed, trust)
  // The name is part of the signed options, so the signature cannot match under it. The message
  // shows that the keys were tried.
  assert.ok('reason' in fault && /does not hold/.test(fault.reason))
})

test('a proof without context, with a method that names no key, is verified with each key of the source', () => {
  const { proof: _, ...document } = badge
  const options = {
    type: 'DataIntegrityProof',
    cryptosuite: 'eddsa-jcs-2022',
    created: '2026-05-14T09:00:00Z',
    verificationMethod: `${badgeIssuer.id}#key-1`,
    proofPurpose: 'assertionMethod',
  }
  const signed = [options, document].map((part) => sha256(canonicalJson(part)))
  const proofValue = `z${base58Encode(signer.sign(Buffer.concat(signed)))}`
  const own = { ...document, proof: { ...options, proofValue } }
  for (const publicKeys of [
    [badgeIssuer.key, otherKey],
    [otherKey, badgeIssuer.key],
  ])
    assert.ok('digest' in readBadge(own, { ...trust, publicKeys }))
  assert.ok('reason' in readBadge(own, { ...trust, publicKeys: [otherKey] }))
})

test('a proof over RDF has its own message, because verifying it needs a JSON-LD processor', async () => {
  const rdf = await issuedBadge({}, 'eddsa-rdfc-2022')
  const fault = readBadge(rdf, trust)
  assert.ok('reason' in fault && fault.field === 'credential.proof.cryptosuite')
  assert.match(fault.reason, /eddsa-rdfc-2022 is not checked here: ask for eddsa-jcs-2022/)
})

test('a signed badge with any single member changed is refused', () => {
  const forged = changed(badge, (copy) => {
    const subject = copy.credentialSubject as Json
    subject.id = 'did:example:another-worker'
  })
  assert.ok('reason' in readBadge(forged, trust))
})
