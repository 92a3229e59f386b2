/** The registry cache: the content it serves without a read, and until when. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { contextAt } from '../../test/support/build/actions.ts'
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
  revokeNow,
  testRegistry,
} from '../../test/support/build/registry.ts'
import {
  createSigningKey,
  revokeSigningKey,
  rotateSigningKeys,
} from '../../test/support/build/signing-keys.ts'
import type { Db } from '../platform/db/db.ts'
import { tendLists } from './issue.ts'
import { findOpenListIds } from './list-store.ts'
import { proofForms } from './proof.ts'
import { publishDueLists } from './publish-lists.ts'
import { openRegistryCache } from './registry-cache.ts'
import { listValiditySeconds } from './status-list.ts'

const registry = await testRegistry()
const { db } = registry
after(() => registry.drop())

const [listId = ''] = await findOpenListIds(db, origin.issuer)
const validUntil = new Date(issuedAt.getTime() + listValiditySeconds * 1_000)
const before = (seconds: number) => new Date(validUntil.getTime() - seconds * 1_000)

test('before the first refresh the registry cache is empty and its age is infinite', () => {
  const registryCache = openRegistryCache(db, [publicUrl])
  assert.deepEqual(registryCache.keys(), [])
  assert.equal(registryCache.activeKey(), undefined)
  assert.equal(registryCache.list(listId, 'native', issuedAt), 'unknown')
  assert.equal(registryCache.ageMs(), Number.POSITIVE_INFINITY)
})

test('after a refresh the registry cache serves keys, trust and every list in each form', async () => {
  const registryCache = openRegistryCache(db, [publicUrl])
  await registryCache.refresh()
  assert.equal(registryCache.activeKey()?.kid, signer.kid)
  assert.deepEqual(
    [...(registryCache.trust().get(origin.issuer)?.keys.keys() ?? [])],
    [`${origin.issuer}#${signer.kid}`],
  )
  for (const form of proofForms) {
    const document = registryCache.list(listId, form, issuedAt)
    assert.ok(typeof document === 'object')
    assert.equal(document.contentType, 'application/ld+json')
    const list = JSON.parse(document.representations[0]?.bytes.toString() ?? '')
    assert.equal(list.id, `${origin.statusListUrlPrefix}${listId}`)
    assert.equal(list.proof.cryptosuite ?? 'native', form)
  }
  assert.ok(registryCache.ageMs() < 60_000)
})

test('a document is built once for each form and publication', async () => {
  const registryCache = openRegistryCache(db, [publicUrl])
  await registryCache.refresh()
  const first = registryCache.list(listId, 'native', issuedAt)
  await registryCache.refresh()
  assert.equal(registryCache.list(listId, 'native', issuedAt), first)
  const issued = await issueOne(db)
  await revokeNow(contextAt(db, now), [
    { by: 'token', bytes: Buffer.from(issued.statusToken, 'hex') },
  ])
  const soon = new Date(issuedAt.getTime() + 1_000)
  await publishDueLists(db, issuer, soon)
  await registryCache.refresh()
  const changedId = String(issued.credential.credentialStatus.statusListCredential).slice(
    origin.statusListUrlPrefix.length,
  )
  const changedList = registryCache.list(changedId, 'native', soon)
  assert.ok(typeof changedList === 'object')
  assert.match(
    changedList.representations[0]?.bytes.toString() ?? '',
    /"validFrom":"2026-05-14T09:00:01Z"/,
  )
})

test('a cache serves a list for its ttl and never stale, up to the end of its validity', async () => {
  const registryCache = openRegistryCache(db, [publicUrl])
  await registryCache.refresh()
  const untouched = await untouchedList()
  const listAt = (at: Date) => registryCache.list(untouched, 'native', at)
  const document = listAt(issuedAt)
  assert.ok(typeof document === 'object')
  const { credentialSubject } = JSON.parse(document.representations[0]?.bytes.toString() ?? '')
  assert.equal(credentialSubject.ttl, 60_000)
  assert.equal(document.cacheControl, 'public, max-age=60, must-revalidate')
  assert.equal(listAt(before(61)), document)
  assert.equal(listAt(before(60)), 'outdated')
  assert.equal(listAt(validUntil), 'outdated')
})

/** Returns a list that has not been published again since it was opened. */
async function untouchedList(): Promise<string> {
  const { rows } = await registry.client.query(
    'select list_id from status_lists where valid_until = $1 limit 1',
    [validUntil],
  )
  return rows[0].list_id
}

test('concurrent refreshes share one read', async () => {
  let reads = 0
  const counting: Db = {
    ...db,
    rows: (statement) => {
      reads++
      return db.rows(statement)
    },
  }
  const registryCache = openRegistryCache(counting, [publicUrl])
  await Promise.all([registryCache.refresh(), registryCache.refresh(), registryCache.refresh()])
  assert.equal(reads, 2, 'keys once, lists once')
  await registryCache.refresh()
  assert.equal(reads, 4)
})

test('a refresh adds opened lists and removes expired ones', async () => {
  const registryCache = openRegistryCache(db, [publicUrl])
  await registryCache.refresh()
  const dead = await untouchedList()
  const { client } = registry
  await client.query(
    'update status_lists set closed_at = now(), dies_at = now() where list_id = $1',
    [dead],
  )
  const opened = (await tendLists(db, issuer, issuedAt)).filter(
    (id) => registryCache.list(id, 'native', issuedAt) === 'unknown',
  )
  assert.equal(opened.length, 1)
  assert.equal(
    typeof registryCache.list(dead, 'native', issuedAt),
    'object',
    'until then it serves what it has',
  )
  await registryCache.refresh()
  assert.equal(registryCache.list(dead, 'native', issuedAt), 'unknown')
  assert.equal(typeof registryCache.list(opened[0] ?? '', 'native', issuedAt), 'object')
})

test('a refresh shows a rotation and a revoked key; arrays are replaced, never changed', async () => {
  const registryCache = openRegistryCache(db, [publicUrl])
  await registryCache.refresh()
  const keys = registryCache.keys()
  await registryCache.refresh()
  assert.equal(
    registryCache.keys(),
    keys,
    'nothing changed: the same array, so documents made of it stay',
  )
  const next = signerOf(8)
  await createSigningKey(contextAt(db, keySince), next.kid)
  await rotateSigningKeys(contextAt(db, now), { atOnce: true })
  assert.equal(registryCache.activeKey()?.kid, signer.kid)
  await registryCache.refresh()
  assert.equal(registryCache.activeKey()?.kid, next.kid)
  assert.equal(keys.length, 1)
  await revokeSigningKey(contextAt(db, now), next.kid)
  await registryCache.refresh()
  assert.equal(registryCache.activeKey(), undefined)
})

test('while the database is unavailable the registry cache serves its copy and refresh rejects', async () => {
  const own = await testRegistry()
  const registryCache = openRegistryCache(own.db, [publicUrl])
  await registryCache.refresh()
  const [ownList = ''] = await findOpenListIds(own.db, origin.issuer)
  const keys = registryCache.keys()
  await own.client.end()
  const { client } = registry
  await client.query(`drop database ${new URL(own.url).pathname.slice(1)} with (force)`)
  await assert.rejects(registryCache.refresh(), { name: 'UnavailableError' })
  assert.equal(registryCache.keys(), keys)
  assert.equal(registryCache.activeKey()?.kid, signer.kid)
  assert.equal(typeof registryCache.list(ownList, 'native', issuedAt), 'object')
  assert.equal(registryCache.list(ownList, 'native', validUntil), 'outdated')
  await own.db.close()
})
