/** Programs that know one document of the service, and find everything else by it. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { giveScore, indexed } from '../support/build/candidates.ts'
import { score } from '../support/build/credentials.ts'
import { newKey } from '../support/build/keys.ts'
import { publicLine, register } from '../support/build/workers.ts'
import { startIssuing, startService } from '../support/start/service.ts'

const publicUrl = 'https://scores.example.org'
const service = await startService(publicUrl)
after(() => service.stop())
const { db } = service.database
const issuer = await startIssuing(service)
await register(indexed(db), [publicLine({ skills: [{ name: 'TypeScript', verified: true }] })])
await giveScore(db, 'ada', 'ab'.repeat(32), await issuer.issue(score({ username: 'ada' })))
await issuer.publish()

/** Fetches an address of the deployment, which listens elsewhere in this test. */
function reach(address: string, init: RequestInit = {}): Promise<Response> {
  const url = new URL(address, publicUrl)
  assert.equal(url.origin, publicUrl, 'a program does not leave the service')
  return fetch(`${service.base}${url.pathname}${url.search}`, init)
}

interface OpenApi {
  paths: Record<string, Record<string, Operation>>
  components: { parameters: Record<string, Parameter> }
}
interface Operation {
  operationId: string
  security: Record<string, unknown>[]
  parameters: (Parameter | { $ref: string })[]
  requestBody?: { content: Record<string, object> }
}
interface Parameter {
  name: string
  in: string
  required: boolean
}

interface Input {
  values?: Record<string, string>
  body?: unknown
  key?: string
}

interface Result<Body> {
  status: number
  headers: Headers
  body: Body
}

/**
 * Returns a function that calls an operation by its id, as a generated client does: path,
 * parameters, authentication and media type come from the document, and each answer must fit it.
 */
async function clientOf(documentUrl: string) {
  const document = (await (await reach(documentUrl)).json()) as OpenApi
  const ajv = formats.default(new Ajv2020({ strict: false }))
  ajv.addSchema(document, 'contract')
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  return async <Body>(id: string, input: Input = {}): Promise<Result<Body>> => {
    const found = operations.find(({ operation }) => operation.operationId === id)
    assert.ok(found !== undefined, `the document has no operation ${id}`)
    const { path, method, operation } = found
    const { address, headers } = requestOf(document, { path, operation }, input)
    const body = input.body === undefined ? {} : { body: JSON.stringify(input.body) }
    const response = await reach(address, { method: method.toUpperCase(), headers, ...body })
    const answer: unknown = await response.json()
    const type = response.headers.get('content-type')?.split(';')[0] ?? ''
    const steps = ['paths', path, method, 'responses', String(response.status), 'content', type]
    const pointer = steps.map((step) => step.replaceAll('~', '~0').replaceAll('/', '~1')).join('/')
    const fits = ajv.compile({ $ref: `contract#/${encodeURI(pointer)}/schema` })
    assert.ok(fits(answer), `${id} ${response.status}: ${ajv.errorsText(fits.errors)}`)
    return { status: response.status, headers: response.headers, body: answer as Body }
  }
}

function requestOf(
  { components }: OpenApi,
  { path, operation }: { path: string; operation: Operation },
  { values = {}, key }: Input,
): { address: string; headers: Headers } {
  const headers = new Headers()
  const query = new URLSearchParams()
  let filled = path
  for (const one of operation.parameters) {
    const parameter = '$ref' in one ? components.parameters[one.$ref.split('/').at(-1) ?? ''] : one
    assert.ok(parameter !== undefined)
    const value = values[parameter.name]
    if (value === undefined) assert.ok(!parameter.required, `${parameter.name} is required`)
    else if (parameter.in === 'path')
      filled = filled.replace(`{${parameter.name}}`, encodeURIComponent(value))
    else if (parameter.in === 'query') query.set(parameter.name, value)
    else headers.set(parameter.name, value)
  }
  const takesKey = operation.security.some((scheme) => 'apiKey' in scheme)
  if (takesKey && key !== undefined) headers.set('Authorization', `Bearer ${key}`)
  const [mediaType] = Object.keys(operation.requestBody?.content ?? {})
  if (mediaType !== undefined) headers.set('Content-Type', mediaType)
  return { address: `${filled}?${query.toString()}`, headers }
}

