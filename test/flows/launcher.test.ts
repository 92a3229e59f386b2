/** The launcher (`bin/assay` and npm scripts): the server ends with it or is reported. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { commandLine } from '../support/start/command-line.ts'
import { testDatabase } from '../support/start/database.ts'
import {
  assay,
  eventually,
  isAlive,
  startServer,
  temporaryFolder,
} from '../support/start/processes.ts'

const database = await testDatabase()
const { env, remove } = commandLine(database.url)
after(async () => {
  remove()
  await database.drop()
})

const bootstrap = join(import.meta.dirname, '../../scripts/bootstrap.mjs')

/**
 * Behaves like npm: it passes a signal to its shell only, and the shell ends without telling its
 * children.
 */
const likeNpm = `import { spawn } from 'node:child_process'
const args = ['-c', '"$@"; exit $?', 'sh', process.execPath, ${JSON.stringify(bootstrap)}, 'assay', ...process.argv.slice(2)]
const env = { ...process.env, npm_lifecycle_event: 'assay' }
const shell = spawn('sh', args, { stdio: 'inherit', env })
process.on('SIGTERM', () => shell.kill('SIGTERM'))
`

test('SIGTERM of npm, which ends only its shell: the server drains and ends as well', async () => {
  const npm = join(temporaryFolder(), 'npm.mjs')
  writeFileSync(npm, likeNpm)
  const server = await startServer(env, [], npm)
  server.signal('SIGTERM')
  // Resolves once no process holds the output, so the server has ended too.
  await server.ended
})

const launcher = join(import.meta.dirname, '../../bin/assay.mjs')

/** Returns what `doctor` says about a port. */
async function portFinding(port: number): Promise<string> {
  const { out } = await assay(['doctor', '--json'], { ...env, PORT: String(port) })
  const { findings } = JSON.parse(out) as { findings: { check: string; message: string }[] }
  return findings.find(({ check }) => check === 'port')?.message ?? ''
}

test('without npm, the launcher becomes the server, so no second process stays', async () => {
  const server = await startServer(env, [], launcher)
  assert.match(
    await portFinding(server.port),
    new RegExp(`is held by the server with process id ${server.pid}$`),
  )
  server.signal('SIGTERM')
  await server.ended
})

test('doctor: a server whose launcher was killed is named by process id while it holds the port', async () => {
  const server = await startServer({ ...env, npm_lifecycle_event: 'assay' }, [], launcher)
  const port = () => portFinding(server.port)
  assert.match(await port(), /is held by the server with process id \d+$/)
  server.signal('SIGKILL')
  await eventually('the launcher is gone', { see: async () => !isAlive(server.pid) })
  const message = await port()
  const pid = Number(/process id (\d+), whose launcher/.exec(message)?.[1])
  assert.ok(isAlive(pid), message)
  assert.match(message, new RegExp(`launcher \\(${server.pid}\\) has ended.*kill ${pid}`))
  process.kill(pid, 'SIGTERM')
  await server.ended
  assert.match(await port(), /is free/)
})
