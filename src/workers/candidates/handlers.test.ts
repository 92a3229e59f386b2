/**
 * The paid reads over HTTP: shapes, parameters, and hidden resources that look like absent ones.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Compile } from 'typebox/compile'
import { giveScore, indexed } from '../../../test/support/build/candidates.ts'
import { now, publicLine, register, setConsent } from '../../../test/support/build/workers.ts'
import { ask, type Reply } from '../../../test/support/start/ask.ts'
import { seen, startCandidates } from '../../../test/support/start/candidate-edge.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { parameterCheck } from '../../edge/parameters.ts'
import { inProcessRateLimiter } from '../../edge/rate-limit/process-limiter.ts'
import { databaseRateLimiter } from '../../edge/rate-limit/shared-limiter.ts'
import { sql } from '../../platform/db/db.ts'
import type { Permission } from '../schema.ts'
import {
  candidateDetail,
  proofQuery,
  publicScore,
  scoreIdPath,
  searchQuery,
  searchResult,
  usernamePath,
} from './schema.ts'

const database = await testDatabase()
const { db } = database
const indexedDb = indexed(db)
let time = now

const edge = await startCandidates(
  { db, clock: () => time },
  { limiter: databaseRateLimiter({ db, fallback: inProcessRateLimiter({ nodes: 1 }) }) },
)
const { port } = edge
after(async () => {
  await edge.stop()
  await database.drop()
})

const ada = {
  username: 'ada',
  displayName: 'Ada Lovelace',
  bio: 'Notes.',
  memberSince: '2020-02',
  skills: [{ name: 'Java', verified: true, level: 'expert' }, { name: 'Latin' }],
}
await register(indexedDb, [publicLine(ada)])
const scoreId = 'ab'.repeat(32)
await giveScore(db, 'ada', scoreId)

function get(path: string, key = 'live', headers: Record<string, string> = {}): Promise<Reply> {
  const question = { path, headers: { Authorization: `Bearer ${key}`, ...headers } }
  return ask(`http://127.0.0.1:${port}`, question)
}

const statusOf = async (path: string): Promise<number> => (await get(path)).status
const bodyOf = (reply: Reply): Record<string, unknown> => JSON.parse(reply.body.toString())

const score = {
  score: 494,
  confidence: { low: 354, high: 608 },
  scoreBand: 'verified',
  issuedAt: '2026-05-14T09:00:00Z',
  evidenceCount: 3,
  engineVersion: '1.0.0',
  scoreVc: null,
}

test('200: a candidate with all fields and the active score', async () => {
  const reply = await get('/api/v1/candidates/ada')
  assert.equal(reply.status, 200)
  assert.equal(reply.headers['cache-control'], 'private, no-store')
  assert.equal(reply.headers.etag, undefined)
  const body = bodyOf(reply)
  assert.ok(Compile(candidateDetail).Check(body))
  assert.deepEqual(body, {
    username: 'ada',
    displayName: 'Ada Lovelace',
    title: null,
    bio: 'Notes.',
    avatarUrl: null,
    profilePath: '/u/ada',
    memberSince: '2020-02',
    skills: [
      { name: 'Java', verified: true, level: 'expert' },
      { name: 'Latin', verified: false, level: null },
    ],
    skillCount: 2,
    verifiedSkillCount: 1,
    score,
  })
})

test('200: a score id is accepted in either case and returned in lowercase', async () => {
  for (const id of [scoreId, scoreId.toUpperCase()]) {
    const body = bodyOf(await get(`/api/v1/scores/${id}`))
    assert.ok(Compile(publicScore).Check(body))
    const profile = {
      username: 'ada',
      displayName: 'Ada Lovelace',
      avatarUrl: null,
      profilePath: '/u/ada',
    }
    assert.deepEqual(body, {
      schemaVersion: 'service.public_score.v1',
      id: scoreId,
      ...score,
      profile,
    })
  }
})

test('search: 200 within the limits of the query and the number; 400 beyond them and for other number forms', async () => {
  const search = (query: string): Promise<number> => statusOf(`/api/v1/candidates/search?${query}`)
  const reply = await get('/api/v1/candidates/search?q=la')
  assert.ok(Compile(searchResult).Check(bodyOf(reply)))
  assert.equal(bodyOf(reply).resultCount, 1)
  const long = (length: number): string => `q=${'%F0%9D%94%B8'.repeat(length)}`
  for (const good of [
    'q=la',
    long(2),
    long(80),
    'q=%40a',
    'q=la&limit=1',
    'q=la&limit=50',
    'q=zz&other=1',
  ])
    assert.equal(await search(good), 200, good)
  for (const bad of [
    '',
    'q=',
    'q=l',
    long(1),
    long(81),
    'q=la&q=la',
    'q=la&limit=0',
    'q=la&limit=51',
    'q=la&limit=1e1',
    'q=la&limit=05',
    'q=la&limit=+5',
    'q=la&limit=5.0',
    'q=la&limit=',
    'q=la&limit=5&limit=5',
    'q=%ff%fe',
    'q=a%00b',
  ])
    assert.equal(await search(bad), 400, bad)
})

test('search: 200 without a result for a query that folds to nothing, and for 80 characters that fold to more', async () => {
  for (const q of ['  ', '--', './', '\u200b\u200b', '@-', 'ﷺ'.repeat(80)]) {
    const reply = await get(`/api/v1/candidates/search?q=${encodeURIComponent(q)}`)
    assert.equal(reply.status, 200, q)
    assert.deepEqual(bodyOf(reply), { query: q, candidates: [], resultCount: 0 })
  }
})

/** Follows the Link header with rel="next" from page to page. */
async function allPages(path: string, key: string): Promise<Record<string, unknown>[]> {
  const bodies: Record<string, unknown>[] = []
  for (let next: string | undefined = path; next !== undefined; ) {
    const reply = await get(next, key)
    assert.equal(reply.status, 200, next)
    bodies.push(bodyOf(reply))
    next = /^<([^>]+)>; rel="next"$/.exec(String(reply.headers.link ?? ''))?.[1]
  }
  return bodies
}

