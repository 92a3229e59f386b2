/** Pure: a call of an operation in three languages, made from its example in the contract. */

export interface ExampleCall {
  operationId: string
  /** Such as `GET`. */
  method: string
  publicUrl: string
  /** With the values of its parameters. */
  path: string
  query: Readonly<Record<string, string>>
  pathValues: readonly string[]
  auth: 'none' | 'key' | 'session'
  needsIdempotencyKey: boolean
  body: { type: string; value: unknown } | null
}

export const languages = ['curl', 'typescript', 'python'] as const
export type Language = (typeof languages)[number]

export function exampleIn(language: Language, call: ExampleCall): string {
  if (language === 'curl') return curlOf(call)
  return language === 'typescript' ? typescriptOf(call) : pythonOf(call)
}

function urlOf({ publicUrl, path, query }: ExampleCall): string {
  const search = new URLSearchParams(query).toString()
  return `${publicUrl}${path}${search === '' ? '' : `?${search}`}`
}

/** A body of more characters is a file in the example. */
const bodyLengthMax = 600

function isLong({ body }: ExampleCall): boolean {
  return JSON.stringify(body?.value ?? null).length > bodyLengthMax
}

function curlOf(call: ExampleCall): string {
  const { method, auth, body, publicUrl, needsIdempotencyKey } = call
  const lines = [`curl -sS "${urlOf(call)}"`]
  if (method === 'DELETE' || (method === 'POST' && body === null)) lines.push(`-X ${method}`)
  if (auth === 'key') lines.push('-H "Authorization: Bearer $API_KEY"')
  if (auth === 'session') {
    lines.push('-b cookies')
    if (method !== 'GET') lines.push(`-H "Origin: ${new URL(publicUrl).origin}"`)
  }
  if (needsIdempotencyKey) lines.push('-H "Idempotency-Key: $(uuidgen)"')
  if (body !== null) {
    lines.push(`-H "Content-Type: ${body.type}"`)
    lines.push(
      isLong(call) ? '--data-binary @credential.json' : `-d '${JSON.stringify(body.value)}'`,
    )
  }
  return lines.join(' \\\n  ')
}

/** The operations that the client has methods for. Their arguments follow from the call. */
export const clientMethods: Readonly<Record<string, string>> = {
  searchCandidates: 'candidates.search',
  getCandidate: 'candidates.get',
  getCandidateCredential: 'candidates.credential',
  getScore: 'scores.get',
  getScoreCredential: 'scores.credential',
  verifyScoreCredential: 'verify',
  listSkills: 'skills.list',
  getSkill: 'skills.get',
  getSkillNotes: 'skills.notes',
  getDidDocument: 'issuer.didDocument',
  listWebhookEvents: 'webhooks.events',
  createWebhookEndpoint: 'webhooks.endpoints.create',
  listWebhookEndpoints: 'webhooks.endpoints.list',
  disableWebhookEndpoint: 'webhooks.endpoints.disable',
  reportAgentDecision: 'agentDecisions.report',
}

function typescriptOf(call: ExampleCall): string {
  const method = clientMethods[call.operationId]
  return method === undefined ? fetchOf(call) : clientCallOf(call, method)
}

function clientCallOf(call: ExampleCall, method: string): string {
  const { auth, publicUrl, body, query, pathValues } = call
  const key = auth === 'key' ? `, apiKey: '${keySample}'` : ''
  const read = isLong(call) ? "const credential = '{ … }' // The text of credential.json.\n" : ''
  const sent = isLong(call) ? 'credential' : literal(body?.value)
  const parameters = [
    ...pathValues.map((value) => literal(value)),
    ...(body === null ? [] : [sent]),
    ...(Object.keys(query).length === 0 ? [] : [literal(query)]),
  ]
  return `import { Client } from '@assay/client'

${read}const client = new Client({ baseUrl: '${publicUrl}'${key} })
const answer = await client.${method}(${parameters.join(', ')})`
}

const keySample = 'svc_live_…'
/** Its name alone: this module opens no connection. */
const requestFunction = 'fetch'

function fetchOf(call: ExampleCall): string {
  const { method, auth, body, needsIdempotencyKey, publicUrl } = call
  const headers = [
    ...(auth === 'key' ? [`Authorization: 'Bearer ${keySample}'`] : []),
    ...(auth === 'session' ? ["Cookie: 'session=…'"] : []),
    ...(auth === 'session' && method !== 'GET' ? [`Origin: '${new URL(publicUrl).origin}'`] : []),
    ...(needsIdempotencyKey ? ["'Idempotency-Key': crypto.randomUUID()"] : []),
    ...(body === null ? [] : [`'Content-Type': '${body.type}'`]),
  ]
  const options = [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(headers.length === 0
      ? []
      : ['  headers: {', ...headers.map((one) => `    ${one},`), '  },']),
    ...(body === null ? [] : [`  body: JSON.stringify(${literal(body.value)}),`]),
  ]
  const given = options.length === 0 ? '' : `, {\n${options.join('\n')}\n}`
  return `const answer = await ${requestFunction}('${urlOf(call)}'${given})
const text = await answer.text()`
}

/** Returns a value as JavaScript, on lines of their own beyond 60 characters. */
function literal(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined'
  const shown = text.length > 60 ? JSON.stringify(value, null, 2) : text
  return shown.replaceAll(/"([A-Za-z_]\w*)":/g, '$1: ').replaceAll(/: {2,}/g, ': ')
}

function pythonOf(call: ExampleCall): string {
  const { method, auth, body, needsIdempotencyKey, publicUrl, path, query } = call
  const isFile = isLong(call)
  const headers = [
    ...(auth === 'key' ? ['"Authorization": f"Bearer {os.environ[\'API_KEY\']}"'] : []),
    ...(auth === 'session' && method !== 'GET' ? [`"Origin": "${new URL(publicUrl).origin}"`] : []),
    ...(needsIdempotencyKey ? ['"Idempotency-Key": str(uuid.uuid4())'] : []),
    ...(isFile && body !== null ? [`"Content-Type": "${body.type}"`] : []),
  ]
  const modules = [
    ...(auth === 'none' ? [] : ['os']),
    ...(needsIdempotencyKey ? ['uuid'] : []),
    'requests',
  ]
  const lines = [
    `"${publicUrl}${path}",`,
    ...(Object.keys(query).length === 0 ? [] : [`params=${JSON.stringify(query)},`]),
    ...(headers.length === 0 ? [] : [`headers={${headers.join(', ')}},`]),
    ...(auth === 'session' ? ['cookies={"session": os.environ["SESSION"]},'] : []),
    ...(isFile ? ['data=open("credential.json", "rb"),'] : []),
    ...(body === null || isFile ? [] : [`json=${pythonValue(body.value)},`]),
    'timeout=10,',
  ]
  return `${modules.map((name) => `import ${name}`).join('\n')}

answer = requests.${method.toLowerCase()}(
${lines.map((line) => `    ${line}`).join('\n')}
)
print(answer.status_code, answer.text)`
}

function pythonValue(value: unknown): string {
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(', ')}]`
  if (typeof value !== 'object') return JSON.stringify(value)
  const members = Object.entries(value).map(
    ([name, one]) => `${JSON.stringify(name)}: ${pythonValue(one)}`,
  )
  return `{${members.join(', ')}}`
}
