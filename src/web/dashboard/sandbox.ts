/**
 * The page on which a developer tries the reads on fictional candidates, and the verifier. The
 * forms of reads send GET, so each call has a URL. A credential is too long for one and is posted.
 */
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { fictionalWorkers } from '../../demo/sandbox/fictional-workers.ts'
import type { Sandbox } from '../../demo/sandbox/open.ts'
import type { Endpoint } from '../../edge/http/endpoint.ts'
import { isJsonObject } from '../../platform/json/closed-object.ts'
import { parseStrictJson } from '../../platform/json/strict-json.ts'
import { scoreIdPath, searchQuery, usernamePath } from '../../workers/candidates/schema.ts'
import { code, hidden, result, submit, tabs, textField } from '../components.ts'
import { type Html, html, type Part } from '../html.ts'
import { dashboardPage, type PagesContext, queryText, type View } from '../page.ts'

const path = '/dashboard/sandbox'
const searchLimit = 10
const searchShape = Compile(searchQuery.properties.q)
const usernameShape = Compile(usernamePath)
const scoreIdShape = Compile(scoreIdPath)

type Reads = Sandbox['reads']

interface Call {
  title: string
  label: string
  help: string
  /** Sent by the empty form; empty: the id of a score. */
  first: string
  /** Path of the call in the contract. */
  url(value: string): string
  /** The same call with the client library. The value is a literal of TypeScript. */
  typescript(literal: string): string
  /** Null: there is no such resource. A text: the fault of the value. */
  answer(reads: Reads, value: string): Promise<object | null | string>
}

const firstUsername = fictionalWorkers[0]?.handle ?? ''

const calls: Readonly<Record<string, Call>> = {
  search: {
    title: 'Search',
    label: 'Search text',
    help: 'A name, a title, a skill, or a handle that begins with @.',
    first: 'typescript',
    url: (value) =>
      `/api/v1/candidates/search?${new URLSearchParams({ q: value, limit: String(searchLimit) }).toString()}`,
    typescript: (q) => `client.candidates.search({\n  q: ${q},\n  limit: ${searchLimit},\n})`,
    answer: async (reads, value) =>
      searchShape.Check(value)
        ? (JSON.parse((await reads.search(value, { limit: searchLimit })).text) as object)
        : 'Enter 2 to 80 characters, as the API asks for.',
  },
  candidate: {
    title: 'Candidate',
    label: 'Username',
    help: `Such as ${firstUsername}. Every search result has one.`,
    first: firstUsername,
    url: (value) => `/api/v1/candidates/${encodeURIComponent(value)}`,
    typescript: (username) => `client.candidates.get(${username})`,
    answer: async (reads, value) =>
      usernameShape.Check({ username: value })
        ? ((await reads.candidate(value.replace(/^@/, '')))?.detail ?? null)
        : 'This is not a username: 3 to 30 of a-z, 0-9, _ and -.',
  },
  score: {
    title: 'Score',
    label: 'Score ID',
    help: '64 hex digits. Read a candidate to get one.',
    first: '',
    url: (value) => `/api/v1/scores/${encodeURIComponent(value)}`,
    typescript: (scoreId) => `client.scores.get(${scoreId})`,
    answer: async (reads, value) =>
      scoreIdShape.Check({ scoreId: value })
        ? reads.score(value.toLowerCase())
        : 'This is not a score ID: 64 hex digits.',
  },
  credential: {
    title: 'Credential',
    label: 'Score ID',
    help: 'The signed credential of a score. Its issuer is did:web:sandbox.invalid, which no verifier trusts.',
    first: '',
    url: (value) => `/api/v1/scores/${encodeURIComponent(value)}/credential`,
    typescript: (scoreId) => `client.scores.credential(${scoreId})`,
    async answer(reads, value) {
      if (!scoreIdShape.Check({ scoreId: value })) return 'This is not a score ID: 64 hex digits.'
      const read = await reads.credential({ scoreId: value.toLowerCase() }, 'native')
      return 'credential' in read ? read.credential : null
    },
  },
}

export function sandboxPage(options: PagesContext): Endpoint[] {
  const { sandbox, verify } = options
  return dashboardPage(options, {
    path,
    queryParameters: Type.Object({ call: queryText, value: queryText }),
    async show({ query }) {
      if (query.call === verifyCall) return verifyView(options, { text: await sampleOf(sandbox) })
      const name = Object.hasOwn(calls, query.call ?? '') ? (query.call ?? '') : 'search'
      const call = calls[name] as Call
      const [firstScoreId = ''] = sandbox.scoreIds.values()
      const first = call.first === '' ? firstScoreId : call.first
      const value = (query.value ?? first).trim()
      const answer = await call.answer(sandbox.reads, value)
      const error = typeof answer === 'string' ? answer : undefined
      const { label, help } = call
      return viewOf(options, {
        name,
        title: call.title,
        form: html`<form class="card-body stack" method="get" action="${path}">${hidden('call', name)}${textField({ name: 'value', label, value, error, help, isRequired: true })}${send}</form>`,
        curl: (url) =>
          `curl '${url}${call.url(value)}' \\\n  -H 'Authorization: Bearer svc_test_…'`,
        typescript: call.typescript(literalOf(value)),
        answer: answerPart({ name, value, answer, scoreIds: sandbox.scoreIds }),
      })
    },
    actions: {
      async verify(_, { document = '' }) {
        const text = document.trim()
        const read = parseStrictJson(Buffer.from(text))
        const error =
          read.kind === 'invalid'
            ? 'This is not JSON. Paste the whole document, from the first { to the last }.'
            : 'This JSON is no object, so it is no credential.'
        if (read.kind === 'invalid' || !isJsonObject(read.value))
          return { ...verifyView(options, { text, error }), status: 400 }
        const ambiguity = read.kind === 'ambiguous' ? read.why : null
        return verifyView(options, { text, answer: await verify(read.value, ambiguity) })
      },
    },
  })
}

