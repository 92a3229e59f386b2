/** Rules that hold for every operation, taken from its declaration. */
import assert from 'node:assert/strict'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { Command } from 'commander'
import { Compile } from 'typebox/compile'
import { ownOperations } from '../src/accounts/member-operations.ts'
import { actions } from '../src/audit/actions.ts'
import { commands, declare } from '../src/cli/commands.ts'
import { readConfig } from '../src/config/config.ts'
import { accountName } from '../src/demo/account.ts'
import { prepareDemo } from '../src/demo/prepare.ts'
import { secondAccountName } from '../src/demo/story.ts'
import type { OperatorRole } from '../src/edge/http/callers.ts'
import { allOperations } from '../src/main/all-operations.ts'
import { openServices, type Services } from '../src/main/operation-services.ts'
import type { Operation } from '../src/operations/operation.ts'
import {
  checkInput,
  type OperationCaller,
  type PerformOptions,
  performAny,
  whyForbidden,
} from '../src/operations/perform.ts'
import { type FieldForm, fieldForms } from '../src/operations/text-input.ts'
import { type Db, sql, type Tx } from '../src/platform/db/db.ts'
import { errorTable } from '../src/platform/errors.ts'
import { loadEngine } from '../src/scoring/scores/engine.ts'
import { recomputeOperations } from '../src/scoring/scores/recompute.ts'
import { scoresRecordExport } from '../src/scoring/scores/reports/operations.ts'
import { keysCreate } from '../src/scoring/scores/signing-key-operations.ts'
import { fanOutEvents } from '../src/webhooks/events/fan-out.ts'
import { newSession } from './support/build/sessions.ts'
import { everythingStored } from './support/oracle/everything-stored.ts'
import { type TestDatabase, testDatabase } from './support/start/database.ts'

/** Those of the command line alone: they handle files of its machine, or use its processors. */
const commandOperations = [keysCreate, ...recomputeOperations, scoresRecordExport]

/** Those with an operator route, and those without one. */
const every = [...allOperations, ...ownOperations, ...commandOperations]

test('names and routes are unique, and the path of a route names exactly the path parameters', () => {
  const names = every.map(({ name }) => name)
  const routes = every.map(({ http }) => http.replaceAll(/\{\w+\}/g, '{}'))
  assert.deepEqual([...new Set(names)], names)
  assert.deepEqual([...new Set(routes)], routes)
  for (const { name, http, path, kind } of every) {
    assert.match(name, /^[a-z-]+ [a-z-]+$/)
    const [method, route = ''] = http.split(' ')
    assert.equal(method, kind === 'read' ? 'GET' : 'POST', name)
    const parameters = [...route.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter)
    assert.deepEqual(parameters, Object.keys(path), name)
  }
})

test('every operation of operators is a command', async () => {
  const declared = await Promise.all(
    Object.entries(commands).map(async ([name, [, load]]) => {
      const noun = new Command(name)
      await declare(noun, load)
      return noun.commands.map((verb) => `${name} ${verb.name()}`)
    }),
  )
  const names = new Set([...allOperations, ...commandOperations].map(({ name }) => name))
  // Commands that perform these are called otherwise.
  assert.deepEqual([...names.difference(new Set(declared.flat()))].sort(), [
    'scores export-page',
    'scores mark',
    'scores recompute',
    'scores record-export',
    'service status',
  ])
})

test('the example of each operation is valid input', () => {
  for (const operation of every) {
    const checked = checkInput(operation, operation.example)
    assert.ok('input' in checked, `${operation.name}: ${JSON.stringify(checked)}`)
  }
})

interface OutputForm {
  properties?: Record<string, OutputForm>
  additionalProperties?: boolean
  items?: OutputForm
  anyOf?: OutputForm[]
}

/** Returns the members that leave as the database has them: `perform` cannot shape them. */
function unshaped(form: OutputForm, path: string): string[] {
  const { properties, additionalProperties, items, anyOf = [] } = form
  const parts = anyOf.filter((part) => part.properties !== undefined || part.items !== undefined)
  if (items !== undefined) return unshaped(items, path)
  if (parts.length > 0) return parts.length > 1 ? [path] : unshaped(parts[0] ?? {}, path)
  if (properties === undefined) return []
  if (additionalProperties !== false) return [path]
  return Object.entries(properties).flatMap(([name, part]) => unshaped(part, `${path}.${name}`))
}

