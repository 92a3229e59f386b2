/** The command that everybody starts with, as npm runs it: in a shell. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { commandLine } from '../support/start/command-line.ts'
import { testDatabase } from '../support/start/database.ts'
import { startServer, temporaryFolder } from '../support/start/processes.ts'

const database = await testDatabase()
const { env, remove } = commandLine(database.url)
after(async () => {
  remove()
  await database.drop()
})

const bootstrap = join(import.meta.dirname, '../../scripts/bootstrap.mjs')

/** As npm does: a signal is for the shell, which tells nobody that it ends. */
const likeNpm = `import { spawn } from 'node:child_process'
const args = ['-c', '"$@"; exit $?', 'sh', process.execPath, ${JSON.stringify(bootstrap)}, 'assay', ...process.argv.slice(2)]
const env = { ...process.env, npm_lifecycle_event: 'assay' }
const shell = spawn('sh', args, { stdio: 'inherit', env })
process.on('SIGTERM', () => shell.kill('SIGTERM'))
`

test('SIGTERM for npm, which ends its shell alone: the server drains and ends as well', async () => {
  const npm = join(temporaryFolder(), 'npm.mjs')
  writeFileSync(npm, likeNpm)
  const server = await startServer(env, [], npm)
  server.signal('SIGTERM')
  // Its output is closed once nobody holds it: not the server either.
  await server.ended
})
