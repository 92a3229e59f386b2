/**
 * What the suite of the packed SDK (`test/clients/sdk/suite.mjs`) calls: the service, faults, a
 * challenge, a feed, and the files of the package for a browser.
 */
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { type Fault, faults, startFaultyProxy } from '../fault/faulty-proxy.ts'

interface Stage {
  /** The address of the service. */
  service: string
  /** The installed package. */
  packageFolder: string
  /** The inputs of the suite. */
  input: object
}

/** What the stage saw. */
interface Seen {
  redirected: number
  keys: unknown[]
  feedReads: number
}

const suite = join(import.meta.dirname, '../../clients/sdk/suite.mjs')

/** Returns the address of the stage. */
export async function startSdkStage(stage: Stage): Promise<string> {
  const seen: Seen = { redirected: 0, keys: [], feedReads: 0 }
  return startFaultyProxy(stage.service, (request, response, forward) => {
    const { pathname } = new URL(request.url ?? '', 'http://stage')
    const [, first = '', name = '', ...rest] = pathname.split('/').map(decodeURIComponent)
    if (first === 'fault') {
      const path = `/${rest.join('/')}`
      const fault = faults[name] ?? ownFaults[name]
      if (fault === undefined) return void response.writeHead(404).end()
      request.url = (request.url ?? '').slice(pathname.length - path.length)
      return fault(request, response, forward, seen)
    }
    const file = fileOf(pathname, stage, seen)
    if (file === null) return forward()
    response.writeHead(200, { 'Content-Type': file.type })
    return void response.end(file.body)
  })
}

type StageFault = (...args: [...Parameters<Fault>, seen: Seen]) => void

const ownFaults: Record<string, StageFault> = {
  redirect: (_, response) => void response.writeHead(307, { Location: '/redirected' }).end(),
  echo: (request, response) => {
    const key = String(request.headers.authorization)
    response
      .writeHead(400, { 'X-Request-Id': key })
      .end(JSON.stringify({ error: 'bad_request', message: key }))
  },
  twice: (request, response, _, { keys }) => {
    keys.push(request.headers['idempotency-key'])
    if (keys.length % 2 === 1) response.writeHead(503).end()
    else response.end('{}')
  },
  challenge: (request, response) => {
    const paid = request.headers['x-payment']
    if (paid === undefined) response.writeHead(402).end(JSON.stringify(challengeOf(request)))
    else response.end(JSON.stringify({ paid }))
  },
  feed: (request, response, _, seen) => answerFeed(request, response, seen),
}

function challengeOf(request: IncomingMessage): object {
  const requirement = {
    scheme: 'exact',
    network: 'base-sepolia',
    maxAmountRequired: '10000',
    resource: `http://${request.headers.host}/fault/challenge${request.url}`,
    description: '',
    payTo: `0x${'1'.repeat(40)}`,
    asset: `0x${'2'.repeat(40)}`,
    extra: {},
  }
  return { x402Version: 1, accepts: [requirement] }
}

function answerFeed(request: IncomingMessage, response: ServerResponse, seen: Seen): void {
  seen.feedReads++
  const after = Number(new URL(request.url ?? '', 'http://stage').searchParams.get('after'))
  const events = [after + 1, after + 2].map((position) => ({ id: `evt_${position}`, position }))
  response.end(
    JSON.stringify({
      events,
      positions: [after + 1, after + 2],
      next: String(after + 2),
      hasMore: true,
    }),
  )
}

const types: Record<string, string> = {
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.json': 'application/json',
  '.html': 'text/html',
}

/** Null for a path of the service. */
function fileOf(
  path: string,
  stage: Stage,
  seen: Seen,
): { body: string | Buffer; type: string } | null {
  const type = types[extname(path)] ?? 'application/json'
  if (path === '/redirected') {
    seen.redirected++
    return { body: '{}', type }
  }
  if (path === '/seen.json') return { body: JSON.stringify(seen), type }
  if (path === '/input.json') return { body: JSON.stringify(stage.input), type }
  if (path === '/stage.html') return { body: '<!doctype html><title>SDK</title>', type }
  if (path === '/suite.mjs') return { body: readFileSync(suite), type }
  if (!path.startsWith('/sdk/')) return null
  return { body: readFileSync(join(stage.packageFolder, 'dist', path.slice('/sdk/'.length))), type }
}