test('every output is shaped by its declaration, except these members', () => {
  assert.deepEqual(
    every.flatMap(({ name, output }) => unshaped(output as OutputForm, name)),
    [
      'scores export-page.scores',
      'scores export-page.skills',
      'scores export-page.evidence',
      'credentials show.credential',
      'credentials export.credentials',
      'reports list.reports.subject',
      'reports list.reports.metadata',
    ],
  )
})

test('a field with a pattern, a format or several forms says what it must be', () => {
  for (const operation of every)
    for (const [field, form] of Object.entries(fieldForms(operation))) {
      for (const one of [form, form.items ?? {}])
        if (needsWords(one))
          assert.match(one.description ?? '', /^must /, `${operation.name}: ${field}`)
      assert.ok(form.description ?? form['x-help'], `${operation.name}: ${field} has no words`)
    }
})

function needsWords(form: FieldForm & { pattern?: string; format?: string }): boolean {
  return form.pattern !== undefined || form.format !== undefined || form.anyOf !== undefined
}

test('an operation refuses with rows of the error table, and records actions of the audit table', () => {
  for (const { name, refusals, audit, kind } of every) {
    for (const refusal of refusals) assert.ok(Object.hasOwn(errorTable, refusal), name)
    assert.equal(new Set(refusals).size, refusals.length, `${name} names a refusal twice`)
    if (kind === 'read') assert.equal(audit, undefined, name)
    else assert.ok(typeof audit === 'object' || (audit !== undefined && audit in actions), name)
  }
})

test('every role on every operation: admitted, or operator_role_required', () => {
  for (const { who, name } of every) {
    const refused = (role: OperatorRole) =>
      whyForbidden(who, { kind: 'operator', role, actor: 'x', by: 'x' })
    const ranks = ['viewer', 'support', 'admin'] as const
    const lowest = who.operator === undefined ? ranks.length : ranks.indexOf(who.operator)
    for (const [i, role] of ranks.entries())
      assert.equal(refused(role), i < lowest ? 'operator_role_required' : null, `${name} ${role}`)
    assert.equal(refused('ingest'), who.ingest === true ? null : 'operator_role_required', name)
  }
})

test('an operation that members or keys may not call refuses them', () => {
  const at = { accountId: 'a', actor: 'x', by: 'x' }
  const of = { ...at, userId: 'u' }
  for (const { who, name } of every) {
    const owner = whyForbidden(who, { kind: 'member', role: 'owner', ...of })
    assert.equal(owner, who.member === undefined ? 'operator_role_required' : null, name)
    const member = whyForbidden(who, { kind: 'member', role: 'member', ...of })
    if (who.member === 'owner') assert.equal(member, 'owner_required', name)
    assert.equal(whyForbidden(who, { kind: 'key', scopes: [], ...at }), 'insufficient_scope', name)
  }
})

/** Refusals whose name no test states: their tests compare the sentence. The list only shrinks. */
const statedBySentence = [
  'api_key_not_rotatable',
  'api_key_revoked',
  'api_keys_maximum',
  'credential_not_found',
  'engine_not_found',
  'evidence_disputed',
  'invited_already',
  'members_maximum',
  'operator_token_not_found',
  'score_makers_missing',
  'scoring_unavailable',
  'signing_key_elsewhere',
  'signing_key_not_revoked',
  'unlock_review_not_found',
  'user_without_account',
]

test('every refusal that an operation names is expected by a test', () => {
  const files = globSync(['src/**/*.test.ts', 'test/**/*.test.ts'], {
    exclude: ['**/node_modules/**', 'test/clients/**'],
  })
  const others = files.filter((file) => file !== 'test/operations.test.ts')
  const texts = others.map((file) => readFileSync(file, 'utf8')).join('\n')
  const named = new Set<string>(every.flatMap(({ refusals }): readonly string[] => refusals))
  const onDemo = Object.values(refusedOnDemo)
  const untested = [...named].filter(
    (name) => !onDemo.includes(name) && !new RegExp(`['"\`/]${name}\\b`).test(texts),
  )
  assert.deepEqual(untested.sort(), statedBySentence)
})

