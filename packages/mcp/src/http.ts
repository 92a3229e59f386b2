/** The server over HTTP, on this machine: each caller sends its own key and has its own budget. */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { Client } from '../../sdk/src/index.ts'
import { Budgets } from './budget.ts'
import { createServer as createMcpServer } from './server.ts'
import { Service } from './service.ts'

export interface HttpOptions {
  baseUrl: string
  maxCredits: number
}

export function createHttpServer({ baseUrl, maxCredits }: HttpOptions): Server {
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
