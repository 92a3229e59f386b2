import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { contextAt } from '../../test/support/build/actions.ts'
import { newKey, type TestKey } from '../../test/support/build/keys.ts'
import { inTurn } from '../../test/support/fault/in-turn.ts'
import { testDatabase } from '../../test/support/start/database.ts'
import { contextWithin } from '../audit/action.ts'
import type { Tx } from '../platform/db/db.ts'
import { type Entry, enterCredits } from './credits.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())

test('an operator’s reference is entered once: the same entry again is reported, another entry is refused', async () => {
  const [key, other] = [await newKey(db, { credits: 2 }), await newKey(db)]
  const enter = (over: Partial<Entry>) => {
    const entry = { accountId: key.accountId, kind: 'adjustment', delta: -2, reason: 'x' } as const
    return enterCredits(contextAt(db), { ...entry, reference: 'R-1', ...over })
  }
  assert.deepEqual(await enter({}), { outcome: 'entered', balance: 0 })
  assert.deepEqual(await enter({}), { outcome: 'entered before' })
  for (const over of [
    { delta: -1 },
    { delta: 2 },
    { accountId: other.accountId },
    { kind: 'grant', delta: 2 },
  ] as const)
    assert.deepEqual(await enter(over), { outcome: 'reference used' })
  assert.deepEqual(await enter({ reference: 'R-2' }), { outcome: 'too little', balance: 0 })
})

test('one reference for two accounts at once: only one account gets the entry', async () => {
  const keys = [await newKey(db), await newKey(db)]
  const enter =
    ({ accountId }: TestKey) =>
    (tx: Tx) =>
      enterCredits(contextWithin(tx, { actor: 'test', now: new Date() }), {
        accountId,
        kind: 'grant',
        delta: 1,
        reason: 'x',
        reference: 'R-3',
      })
  const [first, second] = await inTurn(db, enter(keys[0] as TestKey), () =>
    db.transaction(enter(keys[1] as TestKey)),
  )
  assert.deepEqual([first.outcome, second.outcome], ['entered', 'reference used'])
})
