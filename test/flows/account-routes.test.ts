/**
 * The session routes for sandbox, webhooks and agent decisions, on two nodes of one deployment:
 * access rules, and isolation between accounts.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { apiKeysRevoke, apiKeysRotate } from '../../src/accounts/access/api-key-operations.ts'
import { membersRemove } from '../../src/accounts/member-operations.ts'
import { insertMembership } from '../../src/accounts/store.ts'
import { type AccountEntry, readEntry } from '../../src/audit/account-entry.ts'
import { findAccountEntries } from '../../src/audit/store.ts'
import { recordGaveUp } from '../../src/main/webhooks.ts'
import { memberCaller } from '../../src/operations/callers.ts'
import { perform } from '../../src/operations/perform.ts'
import { sha256Hex } from '../../src/platform/crypto/bytes.ts'
import { sql } from '../../src/platform/db/db.ts'
import { canonicalJson } from '../../src/platform/json/canonical-json.ts'
import { reportsLock } from '../../src/reports/operations.ts'
import { declineUnlockReview, findOpenReviews } from '../../src/reports/unlock.ts'
import { webhooksPause } from '../../src/webhooks/operations.ts'
import { webhooksReplaceSecret } from '../../src/webhooks/secret-operations.ts'
import {
  accountRequests,
  decisionsPath,
  endpointsPath,
  goodStatus,
  lockedAccount,
  sandboxPath,
} from '../support/build/account-drives.ts'
import { userPerformer } from '../support/build/accounts.ts'
import { newKey, type TestKey } from '../support/build/keys.ts'
import { lock, reportPerformer } from '../support/build/reports.ts'
import { newSession, type TestSession } from '../support/build/sessions.ts'
import {
  createEndpoint,
  happen,
  ok,
  receiver,
  startDelivering,
  webhookPerformer,
} from '../support/build/webhooks.ts'
import fc from '../support/oracle/fc.ts'
import { ask, type Question, type Reply } from '../support/start/ask.ts'
import { startService } from '../support/start/service.ts'

const publicUrl = 'https://scores.example.org'
const service = await startService(publicUrl)
const other = await startService(publicUrl, service)
after(async () => {
  await other.stop()
  await service.stop()
})
const { db } = service.database
const nodes = [service, other] as const

/**
 * Returns everything that a caller can compare: the answer without its date, request id and
 * rate-limit header.
 */
function seen({ status, headers, body }: Reply): unknown {
  const { date: _, 'x-request-id': __, ratelimit: ___, ...rest } = headers
  return { status, headers: rest, body: body.toString() }
}

const bodyOf = ({ body }: Reply) => JSON.parse(body.toString())

function errorOf(reply: Reply): string {
  return `${reply.status} ${bodyOf(reply).error}`
}

function posting(path: string, body: object, { ownOrigin }: TestSession): Question {
  const headers = { 'Content-Type': 'application/json', ...ownOrigin }
  return { method: 'POST', path, headers, body: JSON.stringify(body) }
}

/** Creates a session whose time is over. */
async function expired(accountId: string): Promise<TestSession> {
  const session = await newSession(db, { accountId })
  await db.run(sql`
    update sessions set created_at = created_at - interval '40 days',
      last_seen_at = last_seen_at - interval '40 days', ends_at = ends_at - interval '40 days'
    where id = ${session.sessionId}`)
  return session
}

async function ended(accountId: string): Promise<TestSession> {
  const session = await newSession(db, { accountId })
  await db.run(sql`delete from sessions where id = ${session.sessionId}`)
  return session
}

async function disabled(accountId: string): Promise<TestSession> {
  const session = await newSession(db, { accountId })
  await db.run(sql`update users set disabled_at = now() where id = ${session.userId}`)
  return session
}

/** Removes the user of a session from the account. */
async function removed(accountId: string): Promise<TestSession> {
  const session = await newSession(db, { accountId })
  await db.run(sql`delete from memberships where user_id = ${session.userId}`)
  return session
}

