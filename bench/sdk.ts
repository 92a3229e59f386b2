/**
 * Measures the SDK: the time of its import, the size of verification alone, offline verification
 * beside the service's own verifier and bare WebCrypto, and the event feed of a real service.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { generateKeyPairSync, sign, verify } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { Client } from '../packages/sdk/src/index.ts'
import { verifyCredential } from '../packages/sdk/src/verify.ts'
import { createAccount, createApiKey } from '../src/accounts/access/manage.ts'
import { didDocumentOf } from '../src/credentials/documents.ts'
import { bitsOf, statusListPayload, statusListProofs } from '../src/credentials/status-list.ts'
import { verifyOffline } from '../src/credentials/verify-offline.ts'
import { migrate } from '../src/database/migrate.ts'
import { openDb, sql } from '../src/platform/db/db.ts'
import { parseStrictJson } from '../src/platform/json/strict-json.ts'
import {
  inside,
  type Json,
  keyRow,
  now,
  origin,
  signer,
  vectorCredentials,
} from '../test/support/build/credentials.ts'
import { fanOut, happen } from '../test/support/build/webhooks.ts'
import { startPostgres } from './children.ts'
import { type Contestant, costsOf, median, report } from './measure.ts'
import { startService } from './serving.ts'

const root = join(import.meta.dirname, '..')
const events = 20_000
const folder = mkdtempSync(join(tmpdir(), 'assay-bench-'))
// The user that runs the database server must be able to enter.
chmodSync(folder, 0o755)

try {
  await benchPackage()
  await benchVerify()
  await benchFeed()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function benchPackage(): Promise<void> {
  const dist = join(folder, 'dist')
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const project = join(root, 'packages/sdk/tsconfig.build.json')
  execFileSync(process.execPath, [compiler, '-p', project, '--outDir', dist])
  const file = join(dist, 'index.js')
  const program = `const start = performance.now(); await import(${JSON.stringify(file)}); console.log(performance.now() - start)`
  const env = { ...process.env, NODE_COMPILE_CACHE: undefined }
  const imports = Array.from({ length: 21 }, () =>
    Number(
      spawnSync(process.execPath, ['--input-type=module', '-e', program], { env, encoding: 'utf8' })
        .stdout,
    ),
  )
  const { build } = await import(join(root, 'test/clients/sdk/node_modules/esbuild/lib/main.js'))
  const { outputFiles } = await build({
    stdin: { contents: `export { verifyCredential } from './verify.js'`, resolveDir: dist },
    bundle: true,
    minify: true,
    format: 'esm',
    write: false,
  })
  report('package of the SDK', [
    // Other work on the machine only adds to a time, so the fastest start tells the most.
    { name: 'import under Node', value: Math.min(...imports), unit: 'ms', target: { max: 10 } },
    {
      name: 'verification alone, bundled, in gzip',
      value: gzipSync(outputFiles[0].contents, { level: 9 }).length,
      unit: 'bytes',
      target: { max: 4_608 },
    },
  ])
}

/** The same text, key document and list for both. The SDK reads a list once for many credentials. */
async function benchVerify(): Promise<void> {
  const { native } = vectorCredentials
  const url = String(inside(native, 'credentialStatus').statusListCredential)
  const revoked = Array.from({ length: 983 }, (_, i) => (i * 7_919) % 94_000)
  const listId = url.split('/').at(-1) ?? ''
  const payload = statusListPayload(origin, { listId, bits: bitsOf(revoked), publishedAt: now })
  const list = { ...payload, proof: statusListProofs(payload, origin, signer)['eddsa-jcs-2022'] }
  const keyDocument = didDocumentOf(origin, [keyRow(signer)])
  const text = JSON.stringify(native)
  const body = Buffer.from(text)
  const other = { ...payload, proof: statusListProofs(payload, origin, signer).native }
  const here = async (statusList: Json): Promise<void> => {
    const verdict = await verifyCredential(text, { keyDocument, statusLists: [statusList], now })
    if (!verdict.valid) throw new Error(`the SDK says ${verdict.reason}`)
  }
  const there = (): void => {
    const { value } = parseStrictJson(body) as { value: Json }
    const { valid, reason } = verifyOffline(value, null, {
      files: { key: keyDocument, lists: [list] },
      now,
    })
    if (!valid) throw new Error(`the service says ${reason}`)
  }
  const costs = await costsOf([
    { name: 'SDK, one list', run: () => here(list), operations: 200 },
    { name: 'SDK, another list each time', run: inTurnOf(list, other, here), operations: 200 },
    { name: 'module of the service', run: there, operations: 200 },
    ...(await bareCalls()),
  ])
  report('offline verification, a credential and its list', [
    ...costs.names.map((name) => ({ name, value: costs.of(name), unit: 'µs of processor' })),
    {
      name: 'SDK, one list / module of the service',
      value: costs.ratio('module of the service', 'SDK, one list'),
      unit: '×',
      target: { max: 1.2 },
    },
  ])
}

