import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { contextAt } from '../../../test/support/build/actions.ts'
import { origin, publicUrl, score, verdictOn } from '../../../test/support/build/credentials.ts'
import {
  addEvidence,
  addPublicWorkers,
  addScoredWorker,
  addSources,
  enough,
  scoringBy,
} from '../../../test/support/build/scores.ts'
import { createSigningKey, rotateSigningKeys } from '../../../test/support/build/signing-keys.ts'
import { publicLine, register } from '../../../test/support/build/workers.ts'
import { inTurn } from '../../../test/support/fault/in-turn.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { makeKeyFile } from '../../credentials/key-files.ts'
import { findKeys } from '../../credentials/key-store.ts'
import { activeSigner, convertProof, openSigners } from '../../credentials/signers.ts'
import { trustOf, vcSha256Of } from '../../credentials/trust.ts'
import {
  type Issued,
  type Issuing,
  issueScores,
  previewScores,
  readScoreLine,
} from './issue-scores.ts'
import { scoreWorkers } from './score-workers.ts'

const database = await testDatabase()
const { db } = database
const keysFolder = mkdtempSync(join(tmpdir(), 'assay-keys-'))
after(async () => {
  await database.drop()
  rmSync(keysFolder, { recursive: true })
})
const now = new Date('2026-05-14T09:00:00Z')
const since = new Date('2026-05-01T00:00:00Z')
await createSigningKey(contextAt(db, since), await makeKeyFile(keysFolder))
const signers = await openSigners(keysFolder)
const issuing: Issuing = {
  origin,
  validityDays: 365,
  supersedeRevokes: false,
  replacesComputed: false,
  signers,
}

