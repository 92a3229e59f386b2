/**
 * Measures public pages: static pages beside a bare node:http server with the same bytes and
 * headers, in answers per second of the server's processor time; profile and badge beside a read of
 * the same candidates by key without a charge, in answers per second. The contestants take turns.
 * Lighthouse then audits the pages.
 */
import { generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'
import { issueCredentials, tendLists } from '../src/credentials/issue.ts'
import { originOf } from '../src/credentials/payload.ts'
import { signerOfPem } from '../src/credentials/signing-key.ts'
import { type Db, sql } from '../src/platform/db/db.ts'
import { contextAt } from '../test/support/build/actions.ts'
import { score } from '../test/support/build/credentials.ts'
import { createSigningKey } from '../test/support/build/signing-keys.ts'
import { publicLine, register } from '../test/support/build/workers.ts'
import { makeAccount } from './credits-setup.ts'
import { median, report } from './measure.ts'
import { auditPages } from './pages-lighthouse.ts'
import {
  bareServer,
  cpuSeconds,
  fetchAnswer,
  freePort,
  load,
  publicUrl,
  requestsFile,
  startService,
  type Target,
} from './serving.ts'

const seconds = Number(process.env.BENCH_SECONDS ?? 1)
const rounds = Number(process.env.BENCH_ROUNDS ?? 7)
const connections = 64
const workerCount = 200
const requestCount = 4_000
const staticTarget = { min: 0.8 }
const dynamicTarget = { min: 0.4 }

const username = (i: number): string => `shown-${String(i % workerCount).padStart(4, '0')}`

interface Setup {
  db: Db
  url: string
  folder: string
}

export async function benchPublicPages({ db, url, folder }: Setup): Promise<void> {
  await makeProfiles(db)
  const { keys } = await makeAccount(db, 20)
  await db.run(sql`analyze`)
  const service = await startService({
    DATABASE_URL: url,
    ASSAY_DATA_DIR: join(folder, 'public'),
    KEY_CALLS_PER_MINUTE: '60000',
    KEY_CALLS_PER_DAY: '100000000',
    METERING: 'off',
    TRUSTED_PROXIES: '127.0.0.1',
  })
  const file = (name: string, path: (i: number) => string, header: (i: number) => string) =>
    requestsFile(
      join(folder, name),
      Array.from(
        { length: requestCount },
        (_, i) => `GET ${path(i)} HTTP/1.1\r\nHost: localhost\r\n${header(i)}\r\n\r\n`,
      ),
    )
  try {
    for (const path of ['/', '/verify', '/docs']) {
      const headers = { 'Accept-Encoding': 'br' }
      const bare = await bareServer(
        await fetchAnswer(service.port, { method: 'GET', path, headers }),
      )
      const order = file(
        'static',
        () => path,
        () => 'Accept-Encoding: br',
      )
      const ratio = await ratioOf(
        () => rate(service, order, 'processor'),
        () => rate(bare, order, 'processor'),
      )
      bare.stop()
      report('pages', [
        { name: `${path}: rate / bare node:http`, value: ratio, unit: '×', target: staticTarget },
      ])
    }
    const read = file(
      'read',
      (i) => `/api/v1/candidates/${username(i)}`,
      (i) => `Authorization: Bearer ${keys[i % keys.length] ?? ''}`,
    )
    for (const end of ['', '/badge.svg']) {
      const page = file('profile', (i) => `/u/${username(i)}${end}`, addressOf)
      const ratio = await ratioOf(
        () => rate(service, page, 'wall'),
        () => rate(service, read, 'wall'),
      )
      report('pages', [
        {
          name: `/u/{username}${end}: rate / read without charge`,
          value: ratio,
          unit: '×',
          target: dynamicTarget,
        },
      ])
    }
  } finally {
    await service.stop()
  }
  await auditAll({ DATABASE_URL: url, ASSAY_DATA_DIR: join(folder, 'public') })
}

const audited = [
  '/',
  '/verify',
  '/status',
  `/u/${username(0)}`,
  '/standard',
  '/standard/skills/typescript',
  '/standard/bands',
  '/standard/vocab',
  '/docs',
  '/docs/start',
  '/docs/errors/rate_limited',
  '/docs/api',
  '/docs/api/reportAgentDecision',
  '/changelog',
]

/** Search engines may list every page, so that the audit is about the pages and not the setting. */
async function auditAll(settings: Record<string, string>): Promise<void> {
  const PORT = String(await freePort())
  const base = `http://localhost:${PORT}`
  const service = await startService({
    ...settings,
    PORT,
    PUBLIC_URL: base,
    PROFILE_INDEXING: 'on',
  })
  try {
    await auditPages(base, audited)
  } finally {
    await service.stop()
  }
}

/** So many addresses that none reaches its limit. */
function addressOf(i: number): string {
  return `X-Forwarded-For: 10.${(i >> 8) & 255}.${i & 255}.1`
}

async function ratioOf(ours: () => Promise<number>, other: () => Promise<number>): Promise<number> {
  const ratios: number[] = []
  for (let round = -1; round < rounds; round++) {
    const ratio = (await ours()) / (await other())
    if (round >= 0) ratios.push(ratio)
  }
  return median(ratios)
}

/** Returns answers per second: of the server's processor time, or of the clock on the wall. */
async function rate(
  { port, pids }: Target,
  file: string,
  per: 'processor' | 'wall',
): Promise<number> {
  const before = cpuSeconds(pids)
  const order = { requestsFile: file, expectedStatus: 200, connections, seconds }
  const { answers, seconds: took } = await load({ ...order, port })
  return answers / (per === 'wall' ? took : cpuSeconds(pids) - before)
}

/** Workers with a public score and a valid credential. */
async function makeProfiles(db: Db): Promise<void> {
  const now = new Date()
  const { privateKey } = generateKeyPairSync('ed25519')
  const signer = signerOfPem(String(privateKey.export({ type: 'pkcs8', format: 'pem' })))
  if (signer === null) throw new Error('a private key gives a signer')
  await createSigningKey(contextAt(db, now), signer.kid)
  const issuer = { origin: originOf(publicUrl), signer, validityDays: 365, supersedeRevokes: false }
  await tendLists(db, issuer, now)
  await db.run(sql`
    insert into scoring_vocabularies (vocabulary_sha256, rules, first_used_at)
    values (sha256('{}'), '{}', ${now}) on conflict do nothing`)
  const skills = ['Go', 'SQL', 'Rust'].map((name) => ({ name, verified: true, level: 'expert' }))
  for (let i = 0; i < workerCount; i++) {
    const name = username(i)
    const line = { username: name, externalId: name, displayName: `Person ${i}`, skills }
    await register(db, [publicLine({ ...line, title: 'Engineer' })])
    const [issued] = await db.transaction((tx) =>
      issueCredentials(tx, issuer, [{ ...score({ username: name }), issuedAt: now }]),
    )
    if (issued === undefined) throw new Error('nothing was issued')
    await db.run(sql`
      insert into score_snapshots (snapshot_id, worker_id, state, change, as_of, engine_id,
        engine_version, engine_sha256, vocabulary_sha256, evidence_root, score, confidence_low,
        confidence_high, band, evidence_count, source_count, issued_at, vc_sha256, status_token)
      select sha256(${Buffer.from(name)}), worker_id, 'active', 'first', '2026-05-14', 'hsc', '1.0.0',
        sha256('e'), sha256('{}'), sha256('r'), 742, 701, 778, 'strong', 3, 3, ${now},
        ${Buffer.from(issued.vcSha256, 'hex')}, ${Buffer.from(issued.statusToken, 'hex')}
      from profiles where username = ${name}`)
  }
}