// The rest runs on the demo, with two users, an endpoint and a dispute more.

const dataDir = mkdtempSync(join(tmpdir(), 'assay-operations-'))
const config = readConfig({
  PUBLIC_URL: 'http://localhost:8080',
  ASSAY_DATA_DIR: dataDir,
  DATABASE_URL: 'postgres://unused',
  SECRETS_KEYRING: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
})
const services = openServices(config)
const admin = { kind: 'operator', role: 'admin', actor: 'root@vm', by: 'root' } as const
let database: TestDatabase
/** Values of the demo by the name of their field. */
let known: Row
let stranger: Extract<OperationCaller, { kind: 'member' }>

before(async () => {
  database = await testDatabase()
  const { db } = database
  const signingKeysDir = join(dataDir, 'keys')
  const log = { info: () => {}, warn: () => {} }
  const engine = await loadEngine()
  const demo = { publicUrl: config.publicUrl, dataDir, signingKeysDir }
  await prepareDemo({ config: demo, db, now: new Date(), log, engine })
  await fanOutEvents(db)
  known = await valuesOfDemo(db)
  const { accountId, userId } = await newSession(db)
  stranger = { kind: 'member', role: 'owner', accountId, userId, actor: 'user x', by: 'user x' }
})
after(async () => {
  await database.drop()
  rmSync(dataDir, { recursive: true, force: true })
})

type Row = Record<string, unknown>

async function valuesOfDemo(db: Db): Promise<Row> {
  const output = async (name: string, input: object) => {
    const done = await run(db, name, input)
    return 'output' in done
      ? (done.output as Record<string, object>)
      : assert.fail(JSON.stringify(done))
  }
  const [account] = await db.rows<{ id: string }>(sql`
    select id from accounts where name = ${accountName}`)
  const owner = await newSession(db, { accountId: account?.id ?? '' })
  await newSession(db, { accountId: account?.id ?? '' })
  const events = ['score.updated', 'dispute.opened']
  const url = 'https://hooks.example.com/in'
  const { endpoint = {} } = await output('webhooks create', { account: accountName, url, events })
  const { token = {} } = await output('operators create-token', { name: 'a', role: 'viewer' })
  const listed = (await output('api-keys list', { account: accountName })).keys as Row[]
  const key = listed.find(({ state, environment }) => state === 'active' && environment === 'live')
  const workers = (await output('workers list', {})).workers as Row[]
  const shown = workers.filter(({ scoreHiddenBy }) => (scoreHiddenBy as string[]).length === 0)
  const [username, other] = shown.map((worker) => worker.username)
  const { dispute = {} } = await output('disputes open', { username, kind: 'identity' })
  const [item] = (await output('evidence list', { username })).evidence as Row[]
  const [credential] = (await output('credentials list', { username })).credentials as Row[]
  const [engine] = (await output('engines list', {})).engines as Row[]
  const [event] = await db.rows<{ id: string }>(sql`
    select id from webhook_events
    where type = 'score.updated' and position is not null and withheld_at is null
    order by seq limit 1`)
  const source = item?.sourceId
  return {
    account: accountName,
    email: owner.email,
    endpointId: Reflect.get(endpoint, 'id'),
    tokenId: Reflect.get(token, 'id'),
    keyId: key?.id,
    username,
    usernames: [username],
    score: username,
    to: other,
    allOf: username,
    disputeId: Reflect.get(dispute, 'id'),
    evidence: [`${String(source)}/${String(item?.externalId)}`],
    source,
    sourceId: source,
    credentials: [credential?.credentialId],
    eventId: event?.id,
    sha256: engine?.sha256,
    version: engine?.version,
    since: new Date(Date.now() - 86_400_000).toISOString(),
    until: new Date(Date.now() + 86_400_000).toISOString(),
  }
}

const allChanges = allOperations.filter(({ kind }) => kind === 'change')

