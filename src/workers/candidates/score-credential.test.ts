/**
 * The credential of a score over HTTP: each proof form verifies, and the public gate is that of the
 * score.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { origin, signer } from '../../../test/support/build/credentials.ts'
import { issueOne, liveVerdict, testRegistry } from '../../../test/support/build/registry.ts'
import { now, publicLine, register, setConsent } from '../../../test/support/build/workers.ts'
import { ask, type Reply } from '../../../test/support/start/ask.ts'
import { seen, startCandidates } from '../../../test/support/start/candidate-edge.ts'
import { type ProofForm, proofForms } from '../../credentials/proof.ts'
import { sha256Hex } from '../../platform/crypto/bytes.ts'
import { type Queryable, sql } from '../../platform/db/db.ts'

const registry = await testRegistry()
const { db } = registry

const here = await startCandidates({
  db,
  signers: { of: async (kid) => (kid === signer.kid ? signer : undefined) },
})
const elsewhere = await startCandidates({ db })
const moved = await startCandidates({
  db,
  signers: { of: async () => signer },
  origin: { ...origin, issuer: 'did:web:moved.example' },
})
after(async () => {
  for (const edge of [here, elsewhere, moved]) await edge.stop()
  await registry.drop()
})

function get(path: string, { port } = here, key = 'live'): Promise<Reply> {
  return read(`/api/v1/scores/${path}`, port, key)
}

function read(path: string, port = here.port, key = 'live'): Promise<Reply> {
  const question = { path, headers: { Authorization: `Bearer ${key}` } }
  return ask(`http://127.0.0.1:${port}`, question)
}

const bodyOf = (reply: Reply): Record<string, unknown> => JSON.parse(reply.body.toString())

const issued = await issueOne(db, { username: 'ada', issuedAt: now })
const scoreId = 'ab'.repeat(32)
const bareId = 'cd'.repeat(32)
await register(db, [publicLine(), publicLine({ username: 'bob', displayName: 'Bob' })])
await db.run(sql`
  insert into scoring_vocabularies (vocabulary_sha256, rules, first_used_at)
  values (sha256('{}'), '{}', ${now})`)
await db.run(sql`
  insert into score_snapshots (snapshot_id, worker_id, state, change, as_of, engine_id, engine_version,
    engine_sha256, vocabulary_sha256, evidence_root, score, confidence_low, confidence_high, band,
    evidence_count, source_count, issued_at, vc_sha256, status_token)
  select n.id, p.worker_id, 'active', 'first', '2026-05-14', 'hsc', '1.0.0', sha256('e'),
    sha256('{}'), sha256('r'), 742, 701, 778, 'strong', 3, 3, ${now}, n.sha256, n.token
  from (values
    (${Buffer.from(scoreId, 'hex')}::bytea, 'ada', ${Buffer.from(issued.vcSha256, 'hex')}::bytea,
      ${Buffer.from(issued.statusToken, 'hex')}::bytea),
    (${Buffer.from(bareId, 'hex')}, 'bob', null, null)) as n(id, username, sha256, token)
  join profiles p on p.username = n.username`)

const withdraw = () =>
  setConsent(db, 'ada', { permission: 'score_sharing', textVersion: null, by: 'test', at: now })

test('200: a candidate links to the score and its credential, which a username leads to as well', async () => {
  const path = `/api/v1/scores/${scoreId}`
  const detail = await read('/api/v1/candidates/ada')
  assert.equal(
    detail.headers.link,
    `<${path}>; rel="related", <${path}/credential>; rel="describedby"`,
  )
  for (const proof of ['', ...proofForms.map((form) => `?proof=${form}`)]) {
    const byName = await read(`/api/v1/candidates/@ada/credential${proof}`)
    const byScore = await read(`${path}/credential${proof}`)
    assert.equal(byName.status, 200)
    assert.equal(byName.headers['content-type'], byScore.headers['content-type'])
    assert.deepEqual(payloadIn(bodyOf(byName)), payloadIn(bodyOf(byScore)))
  }
})

test("a candidate's credential is read in one statement, so its score cannot be replaced in between", async () => {
  let statements = 0
  const counted: Queryable = {
    rows: (statement) => {
      statements++
      return db.rows(statement)
    },
    run: (statement) => db.run(statement),
  }
  const counting = await startCandidates({ db: counted })
  try {
    const path = '/api/v1/candidates/ada/credential'
    assert.equal((await read(path, counting.port)).status, 200)
    assert.equal(statements, 1)
  } finally {
    await counting.stop()
  }
})

test('200: the link of a score without a credential leads to the score alone; 404: it has none', async () => {
  const { headers } = await read('/api/v1/candidates/bob')
  assert.equal(headers.link, `</api/v1/scores/${bareId}>; rel="related"`)
  const missing = await read('/api/v1/candidates/bob/credential')
  assert.equal(missing.status, 404)
  assert.equal(bodyOf(missing).error, 'score_credential_not_found')
})

test('200: without a proof form, the answer is the native credential, byte for byte as issued', async () => {
  for (const path of [
    `${scoreId}/credential`,
    `${scoreId.toUpperCase()}/credential?proof=native`,
  ]) {
    const reply = await get(path)
    assert.equal(reply.status, 200)
    assert.equal(reply.headers['content-type'], 'application/ld+json')
    assert.equal(reply.headers['cache-control'], 'private, no-store')
    assert.deepEqual(bodyOf(reply), JSON.parse(JSON.stringify(issued.credential)))
  }
})

function payloadIn(credential: Record<string, unknown>): unknown {
  const { proof: _, ...payload } = credential
  return payload
}

for (const form of proofForms)
  test(`200: the proof form ${form} covers the same payload and verifies`, async () => {
    const credential = bodyOf(await get(`${scoreId}/credential?proof=${form}`))
    assert.deepEqual(payloadIn(credential), payloadIn(bodyOf(await get(`${scoreId}/credential`))))
    const { cryptosuite } = credential.proof as { cryptosuite?: string }
    assert.equal(cryptosuite, form === 'native' ? undefined : form)
    const verdict = await liveVerdict(db, credential)
    assert.equal(verdict.message, 'The credential is genuine and valid.')
  })

for (const [why, server] of [
  ['the signing key is on another machine', elsewhere],
  ['the issuer is a former address that is not configured', moved],
] as const)
  test(`503: ${why}: only the native form is available`, async () => {
    assert.equal((await get(`${scoreId}/credential`, server)).status, 200)
    const reply = await get(`${scoreId}/credential?proof=eddsa-jcs-2022`, server)
    assert.equal(reply.status, 503)
    assert.equal(bodyOf(reply).error, 'signing_not_configured')
  })

test('404: a score without a credential has its own error and stays readable', async () => {
  const reply = await get(`${bareId}/credential`)
  assert.equal(reply.status, 404)
  assert.equal(bodyOf(reply).error, 'score_credential_not_found')
  assert.equal((await get(bareId)).status, 200)
})

test('a test key gets sandbox credentials in every form, and no real one', async () => {
  const fictional = sha256Hex('sandbox score sofia-lindqvist')
  const bare = sha256Hex('sandbox score nikhil-rao')
  const scoreless = sha256Hex('sandbox score emrys-vaughan')
  const credentials = await Promise.all(
    proofForms.map(async (form: ProofForm) => {
      const reply = await get(`${fictional}/credential?proof=${form}`, here, 'test')
      assert.equal(reply.status, 200)
      return bodyOf(reply)
    }),
  )
  const { scoreVc } = bodyOf(await get(fictional, here, 'test')) as {
    scoreVc: { statusUrl: string }
  }
  for (const credential of credentials) {
    assert.equal(credential.issuer, 'did:web:sandbox.invalid')
    assert.deepEqual(payloadIn(credential), payloadIn(credentials[0] ?? {}))
    assert.equal((credential.credentialStatus as { id: string }).id, scoreVc.statusUrl)
  }
  const errorOf = async (id: string) => bodyOf(await get(`${id}/credential`, here, 'test')).error
  assert.equal(await errorOf(bare), 'score_credential_not_found')
  assert.equal(await errorOf(scoreless), 'score_not_found')
  assert.equal(await errorOf(scoreId), 'score_not_found')
  assert.equal((await get(`${fictional}/credential`)).status, 404)
})

test('404: the credential of a hidden score and of an absent one have the same bytes', async () => {
  await withdraw()
  const hidden = seen(await get(`${scoreId}/credential`))
  assert.deepEqual(hidden, seen(await get(`${'0'.repeat(64)}/credential`)))
  assert.deepEqual(hidden, seen(await get(scoreId)))
})

test('404: a hidden score and an unknown username get the same bytes and headers', async () => {
  await withdraw()
  const shown = async (username: string) => {
    const { status, headers, body } = await read(`/api/v1/candidates/${username}/credential`)
    const { date: _, 'x-request-id': __, ratelimit: ___, ...others } = headers
    return [status, others, body.toString()]
  }
  assert.deepEqual(await shown('ada'), await shown('nobody'))
  assert.equal((await read('/api/v1/candidates/ada')).headers.link, undefined)
})
