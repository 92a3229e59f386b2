/**
 * PostgreSQL is killed and restarted. Earlier search results become invalid, because transaction
 * ids may be assigned again.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { renewSearchEpoch } from '../../src/candidates/keep-index.ts'
import { candidateSearch } from '../../src/candidates/search.ts'
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/database/embedded/embedded-postgres.ts'
import { migrate } from '../../src/database/migrate.ts'
import { migrationsDirectory } from '../../src/database/open.ts'
import { type Db, openDb } from '../../src/platform/db/db.ts'
import { found, look, names, registerSeekers } from '../support/build/candidates.ts'
import { killPostgres, temporaryFolder } from '../support/start/processes.ts'

let db: Db
let postgres: EmbeddedPostgres
// Registered before the folder, because hooks run in order and the folder's own hook removes it.
after(async () => {
  await db.close()
  await postgres.stop()
})

const folder = temporaryFolder()
const startPostgres = () =>
  startEmbeddedPostgres({ dataDir: folder, durable: false, log: () => {} })

before(async () => {
  postgres = await startPostgres()
  await migrate(postgres.url, migrationsDirectory, new Date())
  const options = { connectionsMax: 2, applicationName: 'search', onError: () => {} }
  db = openDb({ url: postgres.url, ...options })
})

const javaPerson = (username: string) => {
  return { username, displayName: 'Nobody Known', skills: [{ name: 'Java' }] }
}

test('after a crash no result is cached until the jobs process renews the epoch; every restart invalidates earlier results', async () => {
  const search = candidateSearch(db, names)
  const shown = (): Promise<string[]> => found(search, 'java')
  await registerSeekers(db, [javaPerson('ada')])
  assert.deepEqual(await shown(), ['ada'])
  const { seen: first } = await look(db, 'java')
  assert.deepEqual(await look(db, 'java', first), { stands: true, seen: first })

  await killPostgres(folder)
  await postgres.stop()
  postgres = await startPostgres()
  assert.deepEqual(await look(db, 'java', first), { stands: false, seen: null })
  await registerSeekers(db, [javaPerson('bob')])
  assert.deepEqual(await shown(), ['ada', 'bob'])
  await renewSearchEpoch(db)
  const { stands, seen: second } = await look(db, 'java', first)
  assert.equal(stands, false)
  assert.equal((await look(db, 'java', second)).stands, true)

  await postgres.stop()
  postgres = await startPostgres()
  const { stands: stillStands, seen: third } = await look(db, 'java', second)
  assert.equal(stillStands, false)
  assert.equal((await look(db, 'java', third)).stands, true)
  await registerSeekers(db, [javaPerson('carl')])
  assert.deepEqual(await shown(), ['ada', 'bob', 'carl'])
})