interface Found {
  candidates: { username: string }[]
}
interface Credential {
  credentialStatus: { id: string }
}
interface Verdict {
  valid: boolean
  signatureValid: boolean
  reason?: string
  credential?: { score: number }
}

test('a program that knows the OpenAPI document gets from a search to a verified credential with one key', async () => {
  const { key } = await newKey(db, { credits: 10, scopes: ['candidates:read', 'scores:read'] })
  const call = await clientOf('/api/v1/openapi.json')
  const { body: found } = await call<Found>('searchCandidates', {
    values: { q: 'typescript' },
    key,
  })
  const username = found.candidates[0]?.username ?? ''
  const { headers } = await call('getCandidate', { values: { username }, key })
  const link = headers.get('link') ?? ''
  const [, scoreId = ''] = /\/scores\/([0-9a-f]{64})>; rel="related"/.exec(link) ?? []
  await call('getScore', { values: { scoreId }, key })
  const [, path = ''] = /<([^>]+)>; rel="describedby"/.exec(link) ?? []
  assert.equal(path, `/api/v1/scores/${scoreId}/credential`)
  const { body } = await call<Credential>('getCandidateCredential', { values: { username }, key })
  const { body: verdict } = await call<Verdict>('verifyScoreCredential', { body })
  assert.deepEqual([verdict.valid, verdict.reason], [true, undefined])
  assert.equal(typeof verdict.credential?.score, 'number')
})

test('an agent that knows /llms.txt reaches a credential of the sandbox that it has checked, and reports a decision once', async () => {
  const { key } = await newKey(db, { environment: 'test' })
  const reporter = await newKey(db, { scopes: ['agent-decisions:write'] })
  const index = await (await reach('/llms.txt')).text()
  const [, agentPage = ''] = /\[the page for agents\]\(([^)]+)\)/.exec(index) ?? []
  const [, documentUrl = ''] = /contract: (\S+\.json)/.exec(index) ?? []
  const prompt = /```text prompt\n([^]*?)```/.exec(await (await reach(agentPage)).text())?.[1] ?? ''
  const call = await clientOf(documentUrl)

  // The steps of the prompt, in its order.
  const [, q = ''] = /Search the candidates with q=(\w+)/.exec(prompt) ?? []
  const { body: found } = await call<Found>('searchCandidates', { values: { q }, key })
  const username = found.candidates[0]?.username ?? ''
  const { headers } = await call('getCandidate', { values: { username }, key })
  const [, scoreId = ''] = /\/scores\/([0-9a-f]+)>/.exec(headers.get('link') ?? '') ?? []
  await call('getScore', { values: { scoreId }, key })
  const { body } = await call<Credential>('getCandidateCredential', { values: { username }, key })
  const status = (await (await reach(body.credentialStatus.id)).json()) as { status: string }
  assert.equal(status.status, 'active')
  const { body: verdict } = await call<Verdict>('verifyScoreCredential', { body })
  const expected = /200 with "valid": (\w+) and "reason": "(\w+)"/.exec(prompt)
  assert.deepEqual([String(verdict.valid), verdict.reason], expected?.slice(1))

  const report = {
    values: { 'Idempotency-Key': 'report-of-agent-0001' },
    body: { subject: { kind: 'candidate', username }, decision: 'shortlisted' },
    key: reporter.key,
  }
  const first = await call<{ report: { id: string } }>('reportAgentDecision', report)
  const again = await call<{ report: { id: string } }>('reportAgentDecision', report)
  assert.deepEqual([first.status, again.status], [201, 200])
  assert.equal(again.body.report.id, first.body.report.id)
})
