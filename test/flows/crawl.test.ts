/**
 * Crawls the demo: each URL that an answer, a credential, a document, a header, a page or a log
 * line names must answer, to a browser and to a program. Pages and routes that are added later are
 * found by their links, and need no line here.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { errorTable } from '../../src/platform/errors.ts'
import {
  eventually,
  freePort,
  type ServerProcess,
  startServer,
  temporaryFolder,
} from '../support/start/processes.ts'

const browserAccept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

interface Found {
  /** Path and query. */
  url: string
  /** The place that names it. */
  at: string
}

test('crawl: every URL that the service names answers, as HTML and as JSON', async (t) => {
  const data = temporaryFolder()
  const port = await freePort()
  const origin = `http://localhost:${port}`
  const env = { ASSAY_DATA_DIR: data, PUBLIC_URL: origin, PORT: String(port) }
  const server = await startServer(env, ['--demo'])
  const demo = join(data, 'demo')
  const key = readFileSync(join(demo, 'api-key'), 'utf8').trim()
  const cookie = await signIn(server, origin)

  const known = new Map<string, string>()
  const queue: Found[] = []
  const add = (at: string, texts: Iterable<string>): void => {
    for (const text of texts) {
      const url = ownUrl(text, origin)
      if (url === null || known.has(url)) continue
      known.set(url, at)
      queue.push({ url, at })
    }
  }
  const faults: string[] = []
  const visit = async ({ url, at }: Found): Promise<void> => {
    for (const accept of [browserAccept, 'application/json']) {
      const response = await fetch(`${origin}${url}`, {
        headers: { Accept: accept, ...credentialsFor(url, { key, cookie }) },
        redirect: 'manual',
      })
      const body = await response.text()
      const { status } = response
      if (status === 404 || status >= 500)
        faults.push(`${status} ${url} (${accept.slice(0, 16)}), named by ${at}`)
      const type = response.headers.get('content-type') ?? ''
      add(
        `a header of ${url}`,
        [...response.headers].flatMap(([, value]) => urlsIn(value, url)),
      )
      // The contract and the pages of llms-full.txt hold examples of other deployments.
      if (!/openapi\.json$|llms-full|\.md$/.test(pathOf(url))) add(url, urlsOf(type, body, url))
    }
  }

  add('the start of this test', ['/', '/docs', '/llms.txt', '/robots.txt', '/sitemap.xml'])
  add('the start of this test', ['/sign-in', '/dashboard', '/standard', '/verify', '/changelog'])
  add(
    'the table of errors',
    Object.keys(errorTable).map((name) => `/docs/errors/${name}`),
  )
  const contract = await (await fetch(`${origin}/api/v1/openapi.json`)).json()
  add('the contract', routesOf(contract))
  add('the contract', ['/api/v1/candidates/search?q=a', '/api/v1/candidates/search?q=engineer'])
  for (const name of readdirSync(join(demo, 'credentials')))
    add(`the credential ${name}`, urlsInJson(readFileSync(join(demo, 'credentials', name), 'utf8')))
  add('the README of the demo', urlsInText(readFileSync(join(demo, 'README.md'), 'utf8')))
  await ask(origin, add)

  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    await visit(next)
    if (queue.length === 0) add('a line of the log', urlsInText(server.out() + server.err()))
  }
  server.signal('SIGTERM')
  await server.ended
  t.diagnostic(`${known.size} URLs`)
  assert.deepEqual(faults, [])
  assert.ok(known.size > 300, `${known.size} URLs`)
})

/** Adds the URLs of answers to POST and of errors, which no link leads to. */
async function ask(origin: string, add: (at: string, texts: Iterable<string>) => void) {
  const credential = { '@context': [], type: [], issuer: 'x', credentialSubject: {}, proof: {} }
  const requests: [string, RequestInit][] = [
    ['/api/v1/score-vc/verify', post(credential)],
    ['/api/v1/score-vc/verify', { method: 'POST', body: 'no JSON' }],
    ['/api/v1/agent-decisions', post({})],
    ['/api/v1/scores/0', {}],
    ['/api/v1/webhooks/endpoints', {}],
    ['/api/account/webhooks/endpoints', {}],
    ['/no-such-path', {}],
    ['/no-such-path', { headers: { Accept: browserAccept } }],
    ['/standard/v1/skills/no-such-skill', {}],
    ['/standard/v1/skills', { headers: { 'Service-Version': '2020-01-01' } }],
  ]
  for (const [path, init] of requests) {
    const response = await fetch(`${origin}${path}`, init)
    const at = `the answer ${response.status} of ${path}`
    add(
      at,
      [...response.headers].flatMap(([, value]) => urlsIn(value, path)),
    )
    add(at, urlsOf(response.headers.get('content-type') ?? '', await response.text(), path))
  }
}

