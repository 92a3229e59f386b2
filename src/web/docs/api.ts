/** Pure: the reference of the API, rendered from the OpenAPI document. */
import { code, copyButton, methodTag, pathText, withCode } from '../components.ts'
import { attributes, html, type Part } from '../html.ts'
import { icon } from '../icons.ts'
import type { PublicView } from '../public-page.ts'
import { type ExampleCall, exampleIn, languages } from './examples.ts'
import { type DocsFrame, docsView, table } from './frame.ts'

/** A part of the OpenAPI document. Our own generator writes it, so a missing member is a fault. */
interface Schema {
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
  examples?: Record<string, { value?: unknown }>
}

interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  schema: Schema
  description?: string
}

interface Response {
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
  components: Record<string, Record<string, object>>
}

export interface Listed {
  /** Such as `GET`. */
  method: string
  path: string
  operation: OperationObject
}

export const apiPath = '/docs/api'

/** Returns the document with each named part in the place of the references to it. */
export function resolved(document: OpenApi): OpenApi {
  const copies = new Map<object, object>()
  const copyOf = (part: unknown): unknown => {
    if (typeof part !== 'object' || part === null) return part
    const known = copies.get(part)
    if (known !== undefined) return known
    if ('$ref' in part) return copyOf(named(String(part.$ref)))
    const copy = Array.isArray(part) ? [] : {}
    // A part may lead back to itself.
    copies.set(part, copy)
    for (const [name, value] of Object.entries(part)) Reflect.set(copy, name, copyOf(value))
    return copy
  }
  const named = (reference: string): object => {
    const [, , group = '', name = ''] = reference.split('/')
    const found = document.components[group]?.[name]
    if (found === undefined) throw new Error(`the contract has no ${reference}`)
    return found
  }
  return copyOf(document) as OpenApi
}

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
export function apiIndexView(frame: DocsFrame, document: OpenApi, filter = ''): PublicView {
  const words = filter.toLowerCase().split(/\s+/u).filter(Boolean)
  const fits = ({ method, path, operation: { operationId, summary } }: Listed) => {
    const text = `${method} ${path} ${operationId} ${summary}`.toLowerCase()
    return words.every((word) => text.includes(word))
  }
  const operations = operationsIn(document).filter(fits)
  const areas = document.tags.map(({ name }) => ({
    name,
    id: name.replaceAll(' ', '-'),
    members: operations.filter(({ operation }) => operation.tags[0] === name),
  }))
  const found = areas.filter(({ members }) => members.length > 0)
  const view = docsView(frame, {
    path: apiPath,
    title: 'API reference',
    description: 'Every operation of the API, with a request and a response.',
    lead: html`<p>Every operation of the API, with a request and a response.</p>`,
    sections: found.map(({ name, id }) => ({ id, title: sentence(name) })),
    main: html`<p>Paths are relative to <code>${frame.site.publicUrl}</code>. The same contract as an OpenAPI 3.1 document: <a href="/api/v1/openapi.json">openapi.json</a>.</p>
<form class="search-line" action="${apiPath}" role="search" aria-label="Operations" data-filter><div class="field"><label for="filter">Filter operations</label><input class="input" id="filter" name="q" type="search" value="${filter}" maxlength="80" autocomplete="off" autocapitalize="none" spellcheck="false" placeholder="search, webhook, POST …"></div><button class="button" type="submit">Filter</button></form>
<p class="small muted" role="status" data-filter-count>${operations.length === 1 ? '1 operation' : `${operations.length} operations`}</p>
${found.map(
  ({ name, id, members }) => html`<h2 id="${id}">${sentence(name)}</h2>
${table(
  `Operations of ${name}`,
  ['Operation', 'Request'],
  members.map(({ method, path, operation }) => [
    html`<a href="${operationPath(operation)}" data-filtered="${operation.operationId}">${operation.summary}</a>`,
    html`${methodTag(method)} <code>${pathText(path)}</code>`,
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
  values: SandboxValues,
): PublicView {
  const call = exampleOfOperation(frame.site.publicUrl, { method, path, operation })
  const all = operationsIn(document)
  const at = all.findIndex((one) => one.operation === operation)
  const neighbour = (listed: Listed | undefined) =>
    listed && { path: operationPath(listed.operation), title: listed.operation.summary }
  const parameters = operation.parameters ?? []
  const body = Object.entries(operation.requestBody?.content ?? {})[0]
  const responses = Object.entries(operation.responses).map(([status, one]) => ({
    status,
    ...one,
  }))
  const answered = responses.filter(({ status }) => status.startsWith('2'))
  const failed = responses.filter(({ status }) => !status.startsWith('2'))
  return docsView(frame, {
    path: operationPath(operation),
    title: operation.summary,
    description: operation.description ?? operation.summary,
    above: { url: apiPath, title: 'API reference' },
    lead: html`<p>${methodTag(method)} <code>${pathText(path)}</code></p>${operation.description !== undefined && html`<p>${withCode(operation.description)}</p>`}${access(operation)}`,
    reference: {
      groups: document.tags.map(({ name }) => ({
        title: sentence(name),
        operations: all
          .filter((one) => one.operation.tags[0] === name)
          .map((one) => ({
            path: operationPath(one.operation),
            title: one.operation.summary,
            method: one.method,
          })),
      })),
      call: html`<h2 class="hidden-visually" id="request">Request</h2>${languageBlock(call)}${sendForm(call, { method, path, operation }, values)}${answered.map((response) => responseExample(response))}`,
    },
    previous: neighbour(all[at - 1]),
    next: neighbour(all[at + 1]),
    main: html`${
      parameters.length > 0 &&
      html`<h2 id="parameters">Parameters</h2>${members(
        parameters.map(({ name, in: place, required, schema, description }) => ({
          name,
          about: [place, typeOf(schema), required === true && 'required'],
          text: description,
        })),
      )}`
    }
${body !== undefined && html`<h2 id="body">Body</h2>${fields(body[1].schema)}`}
<h2 id="response">Response</h2>
${answered.map((response, i) => answerFields(response, i))}
<h2 id="errors">Errors</h2>
${table(
  'Errors',
  ['Status', 'Meaning', 'Names'],
  failed.map(({ status, description, content }) => [
    status === 'default' ? 'any' : html`<code>${status}</code>`,
    withCode(description),
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

type Answered = Response & { status: string }

function answerFields({ status, description, content = {} }: Answered, i: number): Part {
  const [type, media] = Object.entries(content)[0] ?? []
  const isJson = type?.includes('json') ?? false
  return html`<p><code>${status}</code> ${withCode(description)}</p>
${media?.schema !== undefined && i === 0 && isJson && fields(media.schema)}`
}

function responseExample({ status, content = {} }: Answered): Part {
  const [type, media] = Object.entries(content)[0] ?? []
  const example = media && exampleOf(media)
  const text = typeof example === 'string' ? example : JSON.stringify(example, null, 2)
  return (
    text !== undefined &&
    code({
      id: `response-${status}`,
      name: `${status} · ${type}`,
      label: `Response ${status}`,
      text: shortened(text),
      language: type?.includes('json') ? 'json' : 'text',
    })
  )
}

const exampleLinesMax = 60

/** The catalog of skills and the OpenAPI document are links, not examples to read. */
function shortened(code: string): string {
  const lines = code.split('\n')
  return lines.length > exampleLinesMax
    ? [...lines.slice(0, exampleLinesMax), '…'].join('\n')
    : code
}

function exampleOf({ example, examples = {} }: Media): unknown {
  return example ?? Object.values(examples)[0]?.value
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

function rowsOf(schema: Schema, prefix: string, depth: number): Row[] {
  const { properties = {}, required = [], items } = schema
  if (items !== undefined && depth < depthMax)
    return rowsOf(items, `${prefix.replace(/\.$/, '')}[].`, depth + 1)
  return Object.entries(properties).flatMap(([name, member]) => {
    const row = { name: `${prefix}${name}`, schema: member, isRequired: required.includes(name) }
    return depth < depthMax ? [row, ...rowsOf(member, `${prefix}${name}.`, depth + 1)] : [row]
  })
}

function fields(schema: Schema | undefined): Part {
  const rows = schema === undefined ? [] : rowsOf(schema, '', 0)
  if (rows.length === 0) return html`<p>The members are not fixed.</p>`
  return members(
    rows.map(({ name, schema: member, isRequired }) => ({
      name,
      about: [typeOf(member), !isRequired && 'optional'],
      text: member.description,
    })),
  )
}

interface Member {
  name: string
  /** Its type, and whether it must be there. */
  about: readonly (string | false)[]
  text: string | undefined
}

/** A list has room for long names and texts, beside the call and on a phone. */
function members(rows: readonly Member[]): Part {
  return html`<ul class="members">${rows.map(
    ({ name, about, text }) =>
      html`<li><p class="name"><code>${name}</code> <span class="small muted">${about.filter((one) => one !== false).join(' · ')}</span></p>${text !== undefined && html`<p class="small">${withCode(text)}</p>`}</li>\n`,
  )}</ul>`
}

function typeOf(schema: Schema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.map((one) => String(one)).join(', ')
  if (schema.oneOf !== undefined)
    return [...new Set(schema.oneOf.map((one) => typeOf(one)))].join(' or ')
  const types = [schema.type ?? 'any'].flat()
  if (schema.items !== undefined) {
    const list = `list of ${typeOf(schema.items)}`
    return types.includes('null') ? `${list} or null` : list
  }
  const type = types.join(' or ')
  return schema.format === undefined ? type : `${type} (${schema.format})`
}

/** Values of path parameters in examples. An id without a value here is a UUID. */
const exampleValues: Readonly<Record<string, string>> = {
  username: 'ada-lovelace',
  id: 'typescript',
  name: 'rate_limited',
  listId: '2026-0001',
  version: '1.2.0',
}

const exampleUuid = '019e2cbb-7a00-7c1e-9f27-8b5a1c2d3e4f'

/** Returns the call that the page of an operation shows. */
export function exampleOfOperation(
  publicUrl: string,
  { method, path, operation }: Listed,
): ExampleCall {
  const parameters = operation.parameters ?? []
  const body = Object.entries(operation.requestBody?.content ?? {})[0]
  const pathValues: string[] = []
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const schema = parameters.find((one) => one.name === name)?.schema
    const value =
      exampleValues[name] ?? (schema?.format === 'uuid' ? exampleUuid : name.toUpperCase())
    pathValues.push(value)
    return value
  })
  const query = parameters
    .filter((one) => one.in === 'query' && (one.required === true || one.name === 'limit'))
    .map(({ name }) => [name, name === 'limit' ? '2' : 'typescript'])
  const schemes = new Set((operation.security ?? []).flatMap((one) => Object.keys(one)))
  const isOptional = operation.security?.some((one) => Object.keys(one).length === 0) ?? true
  const [type, media] = body ?? []
  const [first] = Object.values(media?.examples ?? {})
  return {
    operationId: operation.operationId,
    method,
    publicUrl,
    path: filled,
    pathValues,
    query: Object.fromEntries(query) as Record<string, string>,
    auth: schemes.has('session')
      ? 'session'
      : schemes.has('apiKey') && !isOptional
        ? 'key'
        : 'none',
    needsIdempotencyKey: parameters.some(
      ({ name, required }) => name === 'Idempotency-Key' && required === true,
    ),
    body:
      media === undefined || type === undefined
        ? null
        : { type, value: media.example ?? first?.value ?? {} },
  }
}

const languageNames = { curl: 'curl', typescript: 'TypeScript', python: 'Python' } as const

/** Tabs are radio buttons, so arrow keys and all languages work without a script. */
function languageBlock(call: ExampleCall): Part {
  const tabs = languages.map(
    (language) =>
      html`<label><input class="hidden-visually" type="radio" name="language" value="${language}"${attributes({ checked: language === 'curl' })}>${languageNames[language]}</label>`,
  )
  const blocks = languages.map(
    (language) =>
      html`<pre id="${`request-${language}`}" data-language="${language}" tabindex="0" role="region" aria-label="${`Request with ${languageNames[language]}`}"><code>${exampleIn(language, call)}</code></pre>`,
  )
  return html`<div class="code language" data-languages><div class="code-head row apart"><fieldset class="row"><legend class="hidden-visually">Language of the examples</legend>${tabs}</fieldset>${copyButton('request-curl')}</div>${blocks}</div>\n`
}

/** Values of the sandbox, with which the forms of paid reads are filled. */
export interface SandboxValues {
  username: string
  scoreId: string
}

/** The reads of the sandbox that answer for a paid read, with the session of the reader. */
const sandboxReads: Readonly<Record<string, { path: string; call: string; field: string }>> = {
  searchCandidates: { path: '/candidates/search', call: 'search', field: 'q' },
  getCandidate: { path: '/candidates/{username}', call: 'candidate', field: 'username' },
  getScore: { path: '/scores/{scoreId}', call: 'score', field: 'scoreId' },
}
const sandboxPath = '/api/account/developer/sandbox'

/**
 * The form that sends the operation from this page: a paid read to the same read in the sandbox, with
 * the session and without credits; a public one as it is. Nothing else is sent from a page.
 */
function sendForm(call: ExampleCall, { path }: Listed, values: SandboxValues): Part {
  const { operationId, method, auth, body, query } = call
  const read = sandboxReads[operationId]
  const button = html`<button class="button primary" type="submit">${icon('send')}Send</button>`
  const foot = (words: string) =>
    html`<div class="row apart"><span class="muted small">${words}</span>${button}</div>`
  if (read !== undefined) {
    const known: Record<string, string> = { q: 'typescript', ...values }
    return sending(
      html`<form class="card-body stack" data-send="${`${sandboxPath}${read.path}`}" method="get" action="/dashboard/sandbox"><input type="hidden" name="call" value="${read.call}">${sendField({ name: 'value', label: read.field, value: known[read.field] ?? '' })}${foot('Sixty fictional people, costs nothing. It runs with your session.')}</form>`,
    )
  }
  if (operationId === 'verifyScoreCredential')
    return sending(
      html`<form class="card-body stack" data-send="${path}" data-method="POST" method="get" action="/verify"><div class="field"><label for="send-body">Body</label><textarea class="textarea" id="send-body" data-name="body" rows="4" spellcheck="false" autocomplete="off">\n${JSON.stringify(body?.value)}</textarea></div>${foot('Costs nothing, needs no key.')}</form>`,
    )
  if (auth !== 'none' || method !== 'GET')
    return html`<p class="small muted">${auth === 'session' ? 'Needs your session: copy the command, or use the dashboard.' : 'Needs a live key: copy the command.'}</p>`
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  const fields = [
    ...names.map((name, i) => sendField({ name, label: name, value: call.pathValues[i] ?? '' })),
    ...Object.entries(query).map(([name, value]) => sendField({ name, label: name, value })),
  ]
  // Without a script no form can fill a path, and an example of a path need not exist.
  const action = names.length === 0 ? path : `${apiPath}/${operationId}`
  return sending(
    html`<form class="card-body stack" data-send="${path}" method="get" action="${action}">${fields}${foot('Public: needs no key.')}</form>`,
  )
}

function sendField({ name, label, value }: Record<'name' | 'label' | 'value', string>): Part {
  return html`<div class="field"><label for="${`send-${label}`}">${label}</label><input class="input" id="${`send-${label}`}" name="${name}" data-name="${label}" value="${value}" maxlength="200" required spellcheck="false" autocomplete="off" autocapitalize="none"></div>`
}

/** A script shows the answer below the form. */
function sending(form: Part): Part {
  return html`<div class="card send">${form}<div class="code" data-sent hidden><div class="code-head row apart"><span role="status" data-sent-head></span><a data-sent-log hidden>In your request log</a><a data-sent-sign-in hidden>Sign in to send</a></div><pre tabindex="0" role="region" aria-label="Answer"><code data-sent-body></code></pre></div></div>\n`
}

function sentence(name: string): string {
  return `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`
}