test('search: Link with rel="next" leads through all matches, also in the sandbox; the body stays the same', async () => {
  const names = Array.from({ length: 120 }, (_, i) => `pager-${i + 100}`)
  await register(
    indexedDb,
    names.map((username) => publicLine({ username, externalId: username, displayName: 'P & Q=1' })),
  )
  const found = (bodies: Record<string, unknown>[]) =>
    bodies.flatMap(({ candidates }) =>
      (candidates as { username: string }[]).map(({ username }) => username),
    )
  const bodies = await allPages('/api/v1/candidates/search?q=p%20%26+q%3D1&limit=50', 'live')
  assert.deepEqual(
    bodies.map(({ resultCount }) => resultCount),
    [50, 50, 20],
  )
  assert.deepEqual(found(bodies), names)
  for (const body of bodies) assert.ok(Compile(searchResult).Check(body))
  const [whole] = await allPages('/api/v1/candidates/search?q=python&limit=50', 'test')
  const parts = await allPages('/api/v1/candidates/search?q=python&limit=2', 'test')
  assert.ok(parts.length > 1)
  assert.deepEqual(found(parts), found([whole ?? {}]))
})

test('400: `after` that no search gave', async () => {
  const cursor = (text: string) => Buffer.from(text).toString('base64url')
  for (const bad of [
    '',
    'x',
    'a'.repeat(101),
    cursor('11.5.ada'),
    cursor('3.99999.ada'),
    cursor('3.5.Ada'),
    cursor("3.5.'or'1"),
  ]) {
    const reply = await get(`/api/v1/candidates/search?q=ada&after=${bad}`)
    assert.equal(reply.status, 400, bad)
    assert.match(String(bodyOf(reply).message), /Link header with rel="next"/)
  }
})

test('400: a username that is not 3 to 30 allowed characters, with or without @', async () => {
  const candidate = (name: string): Promise<number> => statusOf(`/api/v1/candidates/${name}`)
  for (const own of ['ada', '@ada', '%40ada']) assert.equal(await candidate(own), 200, own)
  const thirty = `a${'-'.repeat(28)}b`
  for (const unknown of ['abc', '@abc', thirty, `@${thirty}`, 'searching', '@searcher'])
    assert.equal(await candidate(unknown), 404, unknown)
  for (const bad of [
    'ab',
    '@ab',
    `${thirty}c`,
    `@${thirty}c`,
    'Ada',
    '-ada',
    'ada_',
    '@@ada',
    '@search',
    'a.da',
    '%D0%B0da',
    'ad%00a',
  ])
    assert.equal(await candidate(bad), 400, bad)
})

