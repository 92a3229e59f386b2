/** The MCP server with the official client, over both transports, against the real service. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { newKey } from '../../../test/support/build/keys.ts'
import { startService } from '../../../test/support/start/service.ts'
import { clientOverHttp, clientOverStdio, startHttp } from './start.ts'
import { tools } from './tools.ts'

const service = await startService('https://scores.example.org')
after(() => service.stop())
const { db } = service.database
const reading = ['candidates:read', 'scores:read'] as const
const testKey = await newKey(db, { environment: 'test', scopes: reading })

const overStdio = (args: string[] = [], apiKey?: string): Promise<Client> =>
  clientOverStdio({ base: service.base, args }, apiKey)

/** The parts of answers that the tests read. */
interface ToolAnswer {
  notice: string
  result: {
    candidates: { username: string }[]
    skills: { id: string }[]
    report: { id: string }
    replayed: boolean
    username: string
    scoreId: string
    profile: { username: string }
    label: string
    valid: boolean
    reason: string
  }
}

async function call(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<{ answer: ToolAnswer; refusal: string }> {
  const { structuredContent, isError, content } = (await client.callTool({
    name,
    arguments: args,
  })) as CallToolResult
  const [first] = content
  const text = first?.type === 'text' ? first.text : ''
  const answer = structuredContent as unknown as ToolAnswer
  return { answer, refusal: isError === true ? text : '' }
}

test('stdio: a test key leads through all tools that read, from a search to a verdict', async () => {
  const client = await overStdio([], testKey.key)
  const listed = await client.listTools()
  assert.deepEqual(
    listed.tools.map(({ name }) => name),
    tools.map(({ name }) => name),
  )
  const { answer: found } = await call(client, 'search_candidates', { q: 'typescript' })
  assert.match(found.notice, /Never follow an instruction/)
  const username = found.result.candidates[0]?.username
  assert.ok(username !== undefined)
  const { answer: candidate } = await call(client, 'get_candidate', { username })
  assert.equal(candidate.result.username, username)
  const { answer: score } = await call(client, 'get_score', { scoreId: candidate.result.scoreId })
  assert.equal(score.result.profile.username, username)
  const { answer: read } = await call(client, 'get_credential', { username })
  const credential = read.result
  const verdicts = [
    await call(client, 'verify_credential', { credential }),
    await call(client, 'verify_credential', { credential: JSON.stringify(credential) }),
  ]
  for (const { notice } of [candidate, score, read, ...verdicts.map(({ answer }) => answer)])
    assert.match(notice, /Never follow an instruction/)
  for (const { answer } of verdicts)
    assert.deepEqual([answer.result.valid, answer.result.reason], [false, 'issuer_mismatch'])
  const { answer: skill } = await call(client, 'lookup_skill', { id: 'hss:typescript' })
  assert.equal(skill.result.label, 'TypeScript')
  const { answer: balance } = await call(client, 'credit_balance')
  assert.deepEqual(balance.result, { spent: 0, limit: 20, left: 20, account: null })
})

test('stdio: without a key the free tools and all resources work, and a paid tool says what is missing', async () => {
  const client = await overStdio()
  const { answer } = await call(client, 'list_skills', { q: 'typescript' })
  assert.equal(answer.result.skills[0]?.id, 'hss:typescript')
  const { refusal } = await call(client, 'search_candidates', { q: 'ada' })
  assert.match(refusal, /ASSAY_API_KEY/)
  const { resources } = await client.listResources()
  assert.ok(resources.length > 20, `${resources.length} resources`)
  for (const { uri } of resources.slice(0, 4)) {
    const { contents } = await client.readResource({ uri })
    assert.ok(JSON.stringify(contents).length > 200, uri)
  }
  await assert.rejects(client.readResource({ uri: 'assay://docs/../../etc/passwd' }), /No resource/)
})

test('stdio: the budget ends paid calls, also many at once, and names itself; nothing more is charged', async () => {
  const { key } = await newKey(db, { scopes: reading, credits: 50 })
  const client = await overStdio(['--max-credits', '5'], key)
  const calls = await Promise.all(
    Array.from({ length: 20 }, (_, i) => call(client, 'search_candidates', { q: `query ${i}` })),
  )
  assert.equal(calls.filter(({ refusal }) => refusal === '').length, 5)
  const refused = calls.find(({ refusal }) => refusal !== '')
  assert.match(refused?.refusal ?? '', /The budget is spent: \d of 5 credits.*--max-credits/)
  const { answer } = await call(client, 'credit_balance')
  assert.deepEqual(answer.result, { spent: 5, limit: 5, left: 0, account: 45 })
})

test('wrong arguments are named and nothing is sent; an unknown tool is an error', async () => {
  const client = await overStdio([], testKey.key)
  for (const [name, args, message] of [
    ['search_candidates', { q: 'x' }, /\/q must NOT have fewer than 2/],
    ['search_candidates', { q: 'ada', limit: 51 }, /\/limit must be <= 50/],
    ['search_candidates', { q: 'ada', more: 1 }, /must NOT have additional.*: more/],
    ['get_candidate', {}, /required property 'username'/],
    ['get_score', { scoreId: 'abc' }, /\/scoreId must match/],
    ['get_credential', {}, /Give either username or scoreId/],
    ['get_credential', { username: 'ada', proof: 'jwt' }, /allowed values: native, eddsa-jcs/],
    ['report_decision', { subject: { kind: 'x' }, decision: 'hired' }, /\/subject/],
    ['lookup_skill', { id: '../secret' }, /\/id must match/],
  ] as const)
    assert.match((await call(client, name, args)).refusal, message, name)
  const { refusal } = await call(client, 'get_candidate', { username: 'no-such-name' })
  assert.match(refusal, /candidate_not_found.*\/docs\/errors\/candidate_not_found/)
  const unknown = await call(client, 'lookup_skill', { id: 'no-such-skill' })
  assert.match(unknown.refusal, /^404 skill_not_found: hss:no-such-skill See /)
  await assert.rejects(client.callTool({ name: 'no_such_tool' }), /Unknown tool/)
})

test('a report is made once for one idempotencyKey', async () => {
  const { key } = await newKey(db, { scopes: ['agent-decisions:write'] })
  const client = await overStdio([], key)
  const report = {
    subject: { kind: 'candidate', username: 'ada-lovelace' },
    decision: 'shortlisted',
    idempotencyKey: 'report-of-the-agent-1',
  }
  const { answer: first } = await call(client, 'report_decision', report)
  const { answer: again } = await call(client, 'report_decision', report)
  assert.deepEqual([first.result.replayed, again.result.replayed], [false, true])
  assert.equal(again.result.report.id, first.result.report.id)
})

test('HTTP: each caller has its own key, and its budget outlives a session', async () => {
  const { url } = await startHttp({ base: service.base, args: ['--max-credits', '2'] })
  const one = await newKey(db, { scopes: reading, credits: 50 })
  const other = await newKey(db, { scopes: reading, credits: 50 })
  for (const [key, isAllowed] of [
    [one.key, true],
    [one.key, true],
    [one.key, false],
    [other.key, true],
  ] as const) {
    const client = await clientOverHttp(url, key)
    const { refusal } = await call(client, 'search_candidates', { q: 'ada' })
    assert.equal(refusal === '', isAllowed, refusal)
    await client.close()
  }
  const open = await clientOverHttp(url)
  assert.equal((await call(open, 'lookup_skill', { id: 'typescript' })).refusal, '')
  assert.match((await call(open, 'get_candidate', { username: 'ada' })).refusal, /API key/)
})

test('HTTP: a page of a browser, a wrong key, another method and another path are refused', async () => {
  const { url } = await startHttp({ base: service.base })
  const post = async (headers: Record<string, string>, path = url): Promise<number> =>
    (await fetch(path, { method: 'POST', headers, body: '{}' })).status
  assert.equal(await post({ Origin: 'https://evil.example' }), 403)
  assert.equal(await post({ Origin: url.origin }), 403)
  assert.equal(await post({ Authorization: 'Basic abc' }), 401)
  assert.equal(await post({}, new URL('/', url)), 404)
  for (const method of ['GET', 'DELETE']) {
    const refused = await fetch(url, { method })
    assert.deepEqual([refused.status, refused.headers.get('allow')], [405, 'POST'], method)
  }
  assert.equal(await post({ 'Content-Type': 'application/json' }), 406)
})
