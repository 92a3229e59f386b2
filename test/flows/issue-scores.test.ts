/**
 * Runs the commands of docs/issue-scores.md as printed, from an empty database to a credential that
 * verifies.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { startEmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.ts'
import { writeCommandInProcess } from '../support/start/in-process.ts'
import { programs, temporaryFolder } from '../support/start/processes.ts'

const page = readFileSync('docs/issue-scores.md', 'utf8')

function fencesOf(info: string): string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${info}\\n(.*?)^\`\`\`$`, 'gms'))].map(
    ([, text = '']) => text,
  )
}

/** The page sets up the example's database, issues, verifies and deletes. */
const [surroundings = '', issuing = '', verifying = '', deleting = ''] = fencesOf('sh')
const commands = `${issuing}${verifying}`.trim().split('\n')

/**
 * Returns a folder like a fresh clone, with the installation replaced by `bin/assay` and `docs`.
 */
async function clone(): Promise<string> {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'bin'))
  cpSync('docs', join(folder, 'docs'), { recursive: true })
  await writeCommandInProcess(join(folder, 'bin/assay'))
  return folder
}

async function shell(folder: string, command: string) {
  // Settings of the reader's own database, which the commands must not touch.
  const env = {
    ...programs,
    ASSAY_DATA_DIR: join(folder, 'own'),
    DATABASE_URL: 'postgres://127.0.0.1:1/own',
  }
  const child = spawn('/bin/sh', ['-c', `exec 2>&1\n${surroundings}${command}`], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [said, [status]] = await Promise.all([text(child.stdout), once(child, 'close')])
  return { status, said }
}

test('five commands, as printed, take an empty database to a signed score that verifies', async () => {
  assert.equal(commands.length, 6, 'five, and the one that verifies')
  assert.match(surroundings, /^unset DATABASE_URL$/m)
  const folder = await clone()
  for (const command of commands) {
    const { status, said } = await shell(folder, command)
    assert.equal(status, 0, `${command}: ${said}`)
    if (command.endsWith('recompute')) assert.match(said, /1 issued/)
    if (command === commands.at(-1)) assert.match(said, /^VALID/m)
  }
  // The commands above started the database and stopped it; the others find it.
  const dataDir = join(folder, '.data-example')
  const database = await startEmbeddedPostgres({ dataDir, durable: true, log: () => {} })
  const none = await shell(folder, 'bin/assay credentials show mary-somerville')
  assert.equal(none.status, 1, 'without consents there is no credential')
  const tampered = `bin/assay credentials show ada-lovelace | sed 's/"score": [0-9]*/"score": 999/' | bin/assay credentials verify -`
  assert.match((await shell(folder, tampered)).said, /^NOT VALID \(signature_invalid\)/m)
  for (const form of ['eddsa-jcs-2022', 'eddsa-rdfc-2022']) {
    const verified = `bin/assay credentials show @ada-lovelace --proof ${form} | bin/assay credentials verify -`
    assert.match((await shell(folder, verified)).said, /^VALID/m, form)
  }
  for (const command of commands.slice(1, 5)) {
    const { status, said } = await shell(folder, command)
    assert.equal(status, 0, said)
    assert.doesNotMatch(said, /[1-9]\d* (created|updated|registered|changed|added|issued)/, command)
  }
  await database.stop()
  assert.ok(existsSync(dataDir))
  assert.equal((await shell(folder, deleting)).status, 0)
  for (const data of ['.data-example', 'own', '.data'])
    assert.ok(!existsSync(join(folder, data)), data)
})

test('the example lines of the page are lines of its files', () => {
  const files = ['sources', 'people', 'evidence'].map((name) =>
    readFileSync(`docs/${name}.ndjson`, 'utf8'),
  )
  const shown = fencesOf('json example')
  assert.equal(shown.length, 3)
  for (const [i, line] of shown.entries()) assert.ok(files[i]?.includes(line), line)
})