test('parameters have one spelling for every caller, and a default equals the sent value', () => {
  const username = parameterCheck(usernamePath)
  assert.deepEqual(
    [username({ username: '@ada' }), username({ username: 'ada' })],
    [{ username: 'ada' }, { username: 'ada' }],
  )
  const id = parameterCheck(scoreIdPath)
  assert.deepEqual(id({ scoreId: scoreId.toUpperCase() }), { scoreId })
  const search = parameterCheck(searchQuery)
  assert.deepEqual(search({ q: 'ja' }), search({ q: 'ja', limit: '18' }))
  const proof = parameterCheck(proofQuery)
  assert.deepEqual(proof({}), proof({ proof: 'native' }))
})

test('400: a score id that is not 64 hex characters', async () => {
  for (const bad of [
    scoreId.slice(1),
    `${scoreId}a`,
    `${scoreId.slice(1)}g`,
    `0x${scoreId.slice(2)}`,
  ])
    assert.equal(await statusOf(`/api/v1/scores/${bad}`), 400, bad)
})

const withdraw = (permission: Permission) =>
  setConsent(indexedDb, 'ada', { permission, textVersion: null, by: 'test', at: now })
const grant = (permission: Permission) =>
  setConsent(indexedDb, 'ada', { permission, textVersion: '1', by: 'test', at: now })

const unreadable: [
  string,
  { hide(): Promise<unknown>; show(): Promise<unknown>; detail: boolean; found: boolean },
][] = [
  [
    'no consent to a public profile',
    {
      hide: () => withdraw('public_profile'),
      show: () => grant('public_profile'),
      detail: false,
      found: false,
    },
  ],
  [
    'no consent to share the score',
    {
      hide: () => withdraw('score_sharing'),
      show: () => grant('score_sharing'),
      detail: true,
      found: true,
    },
  ],
  [
    'no consent to be listed',
    {
      hide: () => withdraw('search_listing'),
      show: () => grant('search_listing'),
      detail: true,
      found: false,
    },
  ],
  [
    'an expired identity check',
    {
      hide: async () => {
        time = new Date('2036-05-01T00:00:00Z')
      },
      show: async () => {
        time = now
      },
      detail: true,
      found: true,
    },
  ],
  [
    'a superseded score',
    {
      hide: () => db.run(sql`update score_snapshots set state = 'superseded', ended_at = ${now}`),
      show: async () => undefined,
      detail: true,
      found: true,
    },
  ],
]

for (const [what, { hide, show, detail, found }] of unreadable)
  test(`${what}: a hidden resource has the bytes of an absent one`, async () => {
    await hide()
    const hidden = seen(await get(`/api/v1/scores/${scoreId}`))
    const isListedOnly = what === 'no consent to be listed'
    if (!isListedOnly) assert.deepEqual(hidden, seen(await get(`/api/v1/scores/${'0'.repeat(64)}`)))
    const candidate = await get('/api/v1/candidates/ada')
    if (detail) assert.equal(bodyOf(candidate).score === null, !isListedOnly)
    else assert.deepEqual(seen(candidate), seen(await get('/api/v1/candidates/nobody')))
    const { resultCount } = bodyOf(await get('/api/v1/candidates/search?q=ada'))
    assert.equal(resultCount, found ? 1 : 0)
    await show()
  })

test('a test key reads only the sandbox, and a live key only real candidates', async () => {
  assert.equal((await get('/api/v1/candidates/sofia-lindqvist', 'test')).status, 200)
  assert.equal((await get('/api/v1/candidates/ada', 'test')).status, 404)
  assert.equal((await get('/api/v1/candidates/sofia-lindqvist')).status, 404)
  const found = bodyOf(await get('/api/v1/candidates/search?q=python', 'test'))
  assert.ok(Number(found.resultCount) > 2)
})