/** Sends the request with each kind of session that is not valid, to both nodes. */
async function assertRejected(
  accountId: string,
  question: (headers: Record<string, string>) => Question,
): Promise<void> {
  const key = await newKey(db, { accountId })
  const rejected = {
    none: { 'Sec-Fetch-Site': 'same-origin' },
    ended: (await ended(accountId)).ownOrigin,
    expired: (await expired(accountId)).ownOrigin,
    'of a disabled user': (await disabled(accountId)).ownOrigin,
    'of a removed member': (await removed(accountId)).ownOrigin,
    'a key': { ...key.headers, 'Sec-Fetch-Site': 'same-origin' },
  }
  const replies: unknown[] = []
  for (const [session, headers] of Object.entries(rejected))
    for (const { base } of nodes) {
      const reply = await ask(base, question(headers))
      assert.equal(errorOf(reply), '401 session_required', session)
      replies.push(seen(reply))
    }
  for (const reply of replies) assert.deepEqual(reply, replies[0])
}

const operations = Object.keys(accountRequests({}, { endpointId: '' }))

test('the request table covers every session route of the specification, and only the ledger is beside them', () => {
  const declared = service.endpoints.filter(({ policy }) => policy.kind === 'session')
  const of = (isExtension: boolean) =>
    declared
      .filter(({ extension = false }) => extension === isExtension)
      .map(({ operationId }) => operationId)
  assert.deepEqual(of(false).sort(), operations.sort())
  assert.equal(operations.length, 9)
  assert.deepEqual(of(true), ['getCreditsCsv'])
})

for (const operation of operations) {
  const good = (headers: Record<string, string>, endpointId: string): Question =>
    accountRequests(headers, { endpointId })[operation] as Question
  const status = goodStatus[operation] ?? 200

  test(`401 ${operation}: every kind of invalid session gets the same answer on both nodes`, async () => {
    const { session, endpointIds } = await lockedAccount(service, 1)
    await assertRejected(session.accountId, (headers) => good(headers, endpointIds[0] ?? ''))
  })

  test(`${status} ${operation}: a member and an owner get the same answer; an API key beside the session is ignored`, async () => {
    const { session: member, endpointIds } = await lockedAccount(service, 3)
    const owner = await newSession(db, { accountId: member.accountId, role: 'owner' })
    const stranger = await newKey(db)
    const callers = [
      member.ownOrigin,
      owner.ownOrigin,
      { ...member.ownOrigin, ...stranger.headers, 'X-PAYMENT': 'e30=' },
    ]
    for (const [i, headers] of callers.entries()) {
      const { base } = nodes[i % 2] as (typeof nodes)[number]
      const reply = await ask(base, good(headers, endpointIds[i] ?? ''))
      const isRepeated = operation === 'requestUnlockReview' && i > 0
      assert.equal(reply.status, isRepeated ? 200 : status, reply.body.toString())
      assert.equal(reply.headers['service-credits-charged'], undefined)
      assert.equal(reply.headers['cache-control'], 'private, no-store')
      assert.doesNotMatch(reply.body.toString(), new RegExp(stranger.accountId))
    }
  })
}

for (const { operationId, method, path, body } of service.endpoints.filter(
  ({ policy, extension }) => policy.kind === 'session' && extension,
))
  test(`401 ${operationId}: every kind of invalid session gets the same answer on both nodes`, async () => {
    const { accountId, sessionId } = await newSession(db)
    await assertRejected(accountId, (headers) => ({
      method,
      path: path.replaceAll(/\{\w+\}/g, sessionId),
      headers: { 'Content-Type': 'application/json', ...headers },
      ...(body !== undefined && { body: '{}' }),
    }))
  })

