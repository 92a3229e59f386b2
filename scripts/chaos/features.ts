/**
 * Callers of every feature that changes something, and the check that nothing acknowledged is lost
 * or done twice. The callers of a feature remember each answer.
 */
import assert from 'node:assert/strict'
import { randomInt, randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { auditBooks } from '../../src/billing/credits/credits.ts'
import { type Db, sql } from '../../src/platform/db/db.ts'
import { newKey, type TestKey } from '../../test/support/build/keys.ts'
import { readBase64Json, testWallet } from '../../test/support/build/payments.ts'
import { newSession } from '../../test/support/build/sessions.ts'
import { testRingText } from '../../test/support/build/webhooks.ts'
import { publicLine } from '../../test/support/build/workers.ts'
import { type Arrivals, startArrivals } from '../../test/support/fault/event-load.ts'
import { assertCharged, type Calls } from '../../test/support/fault/paying-load.ts'
import type { Question, Reply } from '../../test/support/start/ask.ts'
import { startChain, type TestChain } from '../../test/support/start/chain/anvil.ts'
import {
  credentialsIn,
  type IssuedJson,
  pathOf,
  scoreLine,
} from '../../test/support/start/deployment.ts'
import { type MailServer, startMailServer } from '../../test/support/start/mail-server.ts'
import { signedFor } from '../../test/support/start/paid-reads.ts'
import { payTo } from '../../test/support/start/paid-server.ts'
import { assay, type Env, eventually, report } from '../../test/support/start/processes.ts'
import { testAuthority } from '../../test/support/start/receiver.ts'

export const publicUrl = 'https://scores.example.org'
const price = 10_000
const credits = 100_000_000

/** Sends a request from a client address. */
export type Ask = (question: Question, from?: string) => Promise<Reply>

export interface World {
  env: Env
  folder: string
  db: Db
  chain: TestChain
  mail: MailServer
  arrivals: Arrivals
  /** Tokens of the operator API, because each has a limit. */
  tokens: { imports: string; revocations: string; evidence: string }
  credential: IssuedJson
  /** The score of ada. */
  scoreId: string
  key: TestKey
}

/** Fills an empty database, and starts what the service talks to until the test ends. */
export async function prepareWorld(
  folder: string,
  { databaseUrl, db }: { databaseUrl: string; db: Db },
): Promise<World> {
  const chain = await startChain()
  after(() => chain.stop())
  const mail = await startMailServer()
  after(() => mail.stop())
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text, { mode: 0o600 })
    return join(folder, name)
  }
  const env: Env = {
    DATABASE_URL: databaseUrl,
    ASSAY_DATA_DIR: join(folder, 'data'),
    PUBLIC_URL: publicUrl,
    TRUSTED_PROXIES: '127.0.0.1',
    SECRETS_KEYRING: testRingText,
    KEY_CALLS_PER_MINUTE: '1000000',
    KEY_CALLS_PER_DAY: '100000000',
    SMTP_URL: mail.url,
    SMTP_CA_FILE: file('mail-ca.pem', mail.ca),
    MAIL_FROM: 'no-reply@scores.example.org',
    WEBHOOK_ALLOW_CIDRS: '127.0.0.1',
    WEBHOOK_PORTS: 'any',
    WEBHOOK_CA_FILE: file('hooks-ca.pem', testAuthority().cert),
    WEBHOOK_RETRY_SCHEDULE: '1,1,1,1,1,1,1,1,1',
    X402_FACILITATOR: 'local',
    X402_RPC_URL: chain.url,
    X402_RELAYER_KEY_FILE: file('relayer.key', chain.relayerKey),
    X402_PAY_TO: payTo,
    X402_SECRETS: 'a secret of at least thirty-two characters',
    X402_PRICE_CANDIDATE_SEARCH: String(price),
    X402_PRICE_CANDIDATE_LOOKUP: String(price),
    X402_PRICE_SCORE_LOOKUP: String(price),
  }
  await report(['migrate'], env)
  await report(['keys', 'create'], env)
  const arrivals = await startArrivals(db, 1)
  after(() => arrivals.close())
  const from = (name: string, lines: readonly object[]) => ['--from', file(name, linesOf(lines))]
  const registered = sources.map((id) => ({ id, name: id, kind: 'accredited', group: id }))
  await report(['workers', 'import', ...from('people', [publicLine()])], env)
  await report(['sources', 'register', ...from('sources', registered)], env)
  await report(['evidence', 'import', ...from('evidence', evidenceOf('ada'))], env)
  await report(['recompute'], env)
  const [score] = await db.rows<{ id: string }>(sql`
    select encode(snapshot_id, 'hex') as id from score_snapshots where state = 'active'`)
  const token = async (name: string) =>
    String((await report(['operators', 'create-token', name, '--role', 'admin'], env)).secret)
  const issued = await issueTwo(env, folder)
  return {
    env,
    folder,
    db,
    chain,
    mail,
    arrivals,
    tokens: {
      imports: await token('imports'),
      revocations: await token('revocations'),
      evidence: await token('evidence'),
    },
    credential: issued[0] ?? assert.fail('no credential'),
    scoreId: score?.id ?? assert.fail('no score'),
    key: await newKey(db, { credits }),
  }
}

