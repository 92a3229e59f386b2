/** Starts the command for tests, and connects the official client to it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

export interface Command {
  /** The address of the service. */
  base: string
  /** By default this Node. */
  node?: string
  /** By default the source of the command. */
  file?: string
  args?: readonly string[]
}

function commandOf({ base, file, args = [] }: Command): string[] {
  return [file ?? join(import.meta.dirname, 'assay-mcp.ts'), '--base-url', base, ...args]
}

export async function clientOverStdio(command: Command, apiKey?: string): Promise<Client> {
  const transport = new StdioClientTransport({
    command: command.node ?? process.execPath,
    args: commandOf(command),
    env: apiKey === undefined ? {} : { ASSAY_API_KEY: apiKey },
    stderr: 'inherit',
  })
  return connected(transport)
}

export async function clientOverHttp(url: URL, apiKey?: string): Promise<Client> {
  const headers: Record<string, string> =
    apiKey === undefined ? {} : { Authorization: `Bearer ${apiKey}` }
  return connected(new StreamableHTTPClientTransport(url, { requestInit: { headers } }))
}

async function connected(transport: Parameters<Client['connect']>[0]): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  after(() => client.close())
  await client.connect(transport)
  return client
}

/** Serves over HTTP on a free port. */
export async function startHttp(command: Command): Promise<{ url: URL }> {
  const args = [...commandOf(command), '--http', '0']
  const child = spawn(command.node ?? process.execPath, args, {
    stdio: ['ignore', 'inherit', 'pipe'],
  })
  after(() => child.kill())
  const [line] = await once(child.stderr, 'data')
  return { url: new URL(/http:\S+/.exec(String(line))?.[0] ?? '') }
}
