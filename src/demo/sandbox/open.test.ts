/**
 * The sandbox has the shapes and the search order of real candidates, and nothing in it passes as
 * real.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { Compile } from 'typebox/compile'
import { searchByHand } from '../../../test/support/oracle/search-oracle.ts'
import { proofForms } from '../../credentials/proof.ts'
import { signatureCache } from '../../credentials/signature-cache.ts'
import { trustOf } from '../../credentials/trust.ts'
import { checkCredential } from '../../credentials/verify.ts'
import type { PublicDocument } from '../../edge/http/document.ts'
import { sha256Hex } from '../../platform/crypto/bytes.ts'
import { canonicalJson } from '../../platform/json/canonical-json.ts'
import { loadReleasedVocabulary } from '../../standard/releases.ts'
import {
  candidateDetail,
  publicScore,
  type SearchResult,
  searchResult,
} from '../../workers/candidates/schema.ts'
import { sandboxCredential } from './credentials.ts'
import { fictionalWorkers, profileSkills } from './fictional-workers.ts'
import { openSandbox } from './open.ts'
import { sandboxOriginOf } from './schema.ts'

const { records } = loadReleasedVocabulary()
const publicUrl = 'https://scores.example.org'
const time = { now: new Date('2026-06-02T08:30:00Z') }
const { reads, statuses } = openSandbox({
  publicUrl,
  records,
  clock: () => time.now,
})
const labels = new Map(records.map(({ id, label }) => [id, label]))
const profiles = fictionalWorkers.map(({ handle, career, ...worker }) => ({
  ...worker,
  username: handle,
  skills: profileSkills(career, labels),
}))
const shapes = {
  detail: Compile(candidateDetail),
  score: Compile(publicScore),
  search: Compile(searchResult),
}

test('the sandbox holds sixty candidates with distinct usernames and skills of the vocabulary', () => {
  assert.equal(new Set(profiles.map(({ username }) => username)).size, 60)
  const known = new Set(labels.values())
  for (const { username, skills } of profiles) {
    assert.ok(skills.length > 1, username)
    for (const { name } of skills) assert.ok(known.has(name), `${username}: ${name}`)
  }
})

test('every sandbox candidate matches the candidate schema; 54 show a score, 53 of them with a credential', async () => {
  const scores = []
  for (const { username } of profiles) {
    const candidate = (await reads.candidate(username))?.detail
    assert.ok(candidate !== undefined && shapes.detail.Check(candidate), username)
    if (candidate.score !== null) scores.push(candidate.score)
  }
  assert.equal(scores.length, 54)
  assert.equal(scores.filter(({ scoreVc }) => scoreVc !== null).length, 53)
  for (const { score, confidence } of scores)
    assert.ok(confidence.low <= score && score <= confidence.high)
})

test('a score read by its id equals the score of its candidate', async () => {
  const id = sha256Hex('sandbox score sofia-lindqvist')
  const score = await reads.score(id)
  assert.ok(shapes.score.Check(score))
  const { schemaVersion: _, id: shownId, profile, ...shown } = score
  assert.equal(shownId, id)
  assert.equal(profile.username, 'sofia-lindqvist')
  assert.deepEqual(shown, (await reads.candidate('sofia-lindqvist'))?.detail.score)
  assert.equal(await reads.score('0'.repeat(64)), null)
  assert.equal(await reads.candidate('nobody'), null)
})

test('a credential read names the missing part: the score or its credential', async () => {
  const read = (text: string) => reads.credential({ scoreId: sha256Hex(text) }, 'native')
  assert.deepEqual(await read('nobody'), { missing: 'score' })
  assert.deepEqual(await read('sandbox score emrys-vaughan'), { missing: 'score' })
  assert.deepEqual(await read('sandbox score nikhil-rao'), { missing: 'credential' })
  assert.ok('credential' in (await read('sandbox score sofia-lindqvist')))
})

test('sandbox search has the shape and the order of real search', async () => {
  for (const q of [
    'py',
    'python',
    'js',
    'de',
    'data',
    '@ma',
    '@m',
    'engineer',
    'zz',
    'machine l',
    'svobodova',
  ])
    for (const limit of [1, 18, 50]) {
      const result: SearchResult = JSON.parse((await reads.search(q, { limit })).text)
      assert.deepEqual(JSON.parse((await reads.search(q, { limit })).text), result, 'a kept answer')
      assert.ok(shapes.search.Check(result), q)
      const expected = searchByHand(profiles, records, { q, limit })
      assert.deepEqual(
        result.candidates.map(({ username }) => username),
        expected,
        q,
      )
      assert.equal(result.resultCount, expected.length)
    }
})

test('a sandbox credential is always the same, and no deployment trusts its issuer', () => {
  const score = {
    username: 'sofia-lindqvist',
    score: 761,
    scoreBand: 'exceptional',
    confidenceLow: 619,
    confidenceHigh: 997,
    evidenceCount: 26,
    engineVersion: '2.0.0',
    engineBinarySha256: '0'.repeat(64),
  }
  const origin = sandboxOriginOf(publicUrl)
  const credential = sandboxCredential(origin, score, 6)
  assert.deepEqual(credential, sandboxCredential(origin, score, 6))
  assert.equal(credential.credential.issuer, 'did:web:sandbox.invalid')
  const { failures, issuerMatch } = checkCredential({ ...credential.credential }, null, {
    trust: trustOf([publicUrl], []),
    signatures: signatureCache(),
    now: new Date('2026-06-01T00:00:00Z'),
  })
  assert.ok(failures.has('issuer_mismatch'))
  assert.equal(issuerMatch, false)
})

test('the examples of docs/sandbox.md work in the sandbox', async () => {
  for (const q of ['python', '@ma', 'engineer'])
    assert.ok(JSON.parse((await reads.search(q, { limit: 18 })).text).resultCount > 1, q)
  assert.equal((await reads.candidate('emrys-vaughan'))?.detail.score, null)
  assert.equal((await reads.candidate('nikhil-rao'))?.detail.score?.scoreVc, null)
  assert.ok((await reads.candidate('sofia-lindqvist'))?.detail.score?.scoreVc)
})

test('every sandbox credential has a status at its address, and exactly one is revoked, by token and in the list', async () => {
  const revoked: string[] = []
  for (const { username } of profiles) {
    const read = await reads.credential(
      { scoreId: sha256Hex(`sandbox score ${username}`) },
      'native',
    )
    if (!('credential' in read)) continue
    const { id, statusListIndex, statusListCredential } = Object(read.credential.credentialStatus)
    assert.ok(id.startsWith(`${publicUrl}/sandbox/standard/v1/score-vc-status/`))
    const token = id.slice(-64)
    const { proof: _, ...payload } = read.credential
    const revokedAt = statuses.revokedAt(token, sha256Hex(canonicalJson(payload)))
    assert.notEqual(revokedAt, undefined, username)
    assert.equal(statuses.revokedAt(token, '0'.repeat(64)), undefined)
    const listId = statusListCredential.slice(
      `${publicUrl}/sandbox/standard/v1/status-lists/score-vc-revocation/`.length,
    )
    for (const form of proofForms) {
      const { credentialSubject } = listIn(statuses.list(listId, form))
      assert.equal(isBitSet(credentialSubject.encodedList, Number(statusListIndex)), !!revokedAt)
    }
    if (revokedAt) revoked.push(username)
  }
  assert.deepEqual(revoked, ['lucia-marchetti'])
  assert.equal(statuses.revokedAt('0'.repeat(64), undefined), undefined)
  assert.equal(statuses.list('k3x7qzm2ab', 'native'), null)
})

test('the sandbox list is always valid, is the same on every node and is signed by its issuer', () => {
  const other = openSandbox({ publicUrl, records, clock: () => time.now })
  for (const hours of [0, 5, 6, 24, 1_000]) {
    time.now = new Date(Date.parse('2026-06-02T08:30:00Z') + hours * 3_600_000)
    const list = listIn(statuses.list('sandbox000', 'eddsa-jcs-2022'))
    assert.deepEqual(list, listIn(other.statuses.list('sandbox000', 'eddsa-jcs-2022')))
    assert.ok(Date.parse(list.validFrom) <= time.now.getTime())
    assert.ok(Date.parse(list.validUntil) > time.now.getTime() + 3_600_000)
    assert.equal(list.issuer, 'did:web:sandbox.invalid')
    assert.ok(list.proof.verificationMethod.startsWith('did:web:sandbox.invalid#z6Mk'))
  }
})

function listIn(document: PublicDocument | null) {
  const [identity] = document?.representations ?? []
  return JSON.parse(String(identity?.bytes))
}

function isBitSet(encodedList: string, index: number): boolean {
  const bits = gunzipSync(Buffer.from(encodedList.slice(1), 'base64url'))
  return (((bits[index >> 3] ?? 0) << (index & 7)) & 0x80) !== 0
}