const verifyCall = 'verify'

/** Returns the credential of the first candidate that has one, as the form shows it. */
async function sampleOf({ reads, scoreIds }: Sandbox): Promise<string> {
  for (const id of scoreIds.values()) {
    const read = await reads.credential({ scoreId: id }, 'native')
    if ('credential' in read) return JSON.stringify(read.credential, null, 2)
  }
  return ''
}

function verifyView(
  options: PagesContext,
  { text, error, answer }: { text: string; error?: string; answer?: object },
): View {
  return viewOf(options, {
    name: verifyCall,
    title: 'Verify',
    form: html`<form class="card-body stack" method="post" action="${path}?call=${verifyCall}">${hidden('do', 'verify')}${textField(
      {
        name: 'document',
        label: 'Credential',
        value: text,
        error,
        isLong: true,
        isRequired: true,
        help: 'Needs no key. A credential of the sandbox is never valid: no verifier trusts its issuer.',
      },
    )}${send}</form>`,
    curl: (url) =>
      `curl '${url}/api/v1/score-vc/verify' \\\n  -H 'Content-Type: application/json' \\\n  --data-binary @credential.json`,
    typescript: 'client.verify(credential)',
    answer: answer === undefined ? '' : answerCode(answer),
  })
}

const send = html`<div class="row">${submit({ label: 'Send call', kind: 'primary' })}</div>`

interface CallView {
  name: string
  title: string
  form: Html
  curl(publicUrl: string): string
  typescript: string
  answer: Part
}

function viewOf(
  { publicUrl }: PagesContext,
  { name, title, form, curl, typescript, answer }: CallView,
): View {
  const key = name === verifyCall ? '' : "\n  apiKey: 'svc_test_…',"
  const load =
    name === verifyCall
      ? "import { readFile } from 'node:fs/promises'\nimport { Client } from '@assay/client'\n\nconst text = await readFile('credential.json', 'utf8')\nconst credential = JSON.parse(text)\n"
      : "import { Client } from '@assay/client'\n\n"
  return {
    title: `Sandbox: ${title}`,
    head: {
      title: 'Sandbox',
      text: 'Fictional candidates. A call costs nothing, here and with a test key.',
    },
    main: html`${callTabs(name)}
<div class="columns half">
<div class="stack">
<section class="card" aria-label="Call">${form}</section>
${code({ id: 'curl', label: 'The same call by curl', text: curl(publicUrl), isWrapped: true })}
${code({
  id: 'typescript',
  label: 'The same call in TypeScript',
  text: `${load}const client = new Client({\n  baseUrl: ${literalOf(publicUrl)},${key}\n})\nconst answer = await ${typescript}`,
  isWrapped: true,
})}
</div>
<div class="stack">${answer}</div>
</div>`,
  }
}

/** Returns a text as a string literal of TypeScript. */
function literalOf(value: string): string {
  return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
}

function callTabs(current: string): Html {
  const titles = [...Object.entries(calls), [verifyCall, { title: 'Verify' }] as const]
  const links = titles.map(([name, { title }]) => ({
    url: `${path}?call=${name}`,
    title,
    isCurrent: name === current,
  }))
  return tabs('Calls', links)
}

function answerCode(answer: object): Html {
  const text = JSON.stringify(answer, null, 2)
  return code({ id: 'answer', label: 'Answer: 200', text, language: 'json', isTall: true })
}

function answerPart({
  name,
  value,
  answer,
  scoreIds,
}: {
  name: string
  value: string
  answer: object | null | string
  scoreIds: Sandbox['scoreIds']
}): Part {
  if (typeof answer === 'string') return ''
  if (answer !== null) return html`${further(answer, { value, scoreIds })}${answerCode(answer)}`
  return result(
    'warning',
    'Answer: 404',
    name === 'credential'
      ? 'This score has no credential, or the sandbox has no such score.'
      : `The sandbox holds nothing under ${value}.`,
  )
}

/** Links to the next call with the ids of an answer. */
function further(
  answer: object,
  { value, scoreIds }: { value: string; scoreIds: Sandbox['scoreIds'] },
): Part {
  const username = /"username":"([a-z0-9_-]{3,30})"/.exec(JSON.stringify(answer))?.[1]
  if (username === undefined) return false
  const scoreId = scoreIds.get(username)
  const link = (call: string, next: string, text: string) =>
    next !== value &&
    html`<a class="button small" href="${`${path}?call=${call}&value=${next}`}">${text}</a>`
  return html`<div class="row"><span class="muted small">Go on:</span>${link('candidate', username, `Read ${username}`)}${
    scoreId !== undefined &&
    html`${link('score', scoreId, 'Read its score')}<a class="button small" href="${`${path}?call=credential&value=${scoreId}`}">Read its credential</a>`
  }</div>`
}
