/**
 * Once a test run: a PostgreSQL (our own, without fsync, in a temporary folder; or TEST_DATABASE_URL) and in it a template that
 * has all migrations. Test files copy the template (`testDatabase`). Tests find both through the environment.
 */
import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/platform/embedded-postgres.ts'
import { migrate } from '../../src/platform/migrate.ts'
import { processStart } from '../../src/platform/process-mark.ts'
import { databaseUrl, onServer } from './database.ts'

const folderPrefix = 'assay-test-'

let server: EmbeddedPostgres | undefined
let folder: string | undefined
const template = `assay_template_${process.pid}`

export async function globalSetup(): Promise<void> {
  try {
    const url = process.env.TEST_DATABASE_URL ?? (await startServer())
    await onServer(url, `create database ${template}`)
    await migrate(
      databaseUrl(url, template),
      resolve(import.meta.dirname, '../../migrations'),
      new Date(),
    )
    process.env.ASSAY_TEST_SERVER = url
    process.env.ASSAY_TEST_TEMPLATE = template
  } catch (error) {
    await globalTeardown()
    throw error
  }
}

export async function globalTeardown(): Promise<void> {
  const outside = process.env.TEST_DATABASE_URL
  if (outside !== undefined) await onServer(outside, `drop database if exists ${template}`)
  await server?.stop()
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
}

async function startServer(): Promise<string> {
  await removeLeftovers()
  folder = mkdtempSync(join(tmpdir(), `${folderPrefix}${process.pid}-`))
  server = await startEmbeddedPostgres({ dataDir: folder, durable: false, log: () => {} })
  return server.url
}

/** A run that was killed could not clean up: adopting its server and leaving it again stops it. */
async function removeLeftovers(): Promise<void> {
  for (const name of readdirSync(tmpdir())) {
    const pid = Number(name.match(`^${folderPrefix}(\\d+)-`)?.[1])
    if (Number.isNaN(pid) || processStart(pid) !== null) continue
    const dataDir = join(tmpdir(), name)
    if (lstatSync(dataDir).uid !== process.getuid?.()) continue
    try {
      const left = await startEmbeddedPostgres({ dataDir, durable: false, log: () => {} })
      await left.stop()
      rmSync(dataDir, { recursive: true, force: true })
    } catch {
      // What cannot be cleaned up does no harm to this run.
    }
  }
}