function named(name: string): Operation<Services> {
  return allOperations.find((one) => one.name === name) ?? assert.fail(name)
}

function run(db: Db, name: string, input: object, options: PerformOptions = {}) {
  const performer = { db, clock: () => new Date(), services }
  return performAny(performer, named(name), admin, input, options)
}

/** The example with values of the demo. */
function inputOf({ example }: Operation<Services>, values = known): object {
  const entries = Object.entries(example).map(([name, value]) => [name, values[name] ?? value])
  return Object.fromEntries(entries)
}

/** What must be so before an operation can act: earlier operations, with their own examples. */
const afterwards: Readonly<Record<string, readonly string[]>> = {
  'disputes resolve': ['disputes review'],
  'identity verify': ['identity revoke'],
  'consent grant': ['consent withdraw'],
  'sources resume': ['sources suspend'],
  'users enable': ['users disable'],
  'users resend': ['users invite'],
  'users withdraw': ['users invite'],
  'operators withdraw': ['operators grant'],
  'webhooks enable': ['webhooks disable'],
  'webhooks resume': ['webhooks pause'],
  'webhooks activate-secret': ['webhooks rotate-secret'],
  'reports unlock': ['reports lock'],
  'reports request-review': ['reports lock'],
  'reports decline': ['reports lock', 'reports request-review'],
}

/** Records that the demo has not. */
const refusedOnDemo: Readonly<Record<string, string>> = {
  'payments close': 'payment_not_found',
  'payments refunded': 'payment_not_found',
  'credentials revoke-of-key': 'signing_key_not_found',
  'keys revoke': 'signing_key_not_found',
  'keys rotate': 'signing_key_not_pending',
  'api-keys find': 'api_key_not_found',
}

/** Examples whose record must not exist yet, or must be a second one. */
const ownValues: Readonly<Record<string, object>> = {
  'users invite': { email: 'new@example.org' },
  'users resend': { email: 'new@example.org' },
  'users withdraw': { email: 'new@example.org' },
}

function inputOn(name: string, before = name): object {
  return inputOf(named(before), { ...known, ...ownValues[name] })
}

/** Runs the work in a transaction that is rolled back; a failed operation takes back its own. */
async function inVain(work: (db: Db, tx: Tx) => Promise<void>): Promise<void> {
  const undone = new Error('undone')
  const all = database.db.transaction(async (tx) => {
    const within: Db = {
      ...tx,
      untilShown: async () => {},
      close: async () => {},
      async transaction(step) {
        await tx.run(sql`savepoint operation`)
        try {
          return await step(tx)
        } catch (error) {
          await tx.run(sql`rollback to savepoint operation`)
          throw error
        }
      },
    }
    await work(within, tx)
    throw undone
  })
  await assert.rejects(all, undone)
}

/** Rows that this transaction wrote so far, by table. */
async function writtenRows(tx: Tx): Promise<Map<string, number>> {
  const rows = await tx.rows<{ name: string; count: number }>(sql`
    select relname as name, (n_tup_ins + n_tup_upd + n_tup_del)::int as count
    from pg_stat_xact_user_tables where n_tup_ins + n_tup_upd + n_tup_del > 0`)
  return new Map(rows.map(({ name, count }) => [name, count]))
}

test('the example of each operation performs on the demo, and its output has the declared shape', async () => {
  const faults: string[] = []
  for (const { name, output } of allOperations)
    await inVain(async (db) => {
      for (const before of afterwards[name] ?? []) await run(db, before, inputOn(name, before))
      const done = await run(db, name, inputOn(name))
      const refusal = 'refusal' in done ? done.refusal : undefined
      if (refusal !== refusedOnDemo[name]) faults.push(`${name}: ${JSON.stringify(done)}`)
      if ('refusal' in done) return
      for (const error of Compile(output).Errors(done.output))
        faults.push(`${name}: ${error.instancePath} ${error.message}`)
    })
  assert.deepEqual(faults, [])
})