test('the ids of another account are answered like unknown ids and change nothing', async () => {
  const { session: victim, endpointIds } = await lockedAccount(service, 1)
  const endpointId = endpointIds[0] ?? ''
  const key = await newKey(db, { accountId: victim.accountId })
  await db.run(sql`delete from agent_reporting where user_id = ${victim.accountId}`)
  const idempotencyKey = randomUUID()
  const { createAccountWebhookEndpoint: creation } = accountRequests(victim.ownOrigin, {
    endpointId,
    idempotencyKey,
  })
  assert.equal((await ask(service.base, creation as Question)).status, 201)
  const { accountId, userId, sessionId } = victim
  const reportId = await reportedBy(key)
  const theirs = [endpointId, idempotencyKey, reportId, key.keyId, accountId, userId, sessionId]
  const stateOf = async () =>
    JSON.stringify(
      await db.rows(sql`
        select n.*, (select count(*) from webhook_deliveries d where d.endpoint_id = n.id) as sent,
          (select count(*) from agent_decision_reports where user_id = n.user_id) as reports,
          (select count(*) from agent_unlock_reviews where user_id = n.user_id) as reviews
        from webhook_endpoints n where n.user_id = ${victim.accountId} order by n.id`),
    )
  const before = await stateOf()
  const cases = fc.record({
    operation: fc.constantFrom(...operations),
    foreign: fc.constantFrom(...theirs),
    unknown: fc.uuid(),
    isUpper: fc.boolean(),
    node: fc.constantFrom(...nodes),
  })
  await fc.assert(
    fc.asyncProperty(cases, async ({ operation, foreign, unknown, isUpper, node }) => {
      const stranger = await newSession(db)
      await lock(db, stranger.accountId)
      const reply = async (id: string): Promise<unknown> => {
        const endpointId = isUpper ? id.toUpperCase() : id
        const ids = { endpointId, scoreId: sha256Hex(id), username: `x${id.slice(0, 8)}` }
        const requests = accountRequests(stranger.ownOrigin, { ...ids, idempotencyKey: id })
        const question = requests[operation] as Question
        const cursor = Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url')
        const path =
          operation === 'listAgentDecisions' ? `${question.path}?cursor=${cursor}` : question.path
        const answer = await ask(node.base, { ...question, path })
        assert.doesNotMatch(answer.body.toString(), new RegExp(victim.accountId))
        // Answers to creations and review requests contain new ids, secrets and times, so only
        // their keys are compared.
        return answer.status === 201 || answer.status === 202 || operation === 'requestUnlockReview'
          ? Object.keys(bodyOf(answer))
          : seen(answer)
      }
      assert.deepEqual(await reply(foreign), await reply(unknown))
    }),
    { numRuns: 60 },
  )
  assert.equal(await stateOf(), before)
})

/** Sends a report with the key and returns its id. */
async function reportedBy(key: TestKey): Promise<string> {
  const reply = await ask(service.base, {
    method: 'POST',
    path: '/api/v1/agent-decisions',
    headers: {
      ...key.headers,
      'Content-Type': 'application/json',
      'Idempotency-Key': randomUUID(),
    },
    body: JSON.stringify({
      subject: { kind: 'candidate', username: 'ada-lovelace' },
      decision: 'shortlisted',
    }),
  })
  assert.equal(reply.status, 201)
  return bodyOf(reply).report.id
}

test('the audit log of an account has what its members, the operator and the service did, and nothing of another account', async () => {
  const session = await newSession(db)
  const { accountId, userId } = session
  const url = 'https://hooks.example/in'
  const endpointId = (await createEndpoint(db, url, { userId: accountId })).id
  const other = await newSession(db)
  const foreignId = (await createEndpoint(db, url, { userId: other.accountId })).id
  const { keyId } = await newKey(db, { accountId })
  const member = await newSession(db, { accountId, role: 'member' })
  const caller = memberCaller(
    { kind: 'session', role: 'owner', operatorRole: null, signedInAt: new Date(), ...session },
    'req_test',
  )
  const performer = webhookPerformer(db)
  const atMachine = { kind: 'operator', role: 'admin', actor: 'ada@host', by: 'ada' } as const
  await perform(reportPerformer(db), reportsLock, atMachine, { account: accountId })
  await perform(performer, webhooksPause, caller, { endpointId })
  await perform(performer, webhooksReplaceSecret, caller, { endpointId })
  const rotation = { keyId, overlapHours: 24, now: false }
  assert.ok('output' in (await perform(performer, apiKeysRotate, caller, rotation)))
  assert.ok('output' in (await perform(performer, apiKeysRevoke, caller, { keyId })))
  const { requestUnlockReview } = accountRequests(session.ownOrigin, { endpointId: '' })
  assert.ok((await ask(service.base, requestUnlockReview as Question)).status < 300)
  const { email } = member
  const input = { account: accountId, email }
  assert.ok('output' in (await perform(userPerformer(db), membersRemove, caller, input)))
  const gone = [foreignId, endpointId]
  await db.transaction((tx) =>
    recordGaveUp(tx, { endpointIds: gone, reason: 'gone', at: new Date() }),
  )

  const found: AccountEntry[] = []
  for (let before: number | null = null; ; before = found.at(-1)?.seq ?? null) {
    const page = await findAccountEntries(db, { accountId, before, limit: 3 })
    if (page.length === 0) break
    found.push(...page)
  }
  const read = found.map((entry) => readEntry(entry, accountId))
  for (const secret of ['ada@host', other.accountId, foreignId])
    assert.ok(!JSON.stringify(read).includes(secret), secret)
  const nobody = { userId: null, apiKeyId: null }
  const own = { ...nobody, kind: 'user', userId }
  const operator = { ...nobody, kind: 'operator' }
  assert.deepEqual(
    read.map(({ action, actor, subjects }) => [action, actor, subjects[0]]),
    [
      ['webhooks.given_up', { ...nobody, kind: 'service' }, endpointId],
      ['users.removed', own, member.userId],
      ['agent_reporting.review_requested', own, accountId],
      ['api_keys.revoked', own, keyId],
      ['api_keys.rotated', own, keyId],
      ['webhooks.secret_replaced', own, endpointId],
      ['webhooks.paused', own, endpointId],
      ['agent_reporting.locked', operator, accountId],
      ['api_keys.created', operator, keyId],
      ['accounts.created', operator, accountId],
    ],
  )
})

