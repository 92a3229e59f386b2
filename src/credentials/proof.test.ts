/**
 * The three proof forms against the published vector, against the reference libraries and against
 * each other.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  changed,
  inside,
  type Json,
  now,
  origin,
  sign,
  signer,
  vector,
  vectorCredentials,
  verdictOn,
} from '../../test/support/build/credentials.ts'
import {
  peerIssues,
  peerVerifies,
  signerSuite,
  verifierSuite,
} from '../../test/support/oracle/peer.ts'
import { base58Decode, base58Encode } from '../platform/crypto/bytes.ts'
import { type ProofForm, proofForms, readProof, signedBytes } from './proof.ts'
import { vcSha256Of } from './trust.ts'

const verificationMethod = `${origin.issuer}#${signer.kid}`
const peerForms = ['eddsa-rdfc-2022', 'eddsa-jcs-2022'] as const

function vectorBytes(form: ProofForm): Buffer {
  const jcsSha256 = vcSha256Of(vector.payload)
  const signed = { document: vector.payload, shape: origin.shape, jcsSha256 }
  const bytes = signedBytes(signed, { form, created: '2026-05-14T09:00:00Z', verificationMethod })
  return bytes ?? assert.fail('the vector has every canonical form')
}

test('vector: the 64 signed bytes of each form are the hash of the options and the hash of the payload', () => {
  const { native, eddsaJcs2022: jcs, eddsaRdfc2022: rdfc } = vector
  assert.equal(vectorBytes('native').toString('hex'), native.proofOptionsSha256 + vector.vcSha256)
  assert.equal(
    vectorBytes('eddsa-jcs-2022').toString('hex'),
    jcs.proofOptionsSha256 + vector.vcSha256,
  )
  assert.equal(
    vectorBytes('eddsa-rdfc-2022').toString('hex'),
    rdfc.proofOptionsSha256 + rdfc.payloadNQuadsSha256,
  )
})

for (const form of proofForms) {
  test(`vector: the ${form} credential reproduces, including its proofValue`, () => {
    assert.deepEqual(sign(vector.payload, { form }), vectorCredentials[form])
  })
  test(`vector: the ${form} credential verifies`, async () => {
    const { valid, notes } = await verdictOn(vectorCredentials[form])
    assert.equal(valid, true)
    assert.deepEqual(notes, [`proof:${form}`, 'status_source:live'])
  })
}

for (const form of peerForms) {
  test(`oracle: the reference library accepts our ${form} proof and rejects it on a changed document`, async () => {
    const suite = await verifierSuite(form)
    const ours = sign(vector.payload, { form })
    assert.equal(await peerVerifies(ours, suite, now), true)
    const forged = changed(ours, (copy) => {
      inside(copy, 'credentialSubject').score = 743
    })
    assert.notEqual(await peerVerifies(forged, suite, now), true)
  })
  test(`oracle: the reference library issues the same ${form} bytes as we do, and we accept them`, async () => {
    const issued = await peerIssues(vector.payload, await signerSuite(form))
    assert.deepEqual(issued, vectorCredentials[form])
    assert.equal((await verdictOn(issued)).valid, true)
  })
}

for (const made of proofForms) {
  for (const shown of proofForms.filter((form) => form !== made))
    test(`replay: a ${made} signature does not verify as ${shown}`, async () => {
      const shownAs = changed(vectorCredentials[shown], (copy) => {
        inside(copy, 'proof').proofValue = inside(vectorCredentials[made], 'proof').proofValue
      })
      const result = await verdictOn(shownAs)
      assert.equal(result.reason, 'signature_invalid')
      assert.equal(result.signatureValid, false)
    })
}

const proof = inside(vector.native.credential, 'proof')
const proofValue = String(proof.proofValue)
const signature = base58Decode(proofValue.slice(1)) ?? assert.fail('the vector has a signature')

const otherSpellings: Record<string, string> = {
  'a leading 1, a zero byte more': `z1${proofValue.slice(1)}`,
  'without the multibase prefix': proofValue.slice(1),
  'another multibase prefix': `m${proofValue.slice(1)}`,
  'base64url of the same bytes': `u${Buffer.from(signature).toString('base64url')}`,
  'base16 of the same bytes': `f${Buffer.from(signature).toString('hex')}`,
  'a space before it': ` ${proofValue}`,
  'a line break behind it': `${proofValue}\n`,
  'a letter outside the alphabet': `${proofValue.slice(0, -1)}0`,
  'a full-width digit': `${proofValue.slice(0, -1)}１`,
  '63 bytes': `z${base58Encode(signature.subarray(0, 63))}`,
  '65 bytes': `z${base58Encode(Buffer.concat([signature, Buffer.of(0)]))}`,
  '65 bytes, the first a zero': `z${base58Encode(Buffer.concat([Buffer.of(0), signature]))}`,
  'no bytes': 'z',
  'no text': '',
  '100,000 characters': `z${'2'.repeat(100_000)}`,
}

for (const [what, text] of Object.entries(otherSpellings))
  test(`malleability: proofValue with ${what} is signature_invalid`, async () => {
    const respelt = { ...vector.payload, proof: { ...proof, proofValue: text } }
    assert.equal((await verdictOn(respelt)).reason, 'signature_invalid')
  })

test('malleability: a signature with the second scalar S + L is signature_invalid', async () => {
  const order = 2n ** 252n + 27742317777372353535851937790883648493n
  const s = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString('hex')}`) + order
  const high = Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse()
  const value = `z${base58Encode(Buffer.concat([signature.subarray(0, 32), high]))}`
  const malleated = { ...vector.payload, proof: { ...proof, proofValue: value } }
  assert.equal((await verdictOn(malleated)).reason, 'signature_invalid')
})

const wrongProofs: Record<string, unknown> = {
  'an array of proofs': [proof],
  'an empty array': [],
  'a string': proofValue,
  null: null,
  'an empty object': {},
  'an unknown type': { ...proof, type: 'Ed25519Signature2020' },
  'a type of another spelling': { ...proof, type: 'serviceScoreEd25519Signature2026' },
  'a type in an array': { ...proof, type: [proof.type] },
  'the native type and a cryptosuite': { ...proof, cryptosuite: 'eddsa-jcs-2022' },
  'DataIntegrityProof without a cryptosuite': { ...proof, type: 'DataIntegrityProof' },
  'an unknown cryptosuite': { ...proof, type: 'DataIntegrityProof', cryptosuite: 'ecdsa-jcs-2019' },
  'a cryptosuite named like a member of every object': {
    ...proof,
    type: 'DataIntegrityProof',
    cryptosuite: 'constructor',
  },
  'the purpose authentication': { ...proof, proofPurpose: 'authentication' },
  'no purpose': without(proof, 'proofPurpose'),
  'an unknown member': { ...proof, domain: 'https://elsewhere.example' },
  'a member named constructor': { ...proof, constructor: null },
  'a nested proof': { ...proof, proof: inside(vectorCredentials['eddsa-rdfc-2022'], 'proof') },
  'an expiry of its own': { ...proof, expires: '2030-01-01T00:00:00Z' },
  'a context on the native form': { ...proof, '@context': vector.payload['@context'] },
  'no created': without(proof, 'created'),
  'created as a number': { ...proof, created: 1_778_749_200 },
  'no verificationMethod': without(proof, 'verificationMethod'),
  'verificationMethod as an object': { ...proof, verificationMethod: { id: verificationMethod } },
  'no proofValue': without(proof, 'proofValue'),
  'a proofValue in an array': { ...proof, proofValue: [proofValue] },
}

for (const [what, wrong] of Object.entries(wrongProofs))
  test(`unsupported_proof: ${what}`, async () => {
    const result = await verdictOn({ ...vector.payload, proof: wrong })
    assert.equal(result.reason, 'unsupported_proof')
    assert.equal(result.signatureValid, false)
    assert.equal(result.issuerMatch, true)
    assert.deepEqual(result.revocation, { checked: true, revoked: false, revokedAt: null })
  })

test('unsupported_proof: the message for an array of proofs says to send one object', async () => {
  const result = await verdictOn({ ...vector.payload, proof: [proof] })
  assert.equal(result.message, 'Send one proof object, not a list of proofs.')
})

test('unsupported_proof: an eddsa-jcs-2022 proof repeats only part of the document’s context', async () => {
  const jcs = inside(vectorCredentials['eddsa-jcs-2022'], 'proof')
  for (const context of [[(vector.payload['@context'] as string[])[0]], undefined, [], 'x']) {
    const read = readProof({ ...jcs, '@context': context }, vector.payload)
    assert.ok('unsupported' in read, JSON.stringify(context))
  }
})

test('unsupported_proof: an eddsa-rdfc-2022 proof contains a context', async () => {
  const rdfc = inside(vectorCredentials['eddsa-rdfc-2022'], 'proof')
  const credential = {
    ...vector.payload,
    proof: { ...rdfc, '@context': vector.payload['@context'] },
  }
  assert.equal((await verdictOn(credential)).reason, 'unsupported_proof')
})

function without(object: Json, name: string): Json {
  return changed(object, (copy) => {
    delete copy[name]
  })
}
