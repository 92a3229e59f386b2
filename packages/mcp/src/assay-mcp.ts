#!/usr/bin/env node
/** The command `assay-mcp`: an MCP server over stdio, or over HTTP with `--http`. */
import { parseArgs } from 'node:util'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { Client } from '../../sdk/src/index.ts'
import { Budget } from './budget.ts'
import { createHttpServer } from './http.ts'
import { createServer } from './server.ts'
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
  await createServer(new Service(open, keyed), baseUrl).connect(new StdioServerTransport())
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