test('each session of a user with two accounts sees only its own account', async () => {
  const { session: first, endpointIds } = await lockedAccount(service, 1)
  const second = await newSession(db)
  await db.transaction((tx) =>
    insertMembership(tx, {
      userId: first.userId,
      accountId: second.accountId,
      role: 'member',
      createdAt: new Date(),
    }),
  )
  const reply = await ask(service.base, {
    path: `${endpointsPath}/${endpointIds[0]}/deliveries`,
    headers: second.headers,
  })
  assert.equal(errorOf(reply), '404 webhook_endpoint_not_found')
})

test('the sandbox answers a session with the same bytes as a test key, without a charge', async () => {
  const session = await newSession(db)
  const key = await newKey(db, { environment: 'test' })
  for (const rest of ['candidates/search?q=python&limit=3', 'candidates/sofia-lindqvist']) {
    const own = await ask(service.base, {
      path: `${sandboxPath}/${rest}`,
      headers: session.headers,
    })
    const v1 = await ask(other.base, { path: `/api/v1/${rest}`, headers: key.headers })
    assert.equal(own.status, 200)
    assert.equal(own.body.toString(), v1.body.toString())
  }
})

test('the sandbox links score, credential, status and list; one of its credentials is revoked', async () => {
  const session = await newSession(db)
  for (const [username, isRevoked] of [
    ['sofia-lindqvist', false],
    ['lucia-marchetti', true],
  ] as const) {
    const scoreId = sha256Hex(`sandbox score ${username}`)
    const reply = await ask(service.base, {
      path: `${sandboxPath}/scores/${scoreId}`,
      headers: session.headers,
    })
    const { schemaVersion, score, credential, statusUrl, statusListUrl } = bodyOf(reply)
    assert.equal(schemaVersion, 'service.sandbox_score.v1')
    assert.deepEqual([score.id, credential.form], [scoreId, 'native'])
    const { proof: _, ...payload } = credential.document
    assert.equal(payload.issuer, 'did:web:sandbox.invalid')
    assert.equal(sha256Hex(canonicalJson(payload)), score.scoreVc.sha256)
    assert.deepEqual(
      [statusUrl, statusListUrl],
      [payload.credentialStatus.id, payload.credentialStatus.statusListCredential],
    )
    assert.deepEqual(
      [score.scoreVc.statusUrl, score.scoreVc.statusListCredential],
      [statusUrl, statusListUrl],
    )
    const [status, list] = await Promise.all(
      [`${statusUrl}?vcSha256=${score.scoreVc.sha256}`, statusListUrl].map(async (url) => {
        assert.ok(url.startsWith(`${publicUrl}/sandbox/standard/v1/`))
        return bodyOf(await ask(other.base, { path: url.slice(publicUrl.length) }))
      }),
    )
    assert.equal(status.revoked, isRevoked)
    const { encodedList } = list.credentialSubject
    const bits = gunzipSync(Buffer.from(encodedList.slice(1), 'base64url'))
    const index = Number(payload.credentialStatus.statusListIndex)
    assert.equal((((bits[index >> 3] ?? 0) << (index & 7)) & 0x80) !== 0, isRevoked)
    const verdict = await ask(service.base, {
      method: 'POST',
      path: '/api/v1/score-vc/verify',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(credential.document),
    })
    const { valid, issuerMatch, reason } = bodyOf(verdict)
    assert.deepEqual([valid, issuerMatch, reason], [false, false, 'issuer_mismatch'])
  }
  const bare = await ask(service.base, {
    path: `${sandboxPath}/scores/${sha256Hex('sandbox score nikhil-rao')}`,
    headers: session.headers,
  })
  assert.partialDeepStrictEqual(bodyOf(bare), {
    credential: null,
    statusUrl: null,
    statusListUrl: null,
  })
})

