/** Pure: the reference of the API, rendered from the OpenAPI document. */
import { html, type Part } from '../html.ts'
import type { PublicView } from '../public-page.ts'
import { codeBlock } from './code.ts'
import { type DocsFrame, docsView } from './frame.ts'

/** A part of the OpenAPI document. Our own generator writes it, so a missing member is a fault. */
interface Schema {
  $ref?: string
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  format?: string
  description?: string
  required?: string[]
  properties?: Record<string, Schema>
  items?: Schema
  oneOf?: Schema[]
  minimum?: number
  maximum?: number
  maxLength?: number
  default?: unknown
}

interface Media {
  schema?: Schema
  example?: unknown
  examples?: Record<string, { $ref?: string; value?: unknown }>
}

interface Parameter {
  $ref?: string
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  schema: Schema
  description?: string
}

interface Response {
  $ref?: string
  description: string
  content?: Record<string, Media>
}

interface OperationObject {
  operationId: string
  tags: string[]
  summary: string
  description?: string
  security?: Record<string, unknown>[]
  parameters?: Parameter[]
  requestBody?: { content: Record<string, Media> }
  responses: Record<string, Response>
  'x-rate-limits'?: Record<string, { perMinute: number; perDay?: number }>
  'x-api-key'?: { scope: string; meter?: string; credits?: number }
  'x-extension'?: boolean
}

export interface OpenApi {
  tags: { name: string }[]
  paths: Record<string, Record<string, OperationObject>>
  components: Record<string, Record<string, unknown>>
}

export interface Listed {
  /** Such as `GET`. */
  method: string
  path: string
  operation: OperationObject
}

export const apiPath = '/docs/api'

/** The operations of the document in the order of its areas. */
export function operationsIn({ paths, tags }: OpenApi): Listed[] {
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation,
    })),
  )
  return tags.flatMap(({ name }) => all.filter(({ operation }) => operation.tags[0] === name))
}

/** Returns the list of all operations. */
export function apiIndexView(frame: DocsFrame, document: OpenApi): PublicView {
  const operations = operationsIn(document)
  const areas = document.tags.map(({ name }) => ({
    name,
    id: name.replaceAll(' ', '-'),
    members: operations.filter(({ operation }) => operation.tags[0] === name),
  }))
  const view = docsView(frame, {
    path: apiPath,
    title: 'API reference',
    description: 'Every operation of the API, with a request and a response.',
    trail: [{ path: '/docs', title: 'Docs' }],
    lead: html`<p>Every operation of the API, with a request and a response.</p>`,
    sections: areas.map(({ name, id }) => ({ id, title: sentence(name) })),
    main: html`<p>Paths are relative to <code>${frame.site.publicUrl}</code>. The same contract as an OpenAPI 3.1 document: <a href="/api/v1/openapi.json">openapi.json</a>.</p>
${areas.map(
  ({ name, id, members }) => html`<h2 id="${id}">${sentence(name)}</h2>
${table(
  `Operations of ${name}`,
  ['Operation', 'Request'],
  members.map(({ method, path, operation }) => [
    html`<a href="${operationPath(operation)}">${operation.summary}</a>`,
    html`<code>${method} ${path}</code>`,
  ]),
)}`,
)}`,
  })
  return { ...view, alternates: [{ path: '/api/v1/openapi.json', type: 'application/json' }] }
}

function operationPath({ operationId }: OperationObject): string {
  return `${apiPath}/${operationId}`
}

/** Returns the page of one operation. */
export function operationView(
  frame: DocsFrame,
  document: OpenApi,
  { method, path, operation }: Listed,
): PublicView {
  const all = operationsIn(document)
  const at = all.findIndex((one) => one.operation === operation)
  const neighbour = (listed: Listed | undefined) =>
    listed && { path: operationPath(listed.operation), title: listed.operation.summary }
  const parameters = (operation.parameters ?? []).map((one) => resolved<Parameter>(document, one))
  const body = Object.entries(operation.requestBody?.content ?? {})[0]
  const responses = Object.entries(operation.responses).map(([status, one]) => ({
    status,
    ...resolved<Response>(document, one),
  }))
  const answered = responses.filter(({ status }) => status.startsWith('2'))
  const failed = responses.filter(({ status }) => !status.startsWith('2'))
  return docsView(frame, {
    path: operationPath(operation),
    title: operation.summary,
    description: operation.description ?? operation.summary,
    trail: [
      { path: '/docs', title: 'Docs' },
      { path: apiPath, title: 'API reference' },
    ],
    lead: html`<p><code>${method} ${path}</code></p>`,
    sections: [
      { id: 'request', title: 'Request' },
      { id: 'response', title: 'Response' },
      { id: 'errors', title: 'Errors' },
    ],
    previous: neighbour(all[at - 1]),
    next: neighbour(all[at + 1]),
    main: html`${operation.description !== undefined && html`<p>${operation.description}</p>`}
${access(operation)}
<h2 id="request">Request</h2>
${codeBlock({ id: 'request-code', name: 'curl', label: 'Request', language: 'sh', code: curlOf(frame.site.publicUrl, { method, path, operation }, { parameters, body }) })}
${
  parameters.length > 0 &&
  html`<h3 id="parameters">Parameters</h3>${table(
    'Parameters',
    ['Name', 'Type', 'Meaning'],
    parameters.map((one) => [
      html`<code>${one.name}</code><br><span class="small muted">${one.in}${one.required === true && ', required'}</span>`,
      typeOf(document, one.schema),
      one.description ?? '',
    ]),
  )}`
}
${body !== undefined && html`<h3 id="body">Body</h3>${fields(document, 'Body', body[1].schema)}`}
<h2 id="response">Response</h2>
${answered.map((response, i) => answer(document, response, i))}
<h2 id="errors">Errors</h2>
${table(
  'Errors',
  ['Status', 'Meaning', 'Names'],
  failed.map(({ status, description, content }) => [
    status === 'default' ? 'any' : html`<code>${status}</code>`,
    description,
    errorNames(content).map((name, i) => [
      i > 0 && ', ',
      html`<a href="${`/docs/errors/${name}`}"><code>${name}</code></a>`,
    ]),
  ]),
)}`,
  })
}

