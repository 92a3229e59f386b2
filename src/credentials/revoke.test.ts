/**
 * Revocation: once and for ever, by any identifier, with the list made due in the same transaction.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { contextAt } from '../../test/support/build/actions.ts'
import { now, origin } from '../../test/support/build/credentials.ts'
import {
  issue,
  issueOne,
  liveVerdict,
  newScores,
  revokeNow,
  testRegistry,
} from '../../test/support/build/registry.ts'
import type { CredentialName } from './credential-name.ts'
import type { IssuedCredential } from './issue.ts'
import { revokeDigests } from './revoke.ts'

const registry = await testRegistry()
const { db, client } = registry
after(() => registry.drop())

const later = new Date('2026-06-02T00:00:00Z')

function listIdOf({ credential }: IssuedCredential): string {
  return String(credential.credentialStatus.statusListCredential).slice(
    origin.statusListUrlPrefix.length,
  )
}

function idOf({ credential }: IssuedCredential): string {
  return credential.id.slice('urn:uuid:'.length)
}

function byId(issued: IssuedCredential): CredentialName {
  return { by: 'id', id: idOf(issued) }
}

function byToken({ statusToken }: IssuedCredential): CredentialName {
  return { by: 'token', bytes: Buffer.from(statusToken, 'hex') }
}

function byDigest({ vcSha256 }: IssuedCredential): CredentialName {
  return { by: 'digest', bytes: Buffer.from(vcSha256, 'hex') }
}

async function revisionOf(listId: string): Promise<number> {
  const { rows } = await client.query('select revision from status_lists where list_id = $1', [
    listId,
  ])
  return Number(rows[0].revision)
}

for (const [kind, name] of Object.entries({
  id: byId,
  'status token': byToken,
  digest: byDigest,
}))
  test(`a credential revoked by its ${kind} fails verification at once, and its list is due`, async () => {
    const issued = await issueOne(db)
    const before = await revisionOf(listIdOf(issued))
    const { rows } = await revokeNow(contextAt(db, now), [name(issued)])
    const row = {
      vcSha256: Buffer.from(issued.vcSha256, 'hex'),
      credentialId: idOf(issued),
      listId: listIdOf(issued),
      revokedAt: now,
      now: true,
    }
    assert.deepEqual(rows, [row])
    assert.equal((await liveVerdict(db, issued.credential)).reason, 'revoked')
    assert.equal(await revisionOf(listIdOf(issued)), before + 1)
  })

test('three identifiers of one credential in one call revoke it once', async () => {
  const issued = await issueOne(db)
  const names = [byId(issued), byToken(issued), byDigest(issued)]
  const { rows } = await revokeNow(contextAt(db, now), names)
  assert.equal(rows.length, 1)
})

test('an identifier that matches nothing returns no row and makes no list due', async () => {
  const { rows: before } = await client.query('select sum(revision) as sum from status_lists')
  const none: CredentialName[] = [
    { by: 'id', id: '00000000-0000-4000-8000-000000000000' },
    { by: 'digest', bytes: Buffer.alloc(32) },
  ]
  const context = contextAt(db, now)
  assert.deepEqual(await revokeNow(context, none), { rows: [], notFound: [0, 1] })
  assert.deepEqual(await revokeNow(context, []), { rows: [], notFound: [] })
  const { rows: after } = await client.query('select sum(revision) as sum from status_lists')
  assert.deepEqual(after, before)
})

test('a second revocation keeps the first time and makes no list due', async () => {
  const issued = await issueOne(db)
  await revokeNow(contextAt(db, now), [byId(issued)])
  const before = await revisionOf(listIdOf(issued))
  const { rows } = await revokeNow(contextAt(db, later), [byId(issued)])
  const [row] = rows
  assert.deepEqual([row?.revokedAt, row?.now], [now, false])
  assert.equal(await revisionOf(listIdOf(issued)), before)
})

test('the database refuses to undo a revocation or to change its time', async () => {
  const issued = await issueOne(db)
  await revokeNow(contextAt(db, now), [byId(issued)])
  for (const value of [null, later])
    await assert.rejects(
      client.query('update score_credentials set revoked_at = $1 where credential_id = $2', [
        value,
        idOf(issued),
      ]),
      /a revoked credential stays revoked/,
    )
  assert.equal((await liveVerdict(db, issued.credential)).reason, 'revoked')
})

test('one of 10 concurrent revocations of a credential takes effect', async () => {
  const issued = await issueOne(db)
  const before = await revisionOf(listIdOf(issued))
  const context = contextAt(db, now)
  const revocations = await Promise.all(
    Array.from({ length: 10 }, () => revokeNow(context, [byId(issued)])),
  )
  const rows = revocations.flatMap((one) => one.rows)
  assert.equal(rows.filter((row) => row.now).length, 1)
  assert.equal(await revisionOf(listIdOf(issued)), before + 1)
})

test('200 credentials revoked concurrently in opposite orders are each revoked once, without deadlock', async () => {
  const names = (await issue(db, newScores(200))).map(byDigest)
  const context = contextAt(db, now)
  const revocations = await Promise.all([
    revokeNow(context, names),
    revokeNow(context, [...names].reverse()),
    revokeNow(context, names.slice(50, 150)),
  ])
  const rows = revocations.flatMap((one) => one.rows)
  assert.equal(rows.filter((row) => row.now).length, 200)
})

test('a transaction that fails after a revocation leaves the credential active and no list due', async () => {
  const issued = await issueOne(db)
  const before = await revisionOf(listIdOf(issued))
  const failing = db.transaction(async (tx) => {
    await revokeDigests(tx, [Buffer.from(issued.vcSha256, 'hex')], now)
    throw new Error('the caller fails')
  })
  await assert.rejects(failing, /the caller fails/)
  assert.equal((await liveVerdict(db, issued.credential)).valid, true)
  assert.equal(await revisionOf(listIdOf(issued)), before)
})
