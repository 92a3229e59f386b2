import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { newKey, type TestKey } from '../../../test/support/build/keys.ts'
import { inTurn } from '../../../test/support/fault/in-turn.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { perform } from '../../operations/perform.ts'
import { sql, type Tx } from '../../platform/db/db.ts'
import { auditBooks, type Entry, enterCredits } from './credits.ts'
import { debitBatch } from './debit.ts'
import { creditsGrant, creditsResume, creditsUsage } from './operations.ts'
import { type Debit, findCreditAccount, updateSuspended } from './store.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())

let references = 0

function debitOf({ accountId, keyId }: TestKey): Debit {
  const reference = `request-${++references}`
  const what = { meter: 'score_lookup', operation: 'getScore' }
  return { accountId, keyId, amount: 1, reference, ...what }
}

test('the audit finds a balance that differs from its entries, and suspends only that account', async () => {
  const [sound, broken] = [await newKey(db, { credits: 5 }), await newKey(db, { credits: 5 })]
  const now = new Date()
  await debitBatch(db, [debitOf(sound), debitOf(broken)])
  const ofBroken = (fromStart: boolean) =>
    auditBooks(db, { now, fromStart }).then((found) => found.broken.map((book) => book.accountId))
  assert.deepEqual(await ofBroken(false), [])
  await db.run(sql`
    update credit_accounts set balance = balance + 1 where account_id = ${broken.accountId}`)
  for (const fromStart of [false, true]) {
    assert.deepEqual(await ofBroken(fromStart), [broken.accountId])
    const [outcome] = await debitBatch(db, [debitOf(broken), debitOf(sound)])
    assert.equal(outcome?.kind, 'suspended')
  }
  await db.run(sql`
    update credit_accounts set balance = balance - 1 where account_id = ${broken.accountId}`)
  const { repaired } = await auditBooks(db, { now, fromStart: true })
  assert.deepEqual(repaired, [broken.accountId])
})

test('an audit from the start ignores the results of earlier audits', async () => {
  const { accountId } = await newKey(db, { credits: 5 })
  const now = new Date()
  await auditBooks(db, { now, fromStart: false })
  await db.run(sql`update credit_audits set balance = balance + 1 where account_id = ${accountId}`)
  await db.run(
    sql`update credit_accounts set balance = balance + 1 where account_id = ${accountId}`,
  )
  const brokenOf = async (fromStart: boolean) =>
    (await auditBooks(db, { now, fromStart })).broken.map((book) => book.accountId)
  assert.deepEqual(await brokenOf(false), [])
  assert.deepEqual(await brokenOf(true), [accountId])
})

test('an operator’s reference is entered once: the same entry again is reported, another entry is refused', async () => {
  const [key, other] = [await newKey(db, { credits: 2 }), await newKey(db)]
  const enter = (over: Partial<Entry>) => {
    const entry = { accountId: key.accountId, kind: 'adjustment', delta: -2, reason: 'x' } as const
    return db.transaction((tx) => enterCredits(tx, { ...entry, reference: 'R-1', ...over }))
  }
  assert.deepEqual(await enter({}), { balance: 0, reference: 'R-1' })
  assert.match(JSON.stringify(await enter({})), /credit_reference_used.*R-1 was entered before/)
  for (const over of [
    { delta: -1 },
    { delta: 2 },
    { accountId: other.accountId },
    { kind: 'grant', delta: 2 },
  ] as const)
    assert.match(JSON.stringify(await enter(over)), /R-1 belongs to another entry/)
  assert.match(JSON.stringify(await enter({ reference: 'R-2' })), /credits_too_few.*has 0 credits/)
})

test('one reference for two accounts at once: only one account gets the entry', async () => {
  const keys = [await newKey(db), await newKey(db)]
  const enter =
    ({ accountId }: TestKey) =>
    (tx: Tx) =>
      enterCredits(tx, {
        accountId,
        kind: 'grant',
        delta: 1,
        reason: 'x',
        reference: 'R-3',
      })
  const [first, second] = await inTurn(db, enter(keys[0] as TestKey), () =>
    db.transaction(enter(keys[1] as TestKey)),
  )
  assert.ok('balance' in first)
  assert.ok('refusal' in second && second.refusal === 'credit_reference_used')
})

const operator = { kind: 'operator', role: 'admin', actor: 'ada@host', by: 'ada' } as const
const performer = {
  db,
  clock: () => new Date(),
  services: {
    accounts: {
      named: async (_: unknown, text: string) => ({ id: text, name: text }),
      names: async () => new Map<string, string>(),
    },
  },
}

test('an Idempotency-Key names an entry, and an equal entry without a reference is refused until it is wanted again', async () => {
  const { accountId: account } = await newKey(db)
  const grant = (more: { again?: boolean; reference?: string }, idempotencyKey?: string) =>
    perform(
      performer,
      creditsGrant,
      operator,
      { account, credits: 7, reason: 'x', again: false, ...more },
      { idempotencyKey },
    )
  const key = 'grant-0123456789abcdef'
  const first = await grant({}, key)
  assert.ok('output' in first)
  assert.deepEqual([first.output.balance, first.output.reference], [7, key])
  assert.deepEqual(await grant({}, key), first)
  const equal = await grant({}, 'grant-0123456789abcdeg')
  assert.ok('refusal' in equal && equal.refusal === 'credit_entry_repeated')
  for (const [i, wanted] of [{ again: true }, { reference: 'INV-77' }].entries()) {
    const entered = await grant(wanted)
    assert.ok('output' in entered)
    assert.equal(entered.output.balance, 14 + i * 7)
  }
})

test('pages of usage, joined, are the whole usage, and each has the sum of all', async () => {
  const { accountId, keyId } = await newKey(db, { credits: 9 })
  for (const operation of ['getScore', 'getCandidate', 'search'])
    await db.run(sql`
      insert into credit_entries (account_id, kind, delta, reference, key_id, meter, operation, at)
      values (${accountId}, 'charge', -1, ${operation}, ${keyId}, 'score_lookup', ${operation}, now())`)
  const usage = async (page: object) => {
    const read = await perform(performer, creditsUsage, operator, {
      account: accountId,
      limit: 1_000,
      until: new Date(Date.now() + 60_000).toISOString(),
      ...page,
    })
    return 'output' in read ? read.output : assert.fail(read.message)
  }
  const whole = await usage({})
  assert.deepEqual([whole.usage.length, whole.credits, whole.next], [3, 3, null])
  const joined: object[] = []
  for (let after: string | null = null; ; ) {
    const page = await usage({ limit: 1, ...(after !== null && { after }) })
    assert.equal(page.credits, 3)
    joined.push(...page.usage)
    after = page.next
    if (after === null) break
  }
  assert.deepEqual(joined, whole.usage)
})

test('resume releases the suspended accounts whose entries add up, and no other', async () => {
  const resume = () => perform(performer, creditsResume, operator, {})
  // Tests before this one have suspended accounts.
  await resume()
  const [sound, broken] = [await newKey(db, { credits: 3 }), await newKey(db, { credits: 3 })]
  for (const { accountId } of [sound, broken]) await updateSuspended(db, accountId, new Date())
  await db.run(
    sql`update credit_accounts set balance = balance + 1 where account_id = ${broken.accountId}`,
  )
  assert.deepEqual(await resume(), { output: { resumed: 1, accountIds: [sound.accountId] } })
  assert.deepEqual(await resume(), { output: { resumed: 0, accountIds: [] } })
  assert.notEqual((await findCreditAccount(db, broken.accountId))?.suspendedAt, null)
})