const sources = ['exams', 'reviews', 'trials']
const itemsOfScore = 6
let items = 0

/** Returns new evidence of a worker, enough for a score. */
export function evidenceOf(username: string): object[] {
  return Array.from({ length: itemsOfScore }, () => ({
    username,
    sourceId: sources[++items % sources.length],
    externalId: `item-${items}`,
    skillId: 'hss:sql',
    type: 'assessment',
    value: 700 + randomInt(100),
    observedOn: '2026-04-02',
  }))
}

function linesOf(lines: readonly object[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

let files = 0

/** Runs `credentials issue`. Returns the credentials that it wrote, even if it failed. */
async function issueTwo(env: Env, folder: string): Promise<IssuedJson[]> {
  const [from, out] = [join(folder, `scores-${++files}`), join(folder, `issued-${files}`)]
  writeFileSync(from, linesOf([scoreLine(), scoreLine()]))
  writeFileSync(out, '')
  await assay(['credentials', 'issue', '--from', from, '--out', out], env)
  return credentialsIn(out)
}

export interface Feature {
  name: string
  /** The mean pause of a caller between two calls. */
  pauseMs: number
  callers?: number
  /** Makes one call. Returns whether the service did it. Throws for any other answer than 503. */
  call(): Promise<boolean>
  /** Ends what is open, before the last check. */
  settle?(): Promise<void>
  /** Checks each acknowledged call. Returns figures. */
  check?(): Promise<Record<string, number>>
}

/** The answers of calls that were not done. */
export const refusals: string[] = []

function refuse(reply: Reply): void {
  refusals.push(
    `${new Date().toISOString()} ${reply.status} ${reply.body.toString().slice(0, 300)}`,
  )
}

/** Returns whether the answer has this status. Throws if it has neither this nor 503. */
export function isDone(reply: Reply, status = 200): boolean {
  if (reply.status === 503) refuse(reply)
  if (reply.status !== status && reply.status !== 503)
    throw new Error(`${reply.status} ${reply.body.toString().slice(0, 200)}`)
  return reply.status === status
}

/** Returns an address of a network of its own, because mails are limited by network. */
let networks = 0
export function newAddress(): string {
  const n = ++networks
  return `127.${1 + ((n >> 16) & 127)}.${(n >> 8) & 255}.${n & 255}`
}

export function changingFeatures(world: World, ask: Ask): Feature[] {
  return [
    paidReads(world, ask),
    imports(world, ask),
    ...issuesAndRevocations(world, ask),
    signIns(world, ask),
    purchases(world, ask),
  ]
}

function paidReads({ db, key }: World, ask: Ask): Feature {
  const calls: Calls = { answered: [], refused: [], unanswered: 0 }
  return {
    name: 'paid read',
    pauseMs: 100,
    callers: 6,
    async call() {
      const reply = await ask({ path: '/api/v1/candidates/ada', headers: key.headers })
      const isAnswered = isDone(reply)
      calls[isAnswered ? 'answered' : 'refused'].push(String(reply.headers['x-request-id']))
      return isAnswered
    },
    async check() {
      await assertCharged(db, key, { calls, credits, refusedMax: calls.refused.length })
      const refused = new Set(calls.refused)
      const charged = await db.rows<{ id: string }>(sql`
        select split_part(reference, ':', 2) as id from credit_entries
        where account_id = ${key.accountId} and kind in ('charge', 'void')
        group by 1 having sum(delta) < 0`)
      return {
        'paid reads': calls.answered.length,
        '503 and charged': charged.filter(({ id }) => refused.has(id)).length,
      }
    },
  }
}

const linesOfImport = 10

/** Sends lines to a route of the operator API. Returns how many of them were applied. */
export async function sendLines(
  ask: Ask,
  { path, token, lines }: { path: string; token: string; lines: readonly object[] },
): Promise<number> {
  const reply = await ask({
    method: 'POST',
    path: `/api/operator/v1/${path}`,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/x-ndjson' },
    body: linesOf(lines),
  })
  if (!isDone(reply)) return 0
  const last = JSON.parse(reply.body.toString().trim().split('\n').at(-1) ?? '')
  if (last.done !== true) {
    refuse(reply)
    return last.appliedThrough
  }
  assert.equal(last.rejected, 0, reply.body.toString())
  return lines.length
}

function imports({ db, tokens: { imports: token } }: World, ask: Ask): Feature {
  const acknowledged: string[] = []
  let people = 0
  return {
    name: 'import',
    pauseMs: 500,
    async call() {
      const lines = Array.from({ length: linesOfImport }, () => {
        const username = `person-${++people}`
        return publicLine({ username, externalId: `hr-${people}`, displayName: `Person ${people}` })
      })
      const applied = await sendLines(ask, { path: 'workers', token, lines })
      acknowledged.push(...lines.slice(0, applied).map(({ username }) => String(username)))
      return applied === lines.length
    },
    async check() {
      const rows = await db.rows<{ username: string; events: number }>(sql`
        select username, count(distinct e.id)::int as events
        from profiles p left join webhook_events e
          on e.worker_id = p.worker_id and e.type = 'candidate.consent_changed'
        where username like 'person-%' group by 1`)
      const stored = new Map(rows.map(({ username, events }) => [username, events]))
      for (const username of acknowledged)
        assert.equal(stored.get(username), 3, `${username} was imported with three consents`)
      return { people: acknowledged.length }
    },
  }
}

function issuesAndRevocations(world: World, ask: Ask): Feature[] {
  const { env, folder, tokens } = world
  const issued: IssuedJson[] = []
  const unrevoked: IssuedJson[] = []
  const revoked = new Set<string>()
  const inDoubt = new Set<string>()
  const statusOf = async ({ credentialStatus }: IssuedJson) => {
    const reply = await ask({ path: pathOf(credentialStatus.id) })
    return isDone(reply) ? (JSON.parse(reply.body.toString()) as { revoked: boolean }) : null
  }
  const issue: Feature = {
    name: 'issue',
    pauseMs: 1_500,
    async call() {
      const made = await issueTwo(env, folder)
      issued.push(...made)
      unrevoked.push(...made.slice(1))
      return made.length === 2
    },
    async check() {
      for (const credential of issued) {
        const status = await statusOf(credential)
        assert.ok(status !== null, 'a status is answered')
        if (!inDoubt.has(credential.id))
          assert.equal(status.revoked, revoked.has(credential.id), `revocation of ${credential.id}`)
      }
      return { credentials: issued.length, revocations: revoked.size }
    },
  }
  const revocation: Feature = {
    name: 'revocation',
    pauseMs: 1_500,
    async call() {
      const credential = unrevoked.shift()
      if (credential === undefined) return true
      inDoubt.add(credential.id)
      const reply = await ask({
        method: 'POST',
        path: '/api/operator/v1/credentials/revoke',
        headers: {
          Authorization: `Bearer ${tokens.revocations}`,
          'Content-Type': 'application/json',
          'Idempotency-Key': randomUUID(),
        },
        body: JSON.stringify({ credentials: [credential.id] }),
      })
      if (!isDone(reply)) return false
      inDoubt.delete(credential.id)
      revoked.add(credential.id)
      assert.notEqual((await statusOf(credential))?.revoked, false, 'revoked for the next reader')
      return true
    },
  }
  return [issue, revocation]
}

function signIns({ db, mail }: World, ask: Ask): Feature {
  const cookies: string[] = []
  const requested = new Set<string>()
  const form = (path: string, fields: Record<string, string>, from: string) =>
    ask(
      {
        method: 'POST',
        path,
        headers: { 'Content-Type': 'application/x-www-form-urlencoded', Origin: publicUrl },
        body: new URLSearchParams(fields).toString(),
      },
      from,
    )
  const mailTo = (email: string) => mail.received.find(({ to }) => to.includes(email))
  return {
    name: 'sign-in',
    pauseMs: 2_000,
    callers: 2,
    async call() {
      const user = await newSession(db).catch(() => null)
      if (user === null) return false
      const { email } = user
      const from = newAddress()
      if (!isDone(await form('/sign-in', { email }, from), 303)) return false
      requested.add(email)
      const { value } = await eventually(`a mail to ${email}`, { see: async () => mailTo(email) })
      const token = new URL(value?.link ?? '').searchParams.get('token') ?? ''
      // A link stays usable until a confirmation with it has been answered or took effect.
      const confirmed = await form('/sign-in/confirm', { token }, from)
      if (!isDone(confirmed, 303)) return false
      cookies.push(String(confirmed.headers['set-cookie']?.[0]).split(';')[0] ?? '')
      return true
    },
    async check() {
      for (const Cookie of cookies)
        assert.equal((await ask({ path: '/dashboard', headers: { Cookie } })).status, 200)
      for (const email of requested) assert.ok(mailTo(email), `the mail to ${email} was sent`)
      return { 'sign-ins': cookies.length }
    },
  }
}

interface Purchase {
  wallet: ReturnType<typeof testWallet>
  header: string
}

/** A payer's lost answer is found again after the lease of its payment, and a lost mark soon after. */
const restoredAfterMs = 150_000

function purchases({ db, chain, scoreId }: World, ask: Ask): Feature {
  const open: Purchase[] = []
  const served = new Map<string, { transaction: string; at: number }>()
  const lostMarks = new Set<string>()
  const newPurchase = async () => {
    const wallet = testWallet()
    await chain.setBalance(wallet.address, 1_000_000n)
    return { wallet, header: await signedFor(price, wallet) }
  }
  /** Sends a payment, which the service may know already. */
  const buy = async (purchase: Purchase): Promise<boolean> => {
    const headers = { 'X-PAYMENT': purchase.header }
    const path = `/api/v1/scores/${scoreId}`
    const reply = await ask({ path, headers }, newAddress())
    if (!isDone(reply)) {
      open.push(purchase)
      return false
    }
    const { transaction } = readBase64Json(reply.headers['payment-response'])
    const at = performance.now()
    served.set(purchase.wallet.address.toLowerCase(), { transaction: String(transaction), at })
    return true
  }
  const booksOf = async () =>
    new Map(
      (
        await db.rows<{ payer: string; state: string; payments: number; transaction: string }>(sql`
          select payer, min(state) as state, count(*)::int as payments,
            min(tx_hash) as transaction from x402_payments group by 1`)
      ).map((row) => [row.payer, row]),
    )
  return {
    name: 'x402 purchase',
    pauseMs: 800,
    callers: 2,
    async call() {
      const isAgain = open.length > 0 && randomInt(2) === 0
      return buy((isAgain && open.shift()) || (await newPurchase()))
    },
    async settle() {
      await eventually('each open payment is served, and each served one settled in the books', {
        see: async () => {
          for (const purchase of open.splice(0)) await buy(purchase)
          await pause(1_000)
          const states = [...(await booksOf()).values()]
          return open.length === 0 && states.every(({ state }) => state === 'settled')
        },
      })
    },
    async check() {
      const books = await booksOf()
      for (const [payer, { transaction, at }] of served) {
        const balance = await chain.balanceOf(payer)
        assert.equal(balance, 1_000_000n - BigInt(price), 'the chain has one transfer')
        const row = { ...books.get(payer) }
        if (row.state !== 'settled') {
          lostMarks.add(payer)
          assert.ok(performance.now() - at < restoredAfterMs, `${payer} was not settled again`)
        } else assert.deepEqual(row, { payer, state: 'settled', payments: 1, transaction })
      }
      return { purchases: served.size, 'settled marks lost and restored': lostMarks.size }
    },
  }
}

export interface Drive {
  /** Calls that were done, and calls that were answered with 503. */
  counts: ReadonlyMap<string, { done: number; refused: number }>
  failed: readonly string[]
  /** The longest time in seconds without a call that was done, since `mark`. */
  gapSeconds(name: string): number
  mark(): void
  stop(): Promise<void>
}

/** Calls every feature until `stop`. */
export function drive(features: readonly Feature[]): Drive {
  const counts = new Map(features.map(({ name }) => [name, { done: 0, refused: 0 }]))
  const doneAt = new Map<string, number[]>()
  const failed: string[] = []
  const stopping = new AbortController()
  after(() => stopping.abort())
  const caller = async ({ name, pauseMs, call }: Feature) => {
    const count = counts.get(name) ?? assert.fail()
    while (!stopping.signal.aborted) {
      await pause(randomInt(1, 2 * pauseMs))
      const outcome = await call().catch((error: unknown) => {
        failed.push(`${new Date().toISOString()} ${name}: ${String(error)}`)
        return null
      })
      if (outcome === null) continue
      count[outcome ? 'done' : 'refused']++
      if (outcome) doneAt.get(name)?.push(performance.now())
    }
  }
  const mark = () => {
    for (const { name } of features) doneAt.set(name, [performance.now()])
  }
  mark()
  const all = features.flatMap((one) => Array.from({ length: one.callers ?? 1 }, () => caller(one)))
  return {
    counts,
    failed,
    mark,
    gapSeconds(name) {
      const times = doneAt.get(name) ?? []
      const gaps = times.map((at, i) => at - (times[i - 1] ?? at))
      return Math.max(...gaps) / 1_000
    },
    async stop() {
      stopping.abort()
      await Promise.all(all)
    },
  }
}

/** Asserts that nothing failed. Names the first failures. */
export function assertNone(failed: readonly string[]): void {
  assert.equal(failed.length, 0, `${failed.length} failed: ${failed.slice(0, 5).join('\n')}`)
}

/** Checks every feature and the books while no caller calls. Returns the figures. */
export async function checkAll(
  db: Db,
  features: readonly Feature[],
): Promise<Record<string, number>> {
  const figures: Record<string, number> = {}
  for (const { check } of features) Object.assign(figures, await check?.())
  assert.deepEqual((await auditBooks(db, { now: new Date(), fromStart: true })).broken, [])
  return figures
}
