/** A database for each test file: a copy of the migrated template. */
import { randomBytes } from 'node:crypto'
import { Client, DatabaseError } from 'pg'
import { type Db, openDb } from '../../../src/platform/db/db.ts'
import './timeout-multiplier.ts'

export interface TestDatabase {
  url: string
  db: Db
  /** Takes the database away for good: ends every connection and refuses new ones. */
  takeAway(): Promise<void>
  /** Closes `db`, ends every other connection and drops the database. */
  drop(): Promise<void>
}

/**
 * Creates a migrated database without rows, or a copy of `original`, whose connections it ends.
 * Drop it with `after(() => database.drop())`.
 */
export async function testDatabase(original?: TestDatabase): Promise<TestDatabase> {
  const { server, template } = testServer()
  const name = newName()
  await original?.takeAway()
  await copyTemplate(server, {
    name,
    template: original === undefined ? template : new URL(original.url).pathname.slice(1),
  })
  return opened(server, name)
}

/** Creates a database without migrations. */
export async function emptyDatabase(): Promise<TestDatabase> {
  const { server } = testServer()
  const name = newName()
  await onServer(server, `create database ${name}`)
  return opened(server, name)
}

function testServer() {
  const { ASSAY_TEST_SERVER: server, ASSAY_TEST_TEMPLATE: template } = process.env
  if (server === undefined || template === undefined)
    throw new Error('Run tests with `npm test [-- files…]`: it starts the database they need.')
  return { server, template }
}

function newName(): string {
  return `assay_test_${randomBytes(6).toString('hex')}`
}

function opened(server: string, name: string): TestDatabase {
  const url = databaseUrl(server, name)
  const db = openDb({
    url,
    connectionsMax: 8,
    applicationName: name,
    statementTimeoutMs: 60_000,
    connectionWaitMs: 60_000,
    onError: () => {},
  })
  return {
    url,
    db,
    takeAway: async () => {
      await onServer(server, `alter database ${name} allow_connections false`)
      await onServer(
        server,
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
      )
    },
    drop: async () => {
      await db.close()
      await onServer(server, `drop database if exists ${name} with (force)`)
    },
  }
}

const copyAttemptsMax = 100
const objectInUse = '55006'

/**
 * Copies the template. PostgreSQL refuses the copy while another session is connected to the
 * template, including a copy for another test file.
 */
async function copyTemplate(server: string, copy: { name: string; template: string }) {
  for (let attempt = 1; ; attempt++) {
    try {
      const statement = `create database ${copy.name} template ${copy.template} strategy file_copy`
      return await onServer(server, statement)
    } catch (error) {
      const isBusy = error instanceof DatabaseError && error.code === objectInUse
      if (!isBusy || attempt === copyAttemptsMax) throw error
    }
  }
}

/** Returns the URL of another database on the same server. */
export function databaseUrl(server: string, name: string): string {
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}

/** Runs one statement outside a transaction, on its own connection. */
export async function onServer(server: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: server })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
