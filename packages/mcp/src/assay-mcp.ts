#!/usr/bin/env node
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
/** The command `assay-mcp`: an MCP server over stdio, or over HTTP with `--http`. */
import { parseArgs } from 'node:util'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { Client } from '../../sdk/src/index.ts'
import { Budget, Budgets } from './budget.ts'
import { createServer as createMcpServer } from './server.ts'
import { Service } from './service.ts'

const help = `assay-mcp: candidates, scores, credentials and skills as tools for an agent.

  assay-mcp --base-url https://scores.example.org [--max-credits 20]
  assay-mcp --base-url https://scores.example.org --http 3333

  --base-url URL      the service; or the variable ASSAY_URL
  --max-credits N     credits that the tools may spend, for each key; default 20
  --http PORT         serve on http://127.0.0.1:PORT/mcp instead of standard input and output;
                      each caller sends its own key as Authorization: Bearer KEY
  --help

The API key is read from the variable ASSAY_API_KEY. Without one, only free tools work.
`

function fail(message: string): never {
  process.stderr.write(`assay-mcp: ${message}\n`)
  process.exit(2)
}

function whole(text: string, name: string, max: number): number {
  if (!/^\d{1,9}$/.test(text) || Number(text) > max)
    fail(`--${name} is ${JSON.stringify(text)}; give a whole number from 0 to ${max}.`)
  return Number(text)
}

function options() {
  try {
    return parseArgs({
      options: {
        'base-url': { type: 'string' },
        'max-credits': { type: 'string', default: '20' },
        http: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    }).values
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : String(error)}\n\n${help}`)
  }
}

function clientOf(baseUrl: string, apiKey: string | undefined): Client {
  try {
    return new Client(apiKey === undefined ? { baseUrl } : { baseUrl, apiKey })
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error))
  }
}

const { 'base-url': address = process.env.ASSAY_URL, http, help: isHelp, ...rest } = options()
if (isHelp) {
  process.stdout.write(help)
  process.exit(0)
}
if (address === undefined) fail(`the address of the service is missing.\n\n${help}`)
const baseUrl = address.replace(/\/+$/, '')
const open = clientOf(baseUrl, undefined)
const maxCredits = whole(rest['max-credits'], 'max-credits', 100_000_000)

if (http === undefined) {
  const { ASSAY_API_KEY: apiKey } = process.env
  const keyed =
    apiKey === undefined
      ? undefined
      : { client: clientOf(baseUrl, apiKey), budget: new Budget(maxCredits) }
  await createMcpServer(new Service(open, keyed), baseUrl).connect(new StdioServerTransport())
} else {
  const port = whole(http, 'http', 65_535)
  const server = createHttpServer({ baseUrl, maxCredits })
  server.once('error', (error) => fail(error.message))
  server.listen(port, '127.0.0.1', () => {
    const bound = server.address()
    const chosen = typeof bound === 'object' && bound !== null ? bound.port : port
    process.stderr.write(`assay-mcp: http://127.0.0.1:${chosen}/mcp\n`)
  })
}

interface HttpOptions {
  baseUrl: string
  maxCredits: number
}

/** The server over HTTP, on this machine: each caller sends its own key and has its own budget. */
function createHttpServer({ baseUrl, maxCredits }: HttpOptions): Server {
  const budgets = new Budgets(maxCredits)
  const open = new Client({ baseUrl })
  const serviceOf = (authorization: string): Service | string => {
    if (authorization === '') return new Service(open, undefined)
    const [, apiKey = ''] = /^Bearer (svc_(?:live|test)_[\w-]+)$/.exec(authorization) ?? []
    if (apiKey === '') return 'Send the key as Authorization: Bearer svc_….'
    // The digest, so that a dump of this process names no key twice.
    const budget = budgets.of(createHash('sha256').update(apiKey).digest('hex'))
    if (budget === undefined) return 'Too many keys: no budget is left for another one.'
    return new Service(open, { client: new Client({ baseUrl, apiKey }), budget })
  }
  return createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      process.stderr.write(`assay-mcp: ${error instanceof Error ? error.message : String(error)}\n`)
      response.destroy()
    })
  })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url, headers } = request
    if (url?.split('?')[0] !== '/mcp') return refuse(response, 404, 'The address is /mcp.')
    if (method !== 'POST') {
      response.setHeader('Allow', 'POST')
      return refuse(response, 405, 'Send POST: there are no sessions.')
    }
    // A browser names the page that asks. No page may use the key of its reader.
    if (headers.origin !== undefined)
      return refuse(response, 403, 'Pages may not call this server.')
    const service = serviceOf(headers.authorization ?? '')
    if (typeof service === 'string') return refuse(response, 401, service)
    const server = createMcpServer(service, baseUrl)
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
    response.once('close', () => void server.close())
    await server.connect(transport)
    await transport.handleRequest(request, response)
  }
}

function refuse(response: ServerResponse, status: number, message: string): void {
  const body = { jsonrpc: '2.0', id: null, error: { code: -32_000, message } }
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
}