function inTurnOf<Item>(one: Item, other: Item, use: (item: Item) => unknown): () => unknown {
  let count = 0
  return () => use(count++ % 2 === 0 ? one : other)
}

/** What one signature needs: a key, two digests and the verification. */
async function bareCalls(): Promise<Contestant[]> {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const bytes = Buffer.alloc(64, 1)
  const signature = sign(null, bytes, privateKey)
  const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')
  const { subtle } = crypto
  return [
    {
      name: 'bare crypto.subtle.verify',
      run: await (async () => {
        const key = await subtle.importKey('raw', raw, 'Ed25519', false, ['verify'])
        return () => subtle.verify('Ed25519', key, signature, bytes)
      })(),
      operations: 500,
    },
    {
      name: 'bare WebCrypto',
      run: async () => {
        await Promise.all([subtle.digest('SHA-256', bytes), subtle.digest('SHA-256', bytes)])
        const key = await subtle.importKey('raw', raw, 'Ed25519', false, ['verify'])
        if (!(await subtle.verify('Ed25519', key, signature, bytes))) throw new Error('it verifies')
      },
      operations: 500,
    },
    {
      name: 'bare node:crypto',
      run: () => {
        if (!verify(null, bytes, publicKey, signature)) throw new Error('it verifies')
      },
      operations: 500,
    },
  ]
}

async function benchFeed(): Promise<void> {
  const dataDir = join(folder, 'data')
  const postgres = await startPostgres({ dataDir, durable: false })
  await migrate(postgres.url, join(root, 'migrations'), new Date())
  const db = openDb({
    url: postgres.url,
    connectionsMax: 4,
    applicationName: 'bench',
    onError: () => {},
  })
  for (let made = 0; made < events; made += 2_000)
    await happen(db, 'score.updated', { count: 2_000, at: new Date() })
  while ((await fanOut(db, 500)).length > 0);
  const account = await db.transaction((tx) => createAccount(tx, 'bench', new Date()))
  if (account === null) throw new Error('no account')
  const wanted = { accountId: account.id, environment: 'live', name: 'bench' } as const
  const rights = { scopes: ['webhooks:write'], allowedFrom: null, expiresAt: null } as const
  const made = await db.transaction((tx) =>
    createApiKey(tx, { ...wanted, ...rights }, { now: new Date() }),
  )
  if ('refusal' in made) throw new Error(made.refusal)
  await db.run(sql`analyze`)
  const service = await startService({
    DATABASE_URL: postgres.url,
    ASSAY_DATA_DIR: join(folder, 'service'),
    KEY_CALLS_PER_MINUTE: '60000',
    TIMEOUT_MULTIPLIER: '20',
  })
  const client = new Client({ baseUrl: `http://127.0.0.1:${service.port}`, apiKey: made.key })
  const rates: number[] = []
  for (let round = 0; round < 6; round++) {
    const startedAt = performance.now()
    let count = 0
    for await (const { event } of client.webhooks.listen()) {
      if (event.type === 'score.updated' && ++count === events) break
    }
    rates.push((count / (performance.now() - startedAt)) * 1_000)
  }
  report(`listen, ${events} events of a real service`, [
    {
      name: 'events',
      value: median(rates.slice(1)),
      unit: 'events/s',
      target: { min: 5_000 },
    },
  ])
  await service.stop()
  await db.close()
  await postgres.stop()
}
