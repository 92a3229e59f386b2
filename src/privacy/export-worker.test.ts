import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { testRegistry } from '../../test/support/build/registry.ts'
import { now, publicLine, register } from '../../test/support/build/workers.ts'
import { inTurn } from '../../test/support/fault/in-turn.ts'
import type { Tx } from '../platform/db/db.ts'
import { changeConsent } from '../scoring/scores/keep-sharing.ts'
import { eraseWorker } from './erase-worker.ts'
import { exportWorker } from './export-worker.ts'

const registry = await testRegistry()
const { db } = registry
after(() => registry.drop())

test('an export waits for a change of the worker and contains it', async () => {
  await register(db, [publicLine()])
  const request = { permission: 'score_sharing', textVersion: null, by: 'test', at: now } as const
  const withdraw = (tx: Tx) => changeConsent(tx, 'ada', request)
  const [, exported] = await inTurn(db, withdraw, () =>
    db.transaction((tx) => exportWorker(tx, 'ada', now)),
  )
  assert.partialDeepStrictEqual(exported, {
    consents: { score_sharing: { granted: false } },
    consentChanges: [{}, {}, {}, { permission: 'score_sharing', granted: false }],
  })
})

test('an export waits for an erasure and contains nothing of the worker', async () => {
  await register(db, [publicLine({ username: 'grace' })])
  const erase = (tx: Tx) => eraseWorker(tx, 'grace', { by: 'test', at: now })
  const [, exported] = await inTurn(db, erase, () =>
    db.transaction((tx) => exportWorker(tx, 'grace', now)),
  )
  assert.equal(exported, null)
})
