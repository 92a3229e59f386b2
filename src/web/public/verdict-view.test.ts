import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Reason, reasonMessage } from '../../credentials/reasons.ts'
import type { VerifyResult } from '../../credentials/schema.ts'
import { verdictView } from './verdict-view.ts'

const host = 'scores.example.org'
const reasons = Object.keys(reasonMessage) as Reason[]

/** Every result that one reason can come with, also those that no check makes. */
function* results(reason: Reason | undefined): Generator<VerifyResult> {
  for (const issuerMatch of [true, false])
    for (const signatureValid of [true, false])
      for (const checked of [true, false])
        for (const revoked of checked ? [true, false] : [false])
          yield {
            schemaVersion: 'service.score_vc_verify.v1',
            valid: reason === undefined,
            ...(reason === undefined ? {} : { reason }),
            message: reason === undefined ? 'Valid.' : reasonMessage[reason],
            issuerMatch,
            signatureValid,
            revocation: {
              checked,
              revoked,
              ...(revoked ? { revokedAt: '2026-05-14T00:00:00Z' } : {}),
            },
            presented: { issuer: `did:web:${issuerMatch ? host : 'evil.example'}` },
            notes: [],
          }
}

const all = [undefined, ...reasons].flatMap((reason) => [...results(reason)])
const views = all.map((result) => verdictView({ result, host, operatorName: null }))

test('verdict: no sentence of a passed check is ever said of another state', () => {
  const passed = new Set<string>()
  const others = new Set<string>()
  for (const { rows } of views)
    for (const { state, sentence } of rows) (state === 'passed' ? passed : others).add(sentence)
  for (const sentence of passed) assert.ok(!others.has(sentence), sentence)
  assert.equal(passed.size, 3)
})

test('verdict: below a signature that failed or was not compared, no check passed', () => {
  for (const { rows } of views) {
    const signature = rows.find(({ row }) => row === 'signature')
    if (signature?.state === 'passed') continue
    assert.ok(rows.every(({ state }) => state !== 'passed'))
    if (signature?.state === 'failed') assert.equal(rows[0]?.row, 'signature')
  }
})

test('verdict: every reason has a word and a sentence that ends, and one line for each row', () => {
  for (const { word, sentence, rows } of views) {
    assert.ok(word.length > 0)
    for (const text of [sentence, ...rows.map((row) => row.sentence)]) assert.match(text, /\w\.$/)
    assert.equal(rows.length, 3)
  }
})

test('verdict: the name of the operator stands beside the host, and only the host was verified', () => {
  const [valid] = results(undefined)
  if (valid === undefined) return
  const named = verdictView({ result: valid, host, operatorName: 'Example Scores Ltd' })
  assert.equal(named.sentence, 'Issued by Example Scores Ltd, unchanged since, and not revoked.')
  assert.equal(named.rows[0]?.sentence, `${host} issued this document.`)
})