function access(operation: OperationObject): Part {
  const schemes = (operation.security ?? []).flatMap((one) => Object.keys(one))
  const key = operation['x-api-key']
  const limits = operation['x-rate-limits'] ?? {}
  const rows: [Part, Part][] = [['Authentication', authentication(schemes, operation)]]
  if (key !== undefined) rows.push(['Scope of the key', html`<code>${key.scope}</code>`])
  if (key?.meter !== undefined)
    rows.push([
      'Meter',
      html`<code>${key.meter}</code>, ${key.credits === 1 ? '1 credit' : `${key.credits} credits`} a call, see <a href="/docs/credits">Pay with credits</a>`,
    ])
  for (const [caller, { perMinute, perDay }] of Object.entries(limits))
    rows.push([
      `Limit (${callers[caller] ?? caller})`,
      `${perMinute.toLocaleString('en-US')} a minute${perDay === undefined ? '' : `, ${perDay.toLocaleString('en-US')} a day`}`,
    ])
  return html`<dl class="facts">${rows.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}

const callers: Readonly<Record<string, string>> = {
  anonymous: 'each address',
  apiKey: 'each API key',
  session: 'each session',
}

function authentication(schemes: readonly string[], { security }: OperationObject): Part {
  if (schemes.includes('session'))
    return html`<a href="/docs/sign-in">Session of a signed-in user</a>`
  if (schemes.includes('payment'))
    return html`<a href="/docs/api-keys">API key</a> or <a href="/docs/pay-with-x402">x402 payment</a>`
  if (schemes.includes('apiKey'))
    return security?.some((one) => Object.keys(one).length === 0)
      ? html`None, or an <a href="/docs/api-keys">API key</a>`
      : html`<a href="/docs/api-keys">API key</a>`
  return 'None'
}

function answer(
  document: OpenApi,
  { status, description, content = {} }: Response & { status: string },
  i: number,
): Part {
  const [type, media] = Object.entries(content)[0] ?? []
  const example = media && exampleOf(document, media)
  const code = typeof example === 'string' ? example : JSON.stringify(example, null, 2)
  const isJson = type?.includes('json') ?? false
  return html`<p><code>${status}</code> ${description}</p>
${code !== undefined && codeBlock({ id: `response-${status}`, name: `${status} · ${type}`, label: `Response ${status}`, code: shortened(code), language: isJson ? 'json' : 'sh' })}
${media?.schema !== undefined && i === 0 && isJson && html`<details><summary>Fields of the response</summary>${fields(document, 'Fields of the response', media.schema)}</details>`}`
}

const exampleLinesMax = 60

/** The catalog of skills and the OpenAPI document are links, not examples to read. */
function shortened(code: string): string {
  const lines = code.split('\n')
  return lines.length > exampleLinesMax
    ? [...lines.slice(0, exampleLinesMax), '…'].join('\n')
    : code
}

function exampleOf(document: OpenApi, { example, examples = {} }: Media): unknown {
  if (example !== undefined) return example
  const [first] = Object.values(examples)
  return first && resolved<{ value?: unknown }>(document, first).value
}

function errorNames(content: Record<string, Media> = {}): string[] {
  return Object.values(content).flatMap(({ examples = {} }) =>
    Object.keys(examples).filter((name) => /^[a-z0-9_]+$/.test(name)),
  )
}

interface Row {
  name: string
  schema: Schema
  isRequired: boolean
}

const depthMax = 3

function rowsOf(document: OpenApi, schema: Schema, prefix: string, depth: number): Row[] {
  const { properties = {}, required = [], items } = resolved<Schema>(document, schema)
  if (items !== undefined && depth < depthMax)
    return rowsOf(document, items, `${prefix.replace(/\.$/, '')}[].`, depth + 1)
  return Object.entries(properties).flatMap(([name, inner]) => {
    const member = resolved<Schema>(document, inner)
    const row = { name: `${prefix}${name}`, schema: member, isRequired: required.includes(name) }
    return depth < depthMax
      ? [row, ...rowsOf(document, member, `${prefix}${name}.`, depth + 1)]
      : [row]
  })
}

function fields(document: OpenApi, label: string, schema: Schema | undefined): Part {
  const rows = schema === undefined ? [] : rowsOf(document, schema, '', 0)
  if (rows.length === 0) return html`<p>The members are not fixed.</p>`
  return table(
    label,
    ['Field', 'Type', 'Meaning'],
    rows.map(({ name, schema: member, isRequired }) => [
      html`<code>${name}</code>${!isRequired && html`<br><span class="small muted">optional</span>`}`,
      typeOf(document, member),
      member.description ?? '',
    ]),
  )
}

function typeOf(document: OpenApi, given: Schema): string {
  const schema = resolved<Schema>(document, given)
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.map((one) => String(one)).join(', ')
  if (schema.oneOf !== undefined)
    return [...new Set(schema.oneOf.map((one) => typeOf(document, one)))].join(' or ')
  const types = [schema.type ?? 'any'].flat()
  if (schema.items !== undefined) {
    const list = `list of ${typeOf(document, schema.items)}`
    return types.includes('null') ? `${list} or null` : list
  }
  const type = types.join(' or ')
  return schema.format === undefined ? type : `${type} (${schema.format})`
}

function table(label: string, heads: readonly string[], rows: readonly Part[][]): Part {
  return html`<div class="card"><div class="table-box" tabindex="0" role="region" aria-label="${label}"><table class="table stacks" role="table"><thead role="rowgroup"><tr role="row">${heads.map((head) => html`<th scope="col" role="columnheader">${head}</th>`)}</tr></thead><tbody role="rowgroup">${rows.map(
    ([first, ...others]) =>
      html`<tr role="row"><th scope="row" role="rowheader">${first}</th>${others.map((cell) => html`<td role="cell">${cell}</td>`)}</tr>`,
  )}</tbody></table></div></div>`
}

interface RequestParts {
  parameters: readonly Parameter[]
  body: [type: string, media: Media] | undefined
}

/** Values of path parameters in examples. An id without a value here is a UUID. */
const exampleValues: Readonly<Record<string, string>> = {
  username: 'ada-lovelace',
  id: 'typescript',
  name: 'rate_limited',
  listId: '2026-0001',
}

const exampleUuid = '019e2cbb-7a00-7c1e-9f27-8b5a1c2d3e4f'

function curlOf(
  publicUrl: string,
  { method, path, operation }: Listed,
  { parameters, body }: RequestParts,
): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const schema = parameters.find((one) => one.name === name)?.schema
    return exampleValues[name] ?? (schema?.format === 'uuid' ? exampleUuid : `$${name}`)
  })
  const query = parameters.filter((one) => one.in === 'query' && one.required === true)
  const search = query.map(({ name }) => `${name}=typescript`).join('&')
  const schemes = new Set((operation.security ?? []).flatMap((one) => Object.keys(one)))
  const isOptional = operation.security?.some((one) => Object.keys(one).length === 0) ?? true
  const lines = [`curl -sS "${publicUrl}${filled}${search === '' ? '' : `?${search}`}"`]
  if (method === 'DELETE' || (method === 'POST' && body === undefined)) lines.push(`-X ${method}`)
  if (schemes.has('apiKey') && !isOptional) lines.push('-H "Authorization: Bearer $API_KEY"')
  if (schemes.has('session')) {
    lines.push('-b cookies')
    if (method !== 'GET') lines.push(`-H "Origin: ${new URL(publicUrl).origin}"`)
  }
  if (parameters.some(({ name, required }) => name === 'Idempotency-Key' && required === true))
    lines.push('-H "Idempotency-Key: $(uuidgen)"')
  if (body !== undefined) {
    const [type, media] = body
    const [first] = Object.values(media.examples ?? {})
    const value = JSON.stringify(media.example ?? first?.value ?? {})
    lines.push(`-H "Content-Type: ${type}"`)
    lines.push(value.length > 600 ? '--data-binary @credential.json' : `-d '${value}'`)
  }
  return lines.join(' \\\n  ')
}

/** Follows the reference of a part, if it is one. */
function resolved<Wanted>(document: OpenApi, part: { $ref?: string } | Wanted): Wanted {
  const { $ref } = part as { $ref?: string }
  if ($ref === undefined) return part as Wanted
  const [, , group = '', name = ''] = $ref.split('/')
  const found = document.components[group]?.[name]
  if (found === undefined) throw new Error(`the contract refers to ${$ref}, which is not in it`)
  return found as Wanted
}

function sentence(name: string): string {
  return `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`
}