test('an Idempotency-Key identifies one creation, whether a session or an API key sends it', async () => {
  const session = await newSession(db)
  const key = await newKey(db, { accountId: session.accountId })
  const idempotencyKey = randomUUID()
  const requests = accountRequests(session.ownOrigin, { endpointId: '', idempotencyKey })
  const create = requests.createAccountWebhookEndpoint as Question
  const { 'Sec-Fetch-Site': _, Cookie: __, ...headers } = create.headers ?? {}
  const byKey = {
    ...create,
    path: '/api/v1/webhooks/endpoints',
    headers: { ...headers, ...key.headers },
  }
  const replies = await Promise.all(
    [create, byKey, create, byKey].map((question, i) =>
      ask((nodes[i % 2] as (typeof nodes)[number]).base, question),
    ),
  )
  for (const reply of replies) {
    assert.equal(reply.status, 201)
    assert.equal(reply.body.toString(), replies[0]?.body.toString())
  }
  const listed = await ask(service.base, { path: endpointsPath, headers: session.headers })
  assert.deepEqual(
    bodyOf(listed).endpoints.map(({ id }: { id: string }) => id),
    [bodyOf(replies[0] as Reply).endpoint.id],
  )
  const { 'Idempotency-Key': ___, ...keyless } = create.headers ?? {}
  const more = await ask(service.base, { ...create, headers: keyless })
  assert.notEqual(bodyOf(more).endpoint.id, bodyOf(replies[0] as Reply).endpoint.id)
})

test('202: an endpoint gets at most one test event a minute across two nodes; the event arrives and is listed', async () => {
  const session = await newSession(db)
  const { url, received } = await receiver(ok)
  const userId = session.accountId
  const { id } = await createEndpoint(db, url, { userId })
  const second = await createEndpoint(db, url, { userId })
  const question = posting(`${endpointsPath}/${id}/test`, { eventType: 'dispute.opened' }, session)
  const replies = await Promise.all(
    Array.from({ length: 10 }, (_, i) =>
      ask((nodes[i % 2] as (typeof nodes)[number]).base, question),
    ),
  )
  const [queued, ...more] = replies.filter(({ status }) => status === 202)
  assert.ok(queued !== undefined && more.length === 0)
  const { eventId, queuedAt, ...rest } = bodyOf(queued)
  assert.deepEqual(rest, {
    schemaVersion: 'service.webhook_test.v1',
    eventType: 'dispute.opened',
    endpointId: id,
  })
  for (const reply of replies.filter((each) => each !== queued)) {
    assert.equal(errorOf(reply), '429 rate_limited')
    assert.match(String(reply.headers['retry-after']), /^(5\d|60)$/)
  }
  const elsewhere = posting(
    `${endpointsPath}/${second.id}/test`,
    { eventType: 'score.updated' },
    session,
  )
  assert.equal((await ask(service.base, elsewhere)).status, 202)
  await db.run(sql`
    update webhook_endpoints set tested_at = now() - interval '59 seconds' where id = ${id}`)
  const soon = await ask(other.base, question)
  assert.deepEqual([soon.status, soon.headers['retry-after']], [429, '1'])
  await db.run(sql`
    update webhook_endpoints set tested_at = tested_at - interval '1 second' where id = ${id}`)
  assert.equal((await ask(other.base, question)).status, 202)

  const deliverer = startDelivering(db)
  deliverer.moveTo(new Date(Date.now() + 1_000))
  await deliverer.deliver()
  const ids = received.map(({ headers }) => headers['service-webhook-id'])
  assert.ok(ids.includes(eventId))
  const listed = await ask(other.base, {
    path: `${endpointsPath}/${id.toUpperCase()}/deliveries`,
    headers: session.headers,
  })
  const { deliveries } = bodyOf(listed)
  assert.equal(deliveries.length, 2)
  const first = deliveries.find((one: { eventId: string }) => one.eventId === eventId)
  assert.partialDeepStrictEqual(first, {
    eventType: 'dispute.opened',
    attempt: 1,
    trigger: 'test',
    status: 'succeeded',
    responseStatus: 200,
    errorCode: null,
    errorCause: null,
    requestId: queued.headers['x-request-id'],
    nextAttemptAt: null,
  })
  assert.ok(Date.parse(queuedAt) <= Date.now())
})

