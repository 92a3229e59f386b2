/**
 * An upgrade while nodes serve: the previous release works with the newer schema until a
 * contracting migration excludes it.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { after, test } from 'node:test'
import { migrate } from '../../src/database/migrate.ts'
import { publicUrl } from '../support/build/credentials.ts'
import { publicLine } from '../support/build/workers.ts'
import {
  callKinds,
  callOf,
  type LoadParts,
  type MixedLoad,
  mixedLoad,
} from '../support/fault/mixed-load.ts'
import { emptyDatabase, testDatabase } from '../support/start/database.ts'
import { credentialsIn, get, scoreLine, verify } from '../support/start/deployment.ts'
import {
  assay,
  type Env,
  eventually,
  report,
  startServer,
  temporaryFolder,
} from '../support/start/processes.ts'

const username = 'ada-upgrade'

/**
 * Returns a migrated database with a signing key, a public candidate, a credential and an API key
 * with credits.
 */
async function installation(
  file?: string,
): Promise<{ env: Env; folder: string; parts: LoadParts }> {
  const database = await (file === undefined ? testDatabase() : emptyDatabase())
  after(() => database.drop())
  const folder = temporaryFolder()
  const env: Env = {
    DATABASE_URL: database.url,
    ASSAY_DATA_DIR: folder,
    PUBLIC_URL: publicUrl,
    TRUSTED_PROXIES: '127.0.0.1',
    SECRETS_KEYRING: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
    KEY_CALLS_PER_MINUTE: '60000',
  }
  const run = (...args: string[]) => report(args, env, file)
  await run('migrate')
  await run('keys', 'create')
  const from = join(folder, 'people.ndjson')
  writeFileSync(from, `${JSON.stringify(publicLine({ username }))}\n`)
  await run('workers', 'import', '--from', from)
  await run('accounts', 'create', 'Reader')
  const scopes = ['scores:read', 'candidates:read', 'webhooks:write']
  const { key } = await run(
    'api-keys',
    'create',
    'Reader',
    ...scopes.flatMap((one) => ['--scope', one]),
  )
  await run('credits', 'grant', 'Reader', '1000000', '--reason', 'test')
  const [scores, out] = [join(folder, 'scores.ndjson'), join(folder, 'issued.ndjson')]
  writeFileSync(scores, `${JSON.stringify(scoreLine())}\n`)
  await run('credentials', 'issue', '--from', scores, '--out', out)
  const [credential] = credentialsIn(out)
  assert.ok(credential !== undefined)
  return { env, folder, parts: { credential, username, key: String(key) } }
}

/**
 * Copies the migrations of this tree and adds one. Returns the folder and the number of the added
 * migration.
 */
function oneMore(
  folder: string,
  make: (number: string) => string,
): { directory: string; number: string } {
  const directory = join(folder, 'migrations')
  mkdirSync(directory)
  cpSync('migrations', directory, { recursive: true })
  const number = String(readdirSync(directory).length + 1).padStart(4, '0')
  writeFileSync(join(directory, `${number}_one_more.sql`), make(number))
  return { directory, number }
}

