/**
 * The page on which a developer tries the reads on fictional candidates. The forms send GET: each
 * call has a URL.
 */
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { scoreIdPath, usernamePath } from '../../candidates/schema.ts'
import type { Endpoint } from '../../platform/http/endpoint.ts'
import { fictionalCandidates } from '../../sandbox/fictional-candidates.ts'
import type { Sandbox } from '../../sandbox/open.ts'
import { code, hidden, notice, pageHead, submit, textField } from '../components.ts'
import { attributes, type Html, html, type Part } from '../html.ts'
import { dashboardPage, type PagesContext, queryText } from '../page.ts'

const path = '/dashboard/sandbox'
const searchLimit = 10
const usernameShape = Compile(usernamePath)
const scoreIdShape = Compile(scoreIdPath)

export interface SandboxPageOptions extends PagesContext {
  sandbox: Sandbox
}

type Reads = Sandbox['reads']

interface Call {
  title: string
  label: string
  help: string
  /** Sent by the empty form; empty: the id of a score. */
  first: string
  /** Path of the call in the contract. */
  url(value: string): string
  /** Null: there is no such resource. A text: what is wrong with the value. */
  answer(reads: Reads, value: string): Promise<object | null | string>
}

const firstUsername = fictionalCandidates[0]?.profile.username ?? ''

const calls: Readonly<Record<string, Call>> = {
  search: {
    title: 'Search',
    label: 'Search text',
    help: 'A name, a title, a skill, or a handle that begins with @.',
    first: 'typescript',
    url: (value) =>
      `/api/v1/candidates/search?${new URLSearchParams({ q: value, limit: String(searchLimit) }).toString()}`,
    answer: async (reads, value) =>
      value.length > 200
        ? 'Enter at most 200 characters.'
        : (JSON.parse(await reads.search(value, searchLimit)) as object),
  },
  candidate: {
    title: 'Candidate',
    label: 'Username',
    help: `Such as ${firstUsername}. Every search result has one.`,
    first: firstUsername,
    url: (value) => `/api/v1/candidates/${encodeURIComponent(value)}`,
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
    async answer(reads, value) {
      if (!scoreIdShape.Check({ scoreId: value })) return 'This is not a score ID: 64 hex digits.'
      const read = await reads.credential(value.toLowerCase(), 'native')
      return 'credential' in read ? read.credential : null
    },
  },
}

export function sandboxPage(options: SandboxPageOptions): Endpoint[] {
  const { publicUrl, sandbox } = options
  return dashboardPage(options, {
    name: 'sandboxPage',
    path,
    entry: path,
    queryParameters: Type.Object({ call: queryText, value: queryText }),
    async show({ query }) {
      const name = Object.hasOwn(calls, query.call ?? '') ? (query.call ?? '') : 'search'
      const call = calls[name] as Call
      const [firstScoreId = ''] = sandbox.scoreIds.values()
      const first = call.first === '' ? firstScoreId : call.first
      const value = (query.value ?? first).trim()
      const answer = value === '' ? null : await call.answer(sandbox.reads, value)
      const error = typeof answer === 'string' ? answer : undefined
      return {
        title: `Sandbox: ${call.title}`,
        main: html`${pageHead({
          title: 'Sandbox',
          text: 'Fictional candidates. A call costs nothing, here and with a test key.',
        })}
${tabs(name)}
<div class="columns half">
<section class="card" aria-label="Call"><form class="card-body stack" method="get" action="${path}">${hidden('call', name)}${textField({ name: 'value', label: call.label, value, error, help: call.help, isRequired: true })}<div class="row">${submit({ label: 'Send call', kind: 'primary' })}</div></form></section>
${code({
  id: 'curl',
  label: 'The same call with a test key',
  text: `curl '${publicUrl}${call.url(value)}' \\\n  -H 'Authorization: Bearer svc_test_…'`,
  isWrapped: true,
})}
</div>
${answerPart({ name, value, answer, scoreIds: sandbox.scoreIds })}`,
      }
    },
  })
}

function tabs(current: string): Html {
  return html`<nav class="tabs" aria-label="Calls">${Object.entries(calls).map(
    ([name, { title }]) =>
      html`<a href="${`${path}?call=${name}`}"${attributes({ 'aria-current': name === current && 'page' })}>${title}</a>`,
  )}</nav>`
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
  if (answer !== null)
    return html`${further(answer, { value, scoreIds })}${code({
      id: 'answer',
      label: 'Answer: 200',
      text: JSON.stringify(answer, null, 2),
    })}`
  return notice({
    tone: 'warning',
    title: 'Answer: 404',
    text:
      name === 'credential'
        ? 'This score has no credential, or the sandbox has no such score.'
        : `The sandbox holds nothing under ${value}.`,
    isResult: true,
  })
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
  return html`<div class="row">${link('candidate', username, `Read ${username}`)}${
    scoreId !== undefined &&
    html`${link('score', scoreId, 'Read its score')}<a class="button small" href="${`${path}?call=credential&value=${scoreId}`}">Read its credential</a>`
  }</div>`
}