function idOf(n: number): string {
  return `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
}

function credentialOf(issued: Issued | undefined) {
  assert.ok(issued !== undefined && 'credential' in issued)
  return issued
}

test('a line with an id is issued once; read again it gives the same credential', async () => {
  const scores = [score({ username: 'once' }), { ...score({ username: 'again' }), id: idOf(1) }]
  const first = (await issueScores(contextAt(db, now), issuing, scores)).map(credentialOf)
  const later = new Date(now.getTime() + 60_000)
  const second = (await issueScores(contextAt(db, later), issuing, scores)).map(credentialOf)
  assert.deepEqual(
    [...first, ...second].map((issued) => issued.now),
    [true, true, true, false],
  )
  assert.deepEqual(second[1]?.credential, { ...first[1]?.credential })
  assert.notEqual(second[0]?.credential.id, first[0]?.credential.id)
})

test('an id that is in use for another content is refused, in the registry and within one batch', async () => {
  const one = { ...score({ username: 'used' }), id: idOf(2) }
  const other = { ...one, confidenceLow: 700 }
  const [first, second, third] = await issueScores(contextAt(db, now), issuing, [one, other, one])
  assert.equal(credentialOf(first).now, true)
  assert.equal((second as { refused: { field: string } }).refused.field, 'id')
  assert.deepEqual(credentialOf(third).credential, credentialOf(first).credential)
  const [again] = await issueScores(contextAt(db, now), issuing, [other])
  assert.equal((again as { refused: { field: string } }).refused.field, 'id')
})

const computing = scoringBy({ ...issuing, signer: await activeSigner(db, signers) })
await addSources(db)
const refused = {
  refused: {
    field: 'username',
    reason: 'has a computed score: with --replace-computed the line supersedes it',
  },
}

test('a worker with a computed score keeps it, under every name the worker had, unless the run replaces computed scores', async () => {
  await addScoredWorker(db, {
    by: computing,
    over: { username: 'scored', externalId: 'hr-scored' },
  })
  await register(db, [publicLine({ username: 'scored-now', externalId: 'hr-scored' })])
  await addPublicWorkers(db, 1, { username: 'unscored' })
  const scores = ['scored', 'scored-now', 'unscored', 'stranger'].map((username, i) => ({
    ...score({ username }),
    id: idOf(50 + i),
  }))
  const preview = await previewScores(db, issuing, scores)
  assert.deepEqual(preview, [refused, refused, { supersedes: null }, { supersedes: null }])
  const [first, second, ...others] = await issueScores(contextAt(db, now), issuing, scores)
  assert.deepEqual([first, second], [refused, refused])
  assert.deepEqual(
    others.map(credentialOf).map((one) => one.now),
    [true, true],
  )

  const replacing = { ...issuing, replacesComputed: true }
  const replaced = await previewScores(db, replacing, scores)
  assert.partialDeepStrictEqual(replaced, [
    { supersedes: { username: 'scored', computed: true } },
    { supersedes: null },
    { existing: true },
    { existing: true },
  ])
  const all = (await issueScores(contextAt(db, now), replacing, scores)).map(credentialOf)
  assert.deepEqual(
    all.map((one) => one.now),
    [true, true, false, false],
  )
  const again = await issueScores(contextAt(db, now), issuing, scores)
  assert.deepEqual(
    again.map(credentialOf).map((one) => one.now),
    [false, false, false, false],
  )
})

test('a preview refuses an id in use and names what would be superseded, by a score of the file or a computed one', async () => {
  const one = { ...score({ username: 'previewed', score: 700, confidenceLow: 600 }), id: idOf(60) }
  const [issued] = (await issueScores(contextAt(db, now), issuing, [one])).map(credentialOf)
  const other = { ...one, score: 650 }
  assert.deepEqual(
    await previewScores(db, issuing, [other, one, score({ username: 'previewed' })]),
    [
      { refused: { field: 'id', reason: 'is in use for another content' } },
      { existing: true },
      {
        supersedes: { username: 'previewed', credentialId: idOf(60), score: 700, computed: false },
      },
    ],
  )
  assert.equal(issued?.now, true)
})

test('a score that is computed at the same moment is waited for, and kept', async () => {
  const [workerId = ''] = await addPublicWorkers(db, 1, { username: 'scored-meanwhile' })
  await addEvidence(db, workerId, enough)
  const [, answers] = await inTurn(
    db,
    (tx) => scoreWorkers(tx, computing, [{ workerId, correction: null }], now),
    () => issueScores(contextAt(db, now), issuing, [score({ username: 'scored-meanwhile' })]),
  )
  assert.deepEqual(answers, [refused])
})

test('two runs over the same lines at once issue each of them once', async () => {
  const scores = Array.from({ length: 60 }, (_, i) => ({
    ...score({ username: `twin-${i}` }),
    id: idOf(100 + i),
  }))
  const runs = await Promise.all([
    issueScores(contextAt(db, now), issuing, scores),
    issueScores(contextAt(db, now), issuing, scores),
  ])
  const [a, b] = runs.map((run) => run.map(credentialOf))
  assert.deepEqual(
    a?.map(({ credential }) => credential.id),
    scores.map(({ id }) => `urn:uuid:${id}`),
  )
  for (const [i, issued] of (a ?? []).entries()) {
    assert.deepEqual({ ...issued.credential }, { ...b?.[i]?.credential })
    assert.equal(Number(issued.now) + Number(b?.[i]?.now), 1)
  }
})

test('a key that is rotated during a run signs the next batch; what the old one signed is found again', async () => {
  const before = { ...score({ username: 'before' }), id: idOf(3) }
  await issueScores(contextAt(db, now), issuing, [before])
  await createSigningKey(contextAt(db, now), await makeKeyFile(keysFolder))
  const rotatedAt = new Date(now.getTime() + 700_000)
  const rotation = await rotateSigningKeys(contextAt(db, rotatedAt), { atOnce: false })
  assert.ok('active' in rotation && rotation.retired !== null)
  const at = new Date(rotatedAt.getTime() + 3_600_000)
  const scores = [before, score({ username: 'after' })]
  const issued = (await issueScores(contextAt(db, at), issuing, scores)).map(credentialOf)
  const trust = trustOf([publicUrl], await findKeys(db))
  const signedBy = [rotation.retired, rotation.active]
  for (const [i, { credential }] of issued.entries())
    for (const form of ['native', 'eddsa-jcs-2022', 'eddsa-rdfc-2022'] as const) {
      const made = await convertProof({ ...credential }, form, { origins: [origin], signers })
      assert.ok('credential' in made)
      const inThatForm = made.credential
      const { proof: _, ...payload } = inThatForm
      const registry = () => ({
        kind: 'registered' as const,
        vcSha256: vcSha256Of(payload),
        revokedAt: null,
        supersededAt: null,
        keyRevokedAt: null,
      })
      const result = await verdictOn(inThatForm, { trust, now: at, registry })
      assert.equal(result.message, 'The credential is genuine and valid.', `${form} ${i}`)
      assert.ok(String(result.presented.verificationMethod).endsWith(signedBy[i] ?? '?'))
    }
})

test('without the file of the active key nothing is issued, and the message names the key and the folder', async () => {
  const elsewhere = mkdtempSync(join(tmpdir(), 'assay-no-keys-'))
  after(() => rmSync(elsewhere, { recursive: true }))
  const poor = { ...issuing, signers: await openSigners(elsewhere) }
  const scores = [{ ...score({ username: 'nobody' }), id: idOf(4) }]
  await assert.rejects(issueScores(contextAt(db, now), poor, scores), (error: Error) => {
    return error.message.includes('z6Mk') && error.message.includes(elsewhere)
  })
  const [issued] = await issueScores(contextAt(db, now), issuing, scores)
  assert.equal(credentialOf(issued).now, true)
})

const line = {
  username: 'ada-lovelace',
  score: 742,
  confidenceLow: 701,
  confidenceHigh: 778,
  evidenceCount: 18,
  engineVersion: '1.4.2',
  engineBinarySha256: '5'.repeat(64),
}
const read = (text: string | object) =>
  readScoreLine(Buffer.from(typeof text === 'string' ? text : JSON.stringify(text)))

test('a line without a band gets that of its score, and a line with the right band keeps it', () => {
  assert.deepEqual(read(line), { ...line, scoreBand: 'strong' })
  assert.deepEqual(read({ ...line, scoreBand: 'strong' }), { ...line, scoreBand: 'strong' })
})

test('an id is compared in lowercase', () => {
  const id = '6B1F6C1E-6E0A-4A52-9A55-5F1C1B3F1C1E'
  assert.deepEqual(read({ ...line, id }), {
    ...line,
    scoreBand: 'strong',
    id: id.toLowerCase(),
  })
})

const refusedLines: [string | object, string | null][] = [
  [{ ...line, scoreBand: 'exceptional' }, 'scoreBand'],
  [{ ...line, scoreBand: 'splendid' }, 'scoreBand'],
  [{ ...line, confidenceLow: 743 }, 'confidenceLow'],
  [{ ...line, confidenceHigh: 741 }, 'confidenceHigh'],
  [{ ...line, score: '742' }, 'score'],
  [{ ...line, score: 742.5 }, 'score'],
  [{ ...line, score: 1_001 }, 'score'],
  [{ ...line, score: undefined }, 'score'],
  [{ ...line, id: '1' }, 'id'],
  [{ ...line, username: 'Ada' }, 'username'],
  [{ ...line, email: 'ada@example.org' }, 'email'],
  [{ ...line, engineBinarySha256: 'F'.repeat(64) }, 'engineBinarySha256'],
  ['[]', null],
  ['null', null],
  ['{', null],
  [`{"score":1,"score":2}`, null],
  ['\u{feff}{}', null],
]

for (const [text, field] of refusedLines)
  test(`a line is refused, naming ${field ?? 'no field'}: ${JSON.stringify(text).slice(0, 60)}`, () => {
    const answer = read(text)
    assert.ok('refused' in answer)
    assert.equal(answer.refused.field, field)
    assert.match(answer.refused.reason, /\w/)
  })