test('503: a node that is older than the schema says so, serves public documents and does not crash', async () => {
  const { env, folder, parts } = await installation()
  const server = await startServer(env)
  const kept = await verify(server.base, parts.credential)
  assert.equal(kept.body.valid, true)
  const ready = await get(server.base, '/readyz')
  assert.equal(ready.status, 200)
  assert.equal((ready.body.checks as Record<string, string>).schema, 'ok')

  const { directory, number } = oneMore(
    folder,
    (own) => `-- contract: nodes that know ${own} or later
      drop function search_pages; alter view public_profiles rename to profiles_of_before;
      alter view public_scores rename to scores_of_before;
      alter table webhook_endpoints rename column url to url_of_before;`,
  )
  await migrate(env.DATABASE_URL ?? '', directory, new Date())
  // No probe has run yet: the first failing statement detects the newer schema.
  for (const kind of callKinds.filter((one) => one !== 'verify')) {
    const reply = await callOf(server.base, kind, parts)
    const text = reply.body.toString()
    assert.equal(reply.status, 503, `${kind}: ${text}`)
    assert.match(text, /"error":"unavailable","message":"This server runs an older release/)
    assert.equal(reply.headers['retry-after'], '60')
  }
  const verdict = await verify(server.base, parts.credential)
  assert.deepEqual([verdict.status, verdict.body.valid], [200, false])
  const left = await get(server.base, '/readyz')
  assert.equal(left.status, 503)
  const { schema } = left.body.checks as Record<string, string>
  assert.match(
    String(schema),
    new RegExp(`^the database needs a release that knows migration ${number}`),
  )
  for (const path of [
    '/standard/v1/skills',
    '/.well-known/did.json',
    '/api/v1/openapi.json',
    '/healthz',
  ])
    assert.equal((await get(server.base, path)).status, 200, path)

  const words = new RegExp(`needs a release that knows migration ${number}`)
  for (const args of [['serve'], ['jobs'], ['migrate'], ['workers', 'show', username]]) {
    const { ended, out, err } = await assay(args, env)
    assert.deepEqual([args, ended], [args, 1])
    assert.match(out + err, words)
  }
  const asked = await assay(['migrate', '--status'], env)
  assert.deepEqual([asked.ended, words.test(asked.out)], [1, true])
  const doctor = await assay(['doctor'], env)
  assert.match(doctor.out, /^fail +schema .*install a newer release/m)

  assert.equal(server.hasEnded(), false)
  server.signal('SIGINT')
  assert.equal(await server.ended, 0)
})

test('a readiness probe detects a newer schema even if no statement has failed', async () => {
  const database = await testDatabase()
  after(() => database.drop())
  const folder = temporaryFolder()
  const env = { DATABASE_URL: database.url, ASSAY_DATA_DIR: folder, PUBLIC_URL: publicUrl }
  const server = await startServer(env, ['--no-jobs'])
  const { directory } = oneMore(folder, (own) => `-- contract: nodes that know ${own} or later`)
  await migrate(database.url, directory, new Date())
  assert.equal((await get(server.base, '/readyz')).status, 503)
  server.signal('SIGINT')
  assert.equal(await server.ended, 0)
})

const before = readFileSync('test/release-before', 'utf8').trim()
const missingHistory =
  spawnSync('git', ['cat-file', '-e', `${before}^{commit}`]).status !== 0 &&
  `the commit ${before} of test/release-before is not in the history here: fetch all of it`

test('a released migration never changes', { skip: missingHistory }, () => {
  for (const file of releasedMigrations()) {
    const released = execFileSync('git', ['show', `${before}:${file}`], { encoding: 'utf8' })
    assert.equal(readFileSync(file, 'utf8'), released, `restore ${file} and add a migration`)
  }
})

/**
 * Finds statements that remove or rename a thing that a node of the previous release may use. A
 * function may drop the partition that its caller names (`%I`). A trigger may refuse to truncate.
 */
const contracting =
  /\b(drop\s+(table|view|function|column|type|schema)\b(?!\s+%I)|rename\s+(to|column)|alter\s+column\s+\w+\s+(type|set\s+not\s+null|set\s+data)|truncate(?!\s+on\b))\b/i

test('every new migration is additive, or says which nodes can work beside it', {
  skip: missingHistory,
}, () => {
  const released = releasedMigrations()
  for (const file of globSync('migrations/*.sql').filter((name) => !released.includes(name))) {
    const text = readFileSync(file, 'utf8')
    const found = contracting.exec(text.replaceAll(/--.*$/gm, ''))?.[0]
    assert.ok(
      found === undefined || /^-- contract: /m.test(text),
      `${file}: \`${found}\` breaks nodes of the release before: see docs/write-a-migration.md`,
    )
  }
  assert.match('alter table a drop column b', contracting)
  assert.match('drop table b', contracting)
  assert.match('truncate b', contracting)
  assert.doesNotMatch('create trigger c before update or truncate on b', contracting)
  assert.doesNotMatch("execute format('drop table %I', name)", contracting)
  assert.doesNotMatch('alter table a add column b int; create index on a (b)', contracting)
})

function releasedMigrations(): string[] {
  const args = ['ls-tree', '-r', '--name-only', before, 'migrations/']
  return execFileSync('git', args, { encoding: 'utf8' }).trim().split('\n')
}

/**
 * Unpacks the tree of the previous release, links the packages of this one, and bundles it. Returns
 * its command file.
 */
async function treeBefore(): Promise<string> {
  const tree = temporaryFolder()
  const archive = execFileSync('git', ['archive', before], { maxBuffer: 256 * 1_048_576 })
  execFileSync('tar', ['-x', '-C', tree], { input: archive })
  symlinkSync(resolve('node_modules'), join(tree, 'node_modules'))
  const { bundle } = await import(resolve('scripts/runtime/program.mjs'))
  await bundle(tree, join(tree, 'program'))
  return join(tree, 'program/assay.mjs')
}

test('nodes of the previous and of this release serve during a migration, and no call fails', {
  skip: missingHistory,
}, async () => {
  const file = await treeBefore()
  const { env, folder, parts } = await installation(file)
  const old = await startServer(env, [], file)
  const onOld = mixedLoad(old.base, parts)
  await several(onOld)
  await report(['migrate'], env)
  // Applies an additive migration on tables in use, because this release may add none.
  const { directory } = oneMore(
    folder,
    () => `create table added_later (id int primary key);
      alter table api_keys add column added_later text default 'x';
      alter table workers add column added_later text;`,
  )
  await migrate(env.DATABASE_URL ?? '', directory, new Date())
  await several(onOld)
  const young = await startServer(env)
  const restarted = await startServer(env, [], file)
  const loads = [onOld, mixedLoad(young.base, parts), mixedLoad(restarted.base, parts)]
  await Promise.all(loads.map(several))
  for (const load of loads) {
    await load.stop()
    assert.deepEqual(load.failed, [])
  }
  for (const { base } of [old, young, restarted])
    assert.equal((await get(base, '/readyz')).status, 200)
  for (const server of [old, young, restarted]) server.signal('SIGINT')
  for (const server of [old, young, restarted]) assert.equal(await server.ended, 0)
})

/** Waits until five more calls of each kind have the expected answer, or one call has failed. */
async function several({ done, failed }: MixedLoad): Promise<void> {
  const from = { ...done }
  await eventually('five more calls of each kind are answered', {
    see: async () => failed.length > 0 || callKinds.every((kind) => done[kind] >= from[kind] + 5),
  })
  assert.deepEqual(failed, [])
}
