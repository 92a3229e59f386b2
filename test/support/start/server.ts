/**
 * Global setup of a test run: one temporary folder, one PostgreSQL (ours in that folder, without
 * fsync; or TEST_DATABASE_URL), one template database with all migrations, and one Chromium. Test
 * files copy the template (`testDatabase`) and find the setup in environment variables. The next
 * run removes the leftovers of a killed run.
 */
import {
  chmodSync,
  globSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { runningServer } from '../../../src/database/embedded/cluster.ts'
import { startEmbeddedPostgres } from '../../../src/database/embedded/embedded-postgres.ts'
import { migrate } from '../../../src/database/migrate.ts'
import { processStart } from '../../../src/platform/process-mark.ts'
import { signalAll } from '../fault/signal-all.ts'
import { databaseUrl, onServer } from './database.ts'
import { offerBrowser, stopBrowser } from './shared-browser.ts'

const migrations = resolve(import.meta.dirname, '../../../migrations')
const template = `assay_template_${process.pid}`
/**
 * The runs of another process-id namespace, such as a container, seem dead here: they have another
 * prefix.
 */
const folderPrefix = `assay-test-${processNamespace()}-`
let folder: string | undefined
let stopServer = async (): Promise<void> => {}

export async function globalSetup(): Promise<void> {
  try {
    removeLeftovers()
    folder = mkdtempSync(join(tmpdir(), `${folderPrefix}${process.pid}-`))
    const url = process.env.TEST_DATABASE_URL ?? (await startServer(join(folder, 'database')))
    await onServer(url, `create database ${template}`)
    await migrate(databaseUrl(url, template), migrations, new Date())
    process.env.ASSAY_TEST_SERVER = url
    process.env.ASSAY_TEST_TEMPLATE = template
    process.env.TMPDIR = temporaryFolder(folder)
    process.env.ASSAY_TEST_BROWSER = await offerBrowser()
  } catch (error) {
    await globalTeardown()
    throw error
  }
}

export async function globalTeardown(): Promise<void> {
  const outside = process.env.TEST_DATABASE_URL
  if (outside !== undefined) await onServer(outside, `drop database if exists ${template}`)
  await stopBrowser()
  await stopServer()
  if (folder !== undefined) remove(folder)
}

async function startServer(dataDir: string): Promise<string> {
  // If the tests run as root, PostgreSQL runs as another user and must be able to enter this
  // folder.
  chmodSync(dirname(dataDir), 0o711)
  const server = await startEmbeddedPostgres({ dataDir, durable: false, log: () => {} })
  stopServer = () => server.stop()
  return server.url
}

/**
 * Creates the folder for the files of tests. It is inside the folder of the run, so the files of an
 * interrupted test are removed too.
 */
function temporaryFolder(inside: string): string {
  const path = join(inside, 'tmp')
  mkdirSync(path)
  chmodSync(path, 0o711)
  chmodSync(inside, 0o711)
  return path
}

function processNamespace(): string {
  try {
    const [id] = /\d+/.exec(readlinkSync('/proc/self/ns/pid')) ?? []
    // In few characters, because the path of a socket may be 100 bytes long.
    return Number(id).toString(36)
  } catch {
    // Only Linux has namespaces.
    return '0'
  }
}

function removeLeftovers(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = Number(name.match(`^${folderPrefix}(\\d+)-`)?.[1])
    if (Number.isNaN(pid) || processStart(pid) !== null) continue
    const path = join(tmpdir(), name)
    // Another test run may remove it meanwhile.
    const owner = lstatSync(path, { throwIfNoEntry: false })?.uid
    if (owner !== undefined && owner === process.getuid?.()) remove(path)
  }
}

/** Removes a folder and kills the PostgreSQL servers that interrupted tests left in it. */
function remove(path: string): void {
  for (const file of globSync('{*,*/*,*/*/*,*/*/*/*}/postmaster.pid', { cwd: path })) {
    const server = runningServer(join(path, dirname(file)))
    if (server !== null) signalAll([server.pid], 'SIGKILL')
  }
  // Children of a dead server may still write for a moment.
  rmSync(path, { recursive: true, force: true, maxRetries: 20 })
}
