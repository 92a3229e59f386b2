/** The sandbox: the shapes of real people, the order of real search, and nothing that could pass as real. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Compile } from 'typebox/compile'
import { searchByHand } from '../../test/support/oracle/search-oracle.ts'
import type { SearchResult } from '../candidates/schema.ts'
import { candidateDetail, publicScore, searchResult } from '../candidates/schema.ts'
import { skillNames } from '../candidates/skill-names.ts'
import { sha256Hex } from '../platform/crypto/bytes.ts'
import { signatureCache } from '../score-credentials/signature-cache.ts'
import { trustOf } from '../score-credentials/trust.ts'
import { checkCredential } from '../score-credentials/verify.ts'
import { loadVocabulary } from '../skill-standard/vocabulary.ts'
import { sandboxCredential } from './credentials.ts'
import { fictionalPeople } from './people.ts'
import { sandboxReads } from './reads.ts'

const { records } = loadVocabulary('vocabulary')
const reads = sandboxReads(skillNames(records))
const people = fictionalPeople.map(({ profile }) => profile)
const shapes = {
  detail: Compile(candidateDetail),
  score: Compile(publicScore),
  search: Compile(searchResult),
}

test('forty people with usernames of their own and skills of the vocabulary', () => {
  assert.equal(new Set(people.map(({ username }) => username)).size, 40)
  const labels = new Set(records.map(({ label }) => label))
  for (const { username, skills } of people) {
    assert.ok(skills.length > 1, username)
    for (const { name } of skills) assert.ok(labels.has(name), `${username}: ${name}`)
  }
})

test('everybody has the shape of a candidate; 37 show a score, 35 of them with a credential', async () => {
  const scores = []
  for (const { username } of people) {
    const candidate = await reads.candidate(username)
    assert.ok(shapes.detail.Check(candidate), username)
    if (candidate.score !== null) scores.push(candidate.score)
  }
  assert.equal(scores.length, 37)
  assert.equal(scores.filter(({ scoreVc }) => scoreVc !== null).length, 35)
  for (const { score, confidence } of scores)
    assert.ok(confidence.low <= score && score <= confidence.high)
})

test('a score is found by its id and says the same as the candidate', async () => {
  const id = sha256Hex('sandbox score chidi-eze')
  const score = await reads.score(id)
  assert.ok(shapes.score.Check(score))
  const { schemaVersion: _, id: given, profile, ...said } = score
  assert.equal(given, id)
  assert.equal(profile.username, 'chidi-eze')
  assert.deepEqual(said, (await reads.candidate('chidi-eze'))?.score)
  assert.equal(await reads.score('0'.repeat(64)), null)
  assert.equal(await reads.candidate('nobody'), null)
})

test('what is missing is told: the score of somebody who has none, or the credential of a score', async () => {
  const read = (text: string) => reads.credential(sha256Hex(text), 'native')
  assert.deepEqual(await read('nobody'), { missing: 'score' })
  assert.deepEqual(await read('sandbox score mateo-rios'), { missing: 'score' })
  assert.deepEqual(await read('sandbox score oriol-serra'), { missing: 'credential' })
  assert.ok('credential' in (await read('sandbox score chidi-eze')))
})

test('search has the shape and the order of real search', async () => {
  for (const q of [
    'ja',
    'java',
    'js',
    'de',
    'data',
    '@ma',
    '@m',
    'engineer',
    'zz',
    'machine l',
    'weiss',
  ])
    for (const limit of [1, 18, 50]) {
      const result: SearchResult = JSON.parse(await reads.search(q, limit))
      assert.ok(shapes.search.Check(result), q)
      const expected = searchByHand(people, records, { q, limit })
      assert.deepEqual(
        result.candidates.map(({ username }) => username),
        expected,
        q,
      )
      assert.equal(result.resultCount, expected.length)
    }
})

test('a credential of the sandbox is the same whenever it is made, and its issuer is nobody we trust', () => {
  const score = {
    username: 'chidi-eze',
    score: 761,
    scoreBand: 'exceptional',
    confidenceLow: 715,
    confidenceHigh: 806,
    evidenceCount: 26,
    engineVersion: '1.0.0',
    engineBinarySha256: '0'.repeat(64),
  }
  const credential = sandboxCredential(score, 6)
  assert.deepEqual(credential, sandboxCredential(score, 6))
  assert.equal(credential.credential.issuer, 'did:web:sandbox.invalid')
  const { failures, issuerMatch } = checkCredential({ ...credential.credential }, null, {
    trust: trustOf(['https://scores.example.org'], []),
    signatures: signatureCache(),
    now: new Date('2026-06-01T00:00:00Z'),
  })
  assert.ok(failures.has('issuer_mismatch'))
  assert.equal(issuerMatch, false)
})

test('what docs/search.md says to try', async () => {
  for (const q of ['java', '@ma', 'engineer'])
    assert.ok(JSON.parse(await reads.search(q, 18)).resultCount > 1, q)
  assert.equal((await reads.candidate('mateo-rios'))?.score, null)
  assert.equal((await reads.candidate('oriol-serra'))?.score?.scoreVc, null)
  assert.ok((await reads.candidate('chidi-eze'))?.score?.scoreVc)
})
