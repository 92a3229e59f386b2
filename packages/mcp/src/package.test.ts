/**
 * The packed command, installed alone, as its users get it: every tool over both transports, under
 * each supported Node with the official client, and with the official inspector.
 */
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { sha256Hex } from '../../../src/platform/crypto/bytes.ts'
import { newKey } from '../../../test/support/build/keys.ts'
import { programs, temporaryFolder } from '../../../test/support/start/processes.ts'
import { startService } from '../../../test/support/start/service.ts'
import { clientOverHttp, clientOverStdio, startHttp } from './start.ts'
import { tools } from './tools.ts'

const root = join(import.meta.dirname, '../../..')
const service = await startService('https://scores.example.org')
after(() => service.stop())
const { db } = service.database
const reader = (await newKey(db, { environment: 'test' })).key
const reporter = (await newKey(db)).key

const username = 'sofia-lindqvist'
const credentialPath = `/api/v1/candidates/${username}/credential`
const authorized = { headers: { Authorization: `Bearer ${reader}` } }
const credential = await (await fetch(`${service.base}${credentialPath}`, authorized)).json()

/** Arguments of each tool, and the key that may call it. */
const calls: Record<string, { args: Record<string, unknown>; key: string }> = {
  search_candidates: { args: { q: 'typescript', limit: 1 }, key: reader },
  get_candidate: { args: { username }, key: reader },
  get_score: { args: { scoreId: sha256Hex(`sandbox score ${username}`) }, key: reader },
  get_credential: { args: { username, proof: 'eddsa-jcs-2022' }, key: reader },
  verify_credential: { args: { credential: JSON.stringify(credential) }, key: reader },
  lookup_skill: { args: { id: 'hss:typescript' }, key: reader },
  list_skills: { args: { q: 'typescript' }, key: reader },
  report_decision: {
    args: {
      subject: { kind: 'candidate', username },
      decision: 'shortlisted',
      idempotencyKey: 'report-of-the-agent-1',
    },
    key: reporter,
  },
  credit_balance: { args: {}, key: reader },
}

const folder = temporaryFolder()
const program = installAlone()

function installAlone(): string {
  const PATH = `${dirname(process.execPath)}:${process.env.PATH}`
  const env = { ...process.env, PATH, npm_config_update_notifier: 'false' }
  const npm = (cwd: string, ...args: string[]): unknown =>
    execFileSync('npm', args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  npm(join(root, 'packages/mcp'), 'pack', '--pack-destination', folder)
  const [file = ''] = readdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  npm(folder, 'install', '--offline', '--no-audit', '--no-fund', `./${file}`)
  return join(folder, 'node_modules/@assay/mcp/dist/assay-mcp.js')
}

test('the package brings no other package, and the licenses of what is inside', () => {
  const installed = readdirSync(join(folder, 'node_modules')).filter((name) => /^\w|@/.test(name))
  assert.deepEqual(installed, ['@assay'])
  assert.deepEqual(readdirSync(dirname(program)), ['LICENSES', 'assay-mcp.js'])
})

const older = (name: string): string => join(root, 'test/clients/node/node_modules', name)
const nodes = [process.execPath, older('node20/bin/node'), older('node22/bin/node')]

for (const node of nodes)
  test(`${node.match(/node\d\d/)?.[0] ?? 'this Node'}: the official client lists and calls every tool over stdio and HTTP`, {
    skip: existsSync(node) ? false : 'npm has this Node for Linux on x64 only',
  }, async () => {
    const command = { node, file: program, base: service.base }
    const { url } = await startHttp(command)
    for (const key of [reader, reporter]) {
      await callTools(await clientOverStdio(command, key), key)
      await callTools(await clientOverHttp(url, key), key)
    }
  })

/** Calls each tool that the key may call. */
async function callTools(client: Client, key: string): Promise<void> {
  const listed = await client.listTools()
  assert.deepEqual(
    listed.tools.map(({ name }) => name),
    Object.keys(calls),
  )
  for (const [name, { args, key: allowed }] of Object.entries(calls)) {
    if (allowed !== key) continue
    const { isError, content } = await client.callTool({ name, arguments: args })
    assert.notEqual(isError, true, `${name}: ${JSON.stringify(content)}`)
  }
  await client.close()
}

const inspector = join(
  root,
  'test/clients/mcp-inspector/node_modules/@modelcontextprotocol/inspector/clients/cli/build/index.js',
)

interface Found {
  result: { tools?: unknown[]; structuredContent?: { result: unknown } }
  warnings: string
}

test('the official inspector finds no fault in the tools, and calls one, over stdio and HTTP', async () => {
  const { url } = await startHttp({ file: program, base: service.base })
  const run = promisify(execFile)
  const inspect = async (target: string[], method: string[]): Promise<Found> => {
    const env = { ...programs, HOME: folder }
    const args = [inspector, ...target, '--format', 'json', '--method', ...method]
    const { stdout, stderr } = await run(process.execPath, args, { env, cwd: folder })
    return { result: JSON.parse(stdout).result, warnings: stderr }
  }
  const variable = `ASSAY_API_KEY=${reader}`
  const header = `Authorization: Bearer ${reader}`
  const args = JSON.stringify(calls.search_candidates?.args)
  for (const target of [
    [process.execPath, program, '--base-url', service.base, '-e', variable],
    [String(url), '--transport', 'http', '--header', header],
  ]) {
    const listed = await inspect(target, ['tools/list', '--strict'])
    assert.equal(listed.result.tools?.length, tools.length)
    assert.doesNotMatch(listed.warnings, /Issue/)
    const call = ['tools/call', '--tool-name', 'search_candidates', '--tool-args-json', args]
    const { result } = await inspect(target, call)
    assert.ok(result.structuredContent?.result, JSON.stringify(result))
  }
})