test('a change writes audit entries exactly if it changed a table, also when it is repeated', async () => {
  const faults: string[] = []
  for (const { name, audit } of allChanges)
    await inVain(async (db, tx) => {
      for (const before of afterwards[name] ?? []) await run(db, before, inputOn(name, before))
      for (const time of ['first', 'second']) {
        const before = await writtenRows(tx)
        const done = await run(db, name, inputOn(name))
        const after = await writtenRows(tx)
        const written = [...after.keys()].filter((table) => after.get(table) !== before.get(table))
        // A repeat writes the first time of a revocation again.
        const isRewrite = (table: string) =>
          name === 'credentials revoke' && time === 'second' && table === 'score_credentials'
        const others = written.filter((table) => table !== 'audit_log' && !isRewrite(table))
        // A report changes nothing but this: that it was made.
        const changes = others.length > 0 || audit === 'reports.made'
        const isExpected = !('refusal' in done) && typeof audit === 'string' && changes
        if (written.includes('audit_log') !== isExpected)
          faults.push(`${name}, the ${time} time: ${written.join()} ${JSON.stringify(done)}`)
      }
    })
  assert.deepEqual(faults, [])
})

test('a dry run of each change leaves all tables as they are, and shows no secret', async () => {
  const before = await everythingStored(database.url)
  for (const { name } of allChanges) {
    const done = await run(database.db, name, inputOn(name), { isDryRun: true })
    assert.doesNotMatch(JSON.stringify(done), /whsec_[\w+/]{20}|svc_(op|live|test)_\w{36}/)
  }
  assert.equal(await everythingStored(database.url), before)
})

test('the pages of each list, joined, equal one big page', async () => {
  const faults: string[] = []
  for (const { name, kind, path, input } of allOperations) {
    if (kind !== 'read' || !('after' in input)) continue
    const given = Object.fromEntries(Object.keys(path).map((field) => [field, known[field]]))
    const page = async (more: object): Promise<{ rows: object[]; next: string | null }> => {
      const done = await run(database.db, name, { ...given, ...more })
      const output = 'output' in done ? done.output : assert.fail(`${name} ${JSON.stringify(done)}`)
      const rows = Object.values(output).find((value): value is object[] => Array.isArray(value))
      return { rows: rows ?? [], next: (output as { next: string | null }).next }
    }
    const whole = await page({ limit: 1_000 })
    const limit = Math.max(1, Math.ceil(whole.rows.length / 4))
    const joined: object[] = []
    for (let after: string | null | undefined; after !== null && joined.length < 1_000; ) {
      const { rows, next } = await page({ limit, ...(after !== undefined && { after }) })
      if (rows.length < limit && next !== null) faults.push(`${name}: a short page`)
      joined.push(...rows)
      after = next
    }
    if (!isDeepStrictEqual(joined, whole.rows))
      faults.push(`${name}: ${joined.length} rows in pages, ${whole.rows.length} in one`)
  }
  assert.deepEqual(faults, [])
})

test('a member cannot tell a record of another account from none', async () => {
  const absent = '01993f2e-5c1a-7b3e-8d4f-000000000000'
  const missing = { ...known, endpointId: absent, keyId: absent, email: 'nobody@example.org' }
  const performer = { db: database.db, clock: () => new Date(), services }
  const faults: string[] = []
  const answerTo = async (operation: Operation<Services>, values: Row) => {
    const input = inputOf(operation, values)
    const done = await performAny(performer, operation, stranger, input, { isDryRun: true })
    const ids = [values.endpointId, values.keyId, values.email].map(String)
    return ids.reduce((text, id) => text.replaceAll(id, 'ID'), JSON.stringify(done))
  }
  for (const operation of every as readonly Operation<Services>[]) {
    const { name, who, path } = operation
    if (who.member === undefined) continue
    const answer = await answerTo(operation, known)
    const namesRecord = 'endpointId' in path || 'keyId' in path || name.startsWith('members ')
    if (namesRecord && answer !== (await answerTo(operation, missing)))
      faults.push(`${name}: ${answer}`)
    if (answer.includes(`"${accountName}"`) || answer.includes(`"${secondAccountName}"`))
      faults.push(`${name} shows the other account: ${answer}`)
  }
  assert.deepEqual(faults, [])
})
