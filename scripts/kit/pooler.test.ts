/** PgBouncer with its file of deploy/ between the service and a PostgreSQL with passwords. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { ask } from '../../test/support/start/ask.ts'
import { onServer } from '../../test/support/start/database.ts'
import {
  missingPgBouncer,
  ownedFolder,
  startGuarded,
  startOwnPostgres,
} from '../../test/support/start/debian-postgres.ts'
import { fencesOf } from '../../test/support/start/docs-page.ts'
import { editedFile } from '../../test/support/start/edited-file.ts'
import {
  eventually,
  freePort,
  report,
  startServer,
  temporaryFolder,
} from '../../test/support/start/processes.ts'
import { accepts } from '../../test/support/start/proxies.ts'
import { testAuthority } from '../../test/support/start/receiver.ts'

test('the service serves through PgBouncer with its file, by TLS and the password of its user', {
  skip: missingPgBouncer,
}, async () => {
  const folder = temporaryFolder()
  const server = await startOwnPostgres(folder)
  await onServer(server.url, "alter role assay password 'a secret'")
  await onServer(server.url, 'create database assay')
  const place = join(folder, 'pooler')
  ownedFolder(place)
  const port = await freePort()
  const { cert, key } = testAuthority().certify('localhost')
  const text = editedFile('deploy/pgbouncer/pgbouncer.ini', [
    ['host=10.0.0.21 port=5432', `host=${server.socketFolder} port=${server.port}`],
    ['listen_addr = *', 'listen_addr = 127.0.0.1'],
    ['listen_port = 6432', `listen_port = ${port}`],
    ['/etc/pgbouncer/', `${place}/`],
    // The database of this test has a socket alone, which has no TLS.
    ['server_tls_sslmode = verify-full', 'server_tls_sslmode = prefer'],
  ])
  const page = fencesOf(readFileSync('docs/pgbouncer.md', 'utf8'))
  const query = page.find((fence) => fence.text.includes('pg_authid'))?.text ?? assert.fail()
  const psql = query.replaceAll(/^ +/gm, '').replace('psql', `psql '${server.url}'`)
  execFileSync('sh', ['-c', psql], { cwd: place })
  const files = { 'pgbouncer.ini': text, 'fullchain.pem': cert, 'privkey.pem': key }
  for (const [name, content] of Object.entries(files)) writeFileSync(join(place, name), content)
  writeFileSync(join(folder, 'ca.pem'), testAuthority().cert)
  const { stop } = startGuarded(place, ['/usr/sbin/pgbouncer', '-q', join(place, 'pgbouncer.ini')])
  after(stop)

  const tls = `sslmode=verify-full&sslrootcert=${join(folder, 'ca.pem')}`
  const env = {
    DATABASE_URL: `postgres://assay:a%20secret@localhost:${port}/assay?${tls}`,
    DATABASE_POOLING: 'transaction',
    ASSAY_DATA_DIR: join(folder, 'data'),
    PUBLIC_URL: 'https://scores.example.org',
    SECRETS_KEYRING: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
  }
  await eventually('PgBouncer listens', { see: async () => accepts(port) })
  await report(['migrate'], env)
  await report(['keys', 'create'], env)
  await report(['accounts', 'create', 'Reader'], env)
  await report(['credits', 'grant', 'Reader', '1', '--reason', 'test'], env)
  const made = await report(['api-keys', 'create', 'Reader', '--scope', 'candidates:read'], env)
  const { base } = await startServer(env)
  const reply = await ask(base, {
    path: '/api/v1/candidates/search?q=sql',
    headers: { Authorization: `Bearer ${String(made.key)}` },
  })
  assert.equal(reply.status, 200, String(reply.body))
  assert.equal(reply.headers['service-credits-charged'], '1')
  await eventually('the node is ready', {
    see: async () => (await ask(base, { path: '/readyz' })).status === 200,
  })
  const wrong = { ...env, DATABASE_URL: env.DATABASE_URL.replace('a%20secret', 'wrong') }
  await assert.rejects(report(['accounts', 'list'], wrong))
})
