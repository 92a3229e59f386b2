/**
 * Measures a call of a tool of the MCP server beside the same call by the client that the server is
 * built on, which is its peer: the difference is the cost of the protocol. One server of ours
 * answers all in turn. The lookup of a skill needs neither key nor database.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Client } from '../packages/sdk/src/index.ts'
import { migrate } from '../src/database/migrate.ts'
import { endWithBench, startPostgres } from './children.ts'
import { median, report } from './measure.ts'
import { startService } from './serving.ts'

const rounds = Number(process.env.BENCH_ROUNDS ?? 400)
const warmUpRounds = 50
const overheadMsMax = 5

const program = join(import.meta.dirname, '../packages/mcp/src/assay-mcp.ts')
const protocol = { protocolVersion: '2025-11-25', capabilities: {} }
const hello = { ...protocol, clientInfo: { name: 'bench', version: '1' } }
const lookup = { name: 'lookup_skill', arguments: { id: 'typescript' } }

const message = (id: number, method: string, params: object): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })

function startMcp(base: string, more: readonly string[]): ChildProcess {
  const args = [program, '--base-url', base, ...more]
  return endWithBench(spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] }))
}

/** Returns a call of the tool in the session of one process. */
async function overStdio({ stdin, stdout }: ChildProcess): Promise<() => Promise<string>> {
  if (stdin === null || stdout === null) throw new Error('the process has no pipes')
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]()
  let id = 0
  const ask = async (method: string, params: object): Promise<string> => {
    stdin.write(`${message(++id, method, params)}\n`)
    const { value } = await lines.next()
    return value ?? ''
  }
  await ask('initialize', hello)
  stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
  return () => ask('tools/call', lookup)
}

async function overHttp({ stderr }: ChildProcess): Promise<() => Promise<string>> {
  if (stderr === null) throw new Error('the process has no pipes')
  const [line] = await once(stderr, 'data')
  const url = /http:\S+/.exec(String(line))?.[0] ?? ''
  const headers = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    'MCP-Protocol-Version': protocol.protocolVersion,
  }
  return async () => {
    const body = message(1, 'tools/call', lookup)
    return (await fetch(url, { method: 'POST', headers, body })).text()
  }
}

async function measured(contestants: Record<string, () => Promise<string>>) {
  const samples = new Map(Object.keys(contestants).map((name) => [name, [] as number[]]))
  for (let round = -warmUpRounds; round < rounds; round++)
    for (const [name, call] of Object.entries(contestants)) {
      const began = performance.now()
      const answer = await call()
      const tookMs = performance.now() - began
      if (!answer.includes('hss:typescript')) throw new Error(`${name} answered ${answer}`)
      if (round >= 0) samples.get(name)?.push(tookMs)
    }
  return (name: string): number => median(samples.get(name) ?? [])
}

const folder = mkdtempSync(join(tmpdir(), 'assay-bench-mcp-'))
const postgres = await startPostgres({ dataDir: folder, durable: false })
await migrate(postgres.url, join(import.meta.dirname, '../migrations'), new Date())
const service = await startService({ DATABASE_URL: postgres.url, LOG_LEVEL: 'silent' })
const base = `http://127.0.0.1:${service.port}`
const children = [startMcp(base, []), startMcp(base, ['--http', '0'])] as const
try {
  const client = new Client({ baseUrl: base })
  const medianOf = await measured({
    client: async () => (await client.skills.get('typescript')).id,
    stdio: await overStdio(children[0]),
    http: await overHttp(children[1]),
  })
  const own = medianOf('client')
  const target = { max: overheadMsMax }
  report('mcp', [
    { name: 'call of the client, median', value: own, unit: 'ms' },
    {
      name: 'tool over stdio, beyond the client',
      value: medianOf('stdio') - own,
      unit: 'ms',
      target,
    },
    {
      name: 'tool over HTTP, beyond the client',
      value: medianOf('http') - own,
      unit: 'ms',
      target,
    },
  ])
} finally {
  for (const child of children) child.kill()
  await service.stop()
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
}