test('deliveries are listed newest first, up to `limit`, 20 by default', async () => {
  const session = await newSession(db)
  const { url } = await receiver(ok)
  const { id } = await createEndpoint(db, url, { userId: session.accountId })
  const deliverer = startDelivering(db)
  for (let i = 0; i < 3; i++) {
    await happen(db, 'score.updated', { count: 35, at: deliverer.now() })
    await deliverer.deliver()
    deliverer.moveBy(1)
  }
  const list = async (query: string) => {
    const path = `${endpointsPath}/${id}/deliveries${query}`
    const { deliveries } = bodyOf(await ask(service.base, { path, headers: session.headers }))
    return deliveries as { requestedAt: string }[]
  }
  assert.equal((await list('')).length, 20)
  assert.equal((await list('?limit=1')).length, 1)
  const most = await list('?limit=100')
  assert.equal(most.length, 100)
  const times = most.map(({ requestedAt }) => requestedAt)
  assert.deepEqual(times, times.toSorted().reverse())
})

test('the pages of agent decisions contain each report of the account once and no other report', async () => {
  const session = await newSession(db)
  const key = await newKey(db, { accountId: session.accountId })
  const stranger = await newKey(db)
  const made: string[] = []
  for (let i = 0; i < 14; i++) {
    made.push(await reportedBy(key))
    if (i % 5 === 0) await reportedBy(stranger)
  }
  const pages = async (limit: number): Promise<string[][]> => {
    const found: string[][] = []
    let next: string | undefined = `${decisionsPath}?limit=${limit}`
    while (next !== undefined) {
      const reply = await ask((nodes[found.length % 2] as (typeof nodes)[number]).base, {
        path: next,
        headers: session.headers,
      })
      const { reports } = bodyOf(reply)
      found.push(reports.map(({ id }: { id: string }) => id))
      const link = /^<https:\/\/scores\.example\.org(\S+)>; rel="next"$/
      next = link.exec(String(reply.headers.link ?? ''))?.[1]
    }
    return found
  }
  const newestFirst = made.toReversed()
  for (const limit of [1, 5, 7, 13, 14, 100]) {
    const found = await pages(limit)
    assert.deepEqual(found.flat(), newestFirst, `limit ${limit}`)
    assert.equal(found.length, Math.ceil(14 / limit), 'the last page leads nowhere')
  }
})

test('unlock review: an account has at most one open request; after a decline it can request again', async () => {
  const session = await newSession(db)
  const userId = session.accountId
  const colleague = await newSession(db, { accountId: userId, role: 'member' })
  const path = `${decisionsPath}/unlock-review`
  const request = (by: TestSession, body: object = {}) => ask(service.base, posting(path, body, by))
  assert.equal(errorOf(await request(session)), '409 agent_reporting_unlocked')
  await lock(db, userId)
  const note = 'We fixed the loop.\u001b[2J'
  const replies = await Promise.all([request(session, { note }), request(session, { note })])
  assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200, 202]))
  const again = await request(colleague, { note: 'another' })
  assert.equal(again.status, 200)
  for (const reply of replies) assert.deepEqual(bodyOf(reply), bodyOf(again))
  const open = (await findOpenReviews(db, { after: null, limit: 1_000 })).filter(
    (review) => review.userId === userId,
  )
  assert.deepEqual(
    open.map((review) => review.note),
    [note],
  )
  await db.transaction((tx) => declineUnlockReview(tx, userId, new Date()))
  assert.equal((await request(colleague)).status, 202)
})
