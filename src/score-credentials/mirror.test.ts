/** The mirror: what a serving process knows without asking, and for how long it may say so. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  issuedAt,
  now,
  origin,
  publicUrl,
  signer,
  signerOf,
} from '../../test/support/build/credentials.ts'
import {
  issueOne,
  issuer,
  keySince,
  revokeSigningKey,
  testRegistry,
} from '../../test/support/build/registry.ts'
import type { Db } from '../platform/db/db.ts'
import { tendLists } from './issue.ts'
import { findOpenListIds } from './list-store.ts'
import { openMirror } from './mirror.ts'
import { proofForms } from './proof.ts'
import { publishDueLists } from './publish-lists.ts'
import { revokeCredentials } from './revoke.ts'
import { createKey, rotateKeys } from './rotate-keys.ts'
import { listValiditySeconds } from './status-list.ts'

const registry = await testRegistry()
const { db } = registry
after(() => registry.drop())

const [listId = ''] = await findOpenListIds(db, origin.issuer)
const validUntil = new Date(issuedAt.getTime() + listValiditySeconds * 1_000)
const before = (seconds: number) => new Date(validUntil.getTime() - seconds * 1_000)

test('before the first refresh a mirror knows nothing and says so', () => {
  const mirror = openMirror(db, [publicUrl])
  assert.deepEqual(mirror.keys(), [])
  assert.equal(mirror.activeKey(), undefined)
  assert.equal(mirror.list(listId, 'native', issuedAt), 'unknown')
  assert.equal(mirror.ageMs(), Number.POSITIVE_INFINITY)
})

test('after a refresh it serves keys, trust and every list in each form', async () => {
  const mirror = openMirror(db, [publicUrl])
  await mirror.refresh()
  assert.equal(mirror.activeKey()?.kid, signer.kid)
  assert.deepEqual(
    [...(mirror.trust().get(origin.issuer)?.keys.keys() ?? [])],
    [`${origin.issuer}#${signer.kid}`],
  )
  for (const form of proofForms) {
    const document = mirror.list(listId, form, issuedAt)
    assert.ok(typeof document === 'object')
    assert.equal(document.contentType, 'application/ld+json')
    const list = JSON.parse(document.representations[0]?.bytes.toString() ?? '')
    assert.equal(list.id, `${origin.statusListUrlPrefix}${listId}`)
    assert.equal(list.proof.cryptosuite ?? 'native', form)
  }
  assert.ok(mirror.ageMs() < 60_000)
})

test('a document is made once for each form and served again; another publication makes another', async () => {
  const mirror = openMirror(db, [publicUrl])
  await mirror.refresh()
  const first = mirror.list(listId, 'native', issuedAt)
  await mirror.refresh()
  assert.equal(mirror.list(listId, 'native', issuedAt), first)
  const issued = await issueOne(db)
  await revokeCredentials(db, { statusTokens: [Buffer.from(issued.statusToken, 'hex')] }, now)
  const soon = new Date(issuedAt.getTime() + 1_000)
  await publishDueLists(db, issuer, soon)
  await mirror.refresh()
  const changedId = String(issued.credential.credentialStatus.statusListCredential).slice(
    origin.statusListUrlPrefix.length,
  )
  const changedList = mirror.list(changedId, 'native', soon)
  assert.ok(typeof changedList === 'object')
  assert.match(
    changedList.representations[0]?.bytes.toString() ?? '',
    /"validFrom":"2026-05-14T09:00:01Z"/,
  )
})

test('a list may go stale in caches for an hour, but never beyond its own end', async () => {
  const mirror = openMirror(db, [publicUrl])
  await mirror.refresh()
  const untouched = await untouchedList()
  const cacheControlAt = (at: Date) => {
    const document = mirror.list(untouched, 'native', at)
    return typeof document === 'object' ? document.cacheControl : document
  }
  assert.equal(cacheControlAt(issuedAt), 'public, max-age=60, stale-if-error=3600')
  assert.equal(cacheControlAt(before(3_661)), 'public, max-age=60, stale-if-error=3600')
  assert.equal(cacheControlAt(before(3_660)), 'public, max-age=60')
  assert.equal(cacheControlAt(before(61)), 'public, max-age=60')
  assert.equal(cacheControlAt(before(60)), 'outdated')
  assert.equal(cacheControlAt(validUntil), 'outdated')
})

/** A list that still is as it was when it was opened. */
async function untouchedList(): Promise<string> {
  const { rows } = await registry.client.query(
    'select list_id from status_lists where valid_until = $1 limit 1',
    [validUntil],
  )
  return rows[0].list_id
}

test('calls at the same time share one read', async () => {
  let reads = 0
  const counting: Db = {
    ...db,
    rows: (statement) => {
      reads++
      return db.rows(statement)
    },
  }
  const mirror = openMirror(counting, [publicUrl])
  await Promise.all([mirror.refresh(), mirror.refresh(), mirror.refresh()])
  assert.equal(reads, 2, 'keys once, lists once')
  await mirror.refresh()
  assert.equal(reads, 4)
})

test('a list that is opened, closed or dead later is seen at the next refresh', async () => {
  const mirror = openMirror(db, [publicUrl])
  await mirror.refresh()
  const dead = await untouchedList()
  const { client } = registry
  await client.query(
    'update status_lists set closed_at = now(), dies_at = now() where list_id = $1',
    [dead],
  )
  const opened = (await tendLists(db, issuer, issuedAt)).filter(
    (id) => mirror.list(id, 'native', issuedAt) === 'unknown',
  )
  assert.equal(opened.length, 1)
  assert.equal(
    typeof mirror.list(dead, 'native', issuedAt),
    'object',
    'until then it serves what it has',
  )
  await mirror.refresh()
  assert.equal(mirror.list(dead, 'native', issuedAt), 'unknown')
  assert.equal(typeof mirror.list(opened[0] ?? '', 'native', issuedAt), 'object')
})

test('a rotation and a revoked key are seen at the next refresh; arrays are replaced, never changed', async () => {
  const mirror = openMirror(db, [publicUrl])
  await mirror.refresh()
  const keys = mirror.keys()
  await mirror.refresh()
  assert.equal(mirror.keys(), keys, 'nothing changed: the same array, so documents made of it stay')
  const next = signerOf(8)
  await createKey(db, next.kid, keySince)
  await rotateKeys(db, now, { atOnce: true })
  assert.equal(mirror.activeKey()?.kid, signer.kid)
  await mirror.refresh()
  assert.equal(mirror.activeKey()?.kid, next.kid)
  assert.equal(keys.length, 1)
  await revokeSigningKey(db, next.kid, now)
  await mirror.refresh()
  assert.equal(mirror.activeKey(), undefined)
})

test('while the database is away the mirror serves what it has, and refresh says so', async () => {
  const own = await testRegistry()
  const mirror = openMirror(own.db, [publicUrl])
  await mirror.refresh()
  const [ownList = ''] = await findOpenListIds(own.db, origin.issuer)
  const keys = mirror.keys()
  await own.client.end()
  const { client } = registry
  await client.query(`drop database ${new URL(own.url).pathname.slice(1)} with (force)`)
  await assert.rejects(mirror.refresh(), { name: 'UnavailableError' })
  assert.equal(mirror.keys(), keys)
  assert.equal(mirror.activeKey()?.kid, signer.kid)
  assert.equal(typeof mirror.list(ownList, 'native', issuedAt), 'object')
  assert.equal(mirror.list(ownList, 'native', validUntil), 'outdated')
  await own.db.close()
})