function post(body: object): RequestInit {
  return {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  }
}

/** Returns the cookie of a session. The demo prints a link that signs its developer in. */
async function signIn(server: ServerProcess, origin: string): Promise<string> {
  const link = /sign-in\/confirm\?token=([\w-]+)/
  const { value: token = '' } = await eventually('the demo prints a sign-in link', {
    see: async () => link.exec(server.out())?.[1],
  })
  const response = await fetch(`${origin}/sign-in/confirm`, {
    method: 'POST',
    headers: { Origin: origin, 'Content-Type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ token }),
    redirect: 'manual',
  })
  return response.headers.getSetCookie()[0]?.split(';')[0] ?? ''
}

/** A paid read gets the key, and a page behind the sign-in the session. */
function credentialsFor(url: string, { key, cookie }: { key: string; cookie: string }) {
  if (url.startsWith('/api/account') || url.startsWith('/dashboard')) return { Cookie: cookie }
  return url.startsWith('/api/v1/') && !url.startsWith('/api/v1/score-vc')
    ? { Authorization: `Bearer ${key}` }
    : {}
}

/** Returns the paths of GET that have no parameters. The others are found in answers. */
function routesOf(contract: unknown): string[] {
  const { paths } = contract as { paths: Record<string, Record<string, unknown>> }
  return Object.entries(paths)
    .filter(([path, methods]) => 'get' in methods && !path.includes('{'))
    .map(([path]) => path)
}

function pathOf(url: string): string {
  return url.split('?')[0] ?? ''
}

/** Returns path and query of a URL of this service, or null for every other text. */
function ownUrl(text: string, origin: string): string | null {
  if (!text.startsWith('/') && !text.startsWith(`${origin}/`) && text !== origin) return null
  if (text.startsWith('//') || /[{}<>$…\s]/.test(text)) return null
  const { pathname, search, origin: named } = new URL(text, origin)
  return named === origin ? `${pathname}${search}` : null
}

function urlsOf(type: string, body: string, base: string): string[] {
  if (type.startsWith('text/html')) return urlsInHtml(body, base)
  if (type.includes('json')) return urlsInJson(body)
  return type.startsWith('image/') ? [] : urlsInText(body)
}

/** The URLs of links, forms, images, scripts and styles. Examples in code are not links. */
function urlsInHtml(body: string, base: string): string[] {
  return [
    ...body.matchAll(/<(?!form[^>]*method="post")[^>]*?\s(?:href|src|action|srcset)="([^"]*)"/g),
  ]
    .map(([, text = '']) => text.replaceAll('&amp;', '&').replaceAll('&#39;', "'"))
    .filter((text) => text !== '' && !text.startsWith('#') && !/^(https?|data|mailto):/.test(text))
    .map((text) => {
      const { pathname, search } = new URL(text, `http://x${base}`)
      return `${pathname}${search}`
    })
}

/** Texts that are a URL or a path of a page, at any depth. */
function urlsInJson(body: string): string[] {
  const urls: string[] = []
  JSON.parse(body, (_, value: unknown) => {
    if (typeof value === 'string' && /^(https?:|\/[a-z.])/.test(value)) urls.push(value)
    return value
  })
  return urls
}

function urlsInText(text: string): string[] {
  return [...text.matchAll(/https?:\/\/[^\s"'`<>()|\\,]+/g)].map(([url]) =>
    url.replace(/[.,;:*]+$/, ''),
  )
}

/** The URLs of a header: in angle brackets, or the whole value. */
function urlsIn(value: string, base: string): string[] {
  const linked = [...value.matchAll(/<([^>]+)>/g)].map(([, url = '']) => url)
  return [...linked, ...(/^(https?:\/\/|\/)\S+$/.test(value) ? [value] : [])].map((url) =>
    url.startsWith('?') ? `${pathOf(base)}${url}` : url,
  )
}
