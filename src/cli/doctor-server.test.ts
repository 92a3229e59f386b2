import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { databaseUrl, emptyDatabase, onServer } from '../../test/support/start/database.ts'
import { openDb } from '../platform/db/db.ts'
import { checkDatabaseServer } from './doctor-server.ts'

const { url, drop } = await emptyDatabase()
after(() => drop())
const name = new URL(url).pathname.slice(1)
/** A connection to the database itself may have become read-only. */
const server = databaseUrl(url, 'postgres')

const one = {
  databaseConnectionsMax: 10,
  processes: 1,
  nodes: 1,
  databasePooling: 'session',
} as const

/** Returns one line for each finding on a new connection. */
async function examine(scale: Parameters<typeof checkDatabaseServer>[1] = one, at = url) {
  const db = openDb({ url: at, connectionsMax: 1, applicationName: 'doctor', onError: () => {} })
  try {
    const findings = await checkDatabaseServer(db, scale)
    return findings.map(({ level, message }) => `${level} ${message}`).join('\n')
  } finally {
    await db.close()
  }
}

const alter = (text: string): Promise<void> => onServer(server, `alter database ${name} ${text}`)

for (const [text, message] of [
  [`set log_statement = 'mod'`, /^warn log_statement is mod: .*personal data/m],
  [`set log_min_duration_statement = 99`, /^warn log_min_duration_statement is 99: /m],
  [`set idle_in_transaction_session_timeout = '9s'`, /^warn idle_in_\w+ is 9000: /m],
  [`set zero_damaged_pages = on`, /^warn zero_damaged_pages is on: /m],
  [`set search_path = pg_catalog`, /^fail .*schema pg_catalog, not to public/m],
  [`set default_transaction_read_only = on`, /^fail .*nothing can be written/m],
] as const)
  test(`doctor names a harmful server setting: ${text}`, async () => {
    assert.doesNotMatch(await examine(), message)
    await alter(text)
    try {
      assert.match(await examine(), message)
    } finally {
      await alter(`reset ${/set (\w+)/.exec(text)?.[1]}`)
    }
  })

test('doctor accepts settings just within their limits and settings that each connection sets itself', async () => {
  const harmless: Record<string, string> = {
    log_statement: `'ddl'`,
    log_min_duration_statement: '100',
    idle_in_transaction_session_timeout: `'10s'`,
    jit: 'on',
    synchronous_commit: 'off',
    default_transaction_isolation: `'serializable'`,
    timezone: `'Asia/Kathmandu'`,
  }
  const before = await examine()
  for (const [setting, value] of Object.entries(harmless)) await alter(`set ${setting} = ${value}`)
  assert.equal(await examine(), before)
  assert.match(before, /^ok all \d+ that the code needs are in force/m)
})

test('doctor fails a server that cannot write a file, as on a full disk', async () => {
  await alter('set temp_file_limit = 0')
  assert.match(await examine(), /^fail it cannot write a file \(SQLSTATE 53400: .*make room/m)
  await alter('reset temp_file_limit')
})

test('doctor warns if the deployment may open more connections than the server gives it', async () => {
  const words = /^warn it has (\d+) connections for this role, and up to (\d+) may be used/m
  await alter('connection limit 15')
  assert.deepEqual(words.exec(await examine())?.slice(1), ['15', '16'])
  assert.doesNotMatch(await examine({ ...one, databasePooling: 'transaction' }), words)
  await alter('connection limit 17')
  assert.doesNotMatch(await examine(), words)
  const two = { ...one, databaseConnectionsMax: 2, processes: 2 }
  assert.doesNotMatch(await examine(two), words)
  assert.deepEqual(words.exec(await examine({ ...two, nodes: 2 }))?.slice(1), ['17', '32'])
})

test('doctor fails a database that is not in UTF-8', async () => {
  const latin1 = `${name}_latin1`
  await onServer(
    server,
    `create database ${latin1} encoding 'LATIN1' locale 'C' template template0`,
  )
  try {
    const message = await examine(one, databaseUrl(url, latin1))
    assert.match(message, /^fail the encoding of the database is LATIN1/m)
  } finally {
    await onServer(server, `drop database ${latin1}`)
  }
})
