/**
 * Status lists: the bits as the standard reads them, the signatures as the reference libraries
 * check them.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import {
  changed,
  inside,
  type Json,
  origin,
  signer,
  vector,
  vectorCredentials,
} from '../../test/support/build/credentials.ts'
import {
  statusListVector,
  statusListVectorFile,
} from '../../test/support/build/status-list-vector.ts'
import fc from '../../test/support/oracle/fc.ts'
import { peerStatusBit, verifierSuite } from '../../test/support/oracle/peer.ts'
import { signList } from './publish-lists.ts'
import {
  bitsOf,
  listIdPattern,
  listLength,
  listRefreshSeconds,
  listTtlSeconds,
  listValiditySeconds,
  statusListPayload,
  statusListProofs,
} from './status-list.ts'

const publishedAt = new Date('2026-06-01T10:00:00Z')
const standardsEmptyList = 'uH4sIAAAAAAAAA-3BMQEAAADCoPVPbQwfoAAAAAAAAAAAAAAAAAAAAIC3AYbSVKsAQAAA'

function subjectOf(indexes: readonly number[]): Json {
  const facts = { listId: 'k3x7qzm2ab', bits: bitsOf(indexes), publishedAt }
  return inside(statusListPayload(origin, facts), 'credentialSubject')
}

test('an empty list equals the example of the standard', () => {
  assert.equal(subjectOf([]).encodedList, standardsEmptyList)
})

test('a list has exactly 131,072 entries, and index 0 is the left-most bit', () => {
  assert.deepEqual([...bitsOf([0, 9]).subarray(0, 2)], [0b1000_0000, 0b0100_0000])
  assert.equal(bitsOf([listLength - 1]).at(-1), 1)
  assert.equal(bitsOf([]).length * 8, 131_072)
})

test('the encoded list decodes to exactly the revoked indexes', () => {
  const index = fc.integer({ min: 0, max: listLength - 1 })
  fc.assert(
    fc.property(fc.array(index, { maxLength: 500 }), (indexes) => {
      assert.deepEqual(
        indexesIn(subjectOf(indexes)),
        [...new Set(indexes)].sort((a, b) => a - b),
      )
    }),
  )
})

test('a list is valid for a day, and its ttl is one minute in milliseconds', () => {
  const bits = bitsOf([])
  const { validFrom, validUntil, ...list } = statusListPayload(origin, {
    listId: 'k3x7qzm2ab',
    bits,
    publishedAt,
  })
  assert.equal(validFrom, '2026-06-01T10:00:00Z')
  assert.equal(validUntil, '2026-06-02T10:00:00Z')
  assert.equal(inside(list, 'credentialSubject').ttl, 60_000)
  assert.ok(listTtlSeconds < listRefreshSeconds && listRefreshSeconds * 4 <= listValiditySeconds)
})

test('lists published together have different refresh times, all within six hours', () => {
  const list = { listId: 'k3x7qzm2ab', revision: 0, indexes: [], publishedAt }
  const ages = Array.from({ length: 50 }, () => {
    const { refreshAt } = signList({ origin, signer }, list)
    return (refreshAt.getTime() - publishedAt.getTime()) / 1_000
  })
  assert.ok(new Set(ages).size > 10)
  assert.ok(Math.min(...ages) > 5 * 3_600)
  assert.ok(Math.max(...ages) <= listRefreshSeconds)
})

for (const form of ['eddsa-rdfc-2022', 'eddsa-jcs-2022'] as const)
  test(`oracle: the reference library accepts the list signed as ${form} and reads set and unset bits`, async () => {
    const suite = await verifierSuite(form)
    const status = inside(vector.payload, 'credentialStatus')
    const index = Number(status.statusListIndex)
    const listId = String(status.statusListCredential).slice(origin.statusListUrlPrefix.length)
    for (const [indexes, revoked] of [
      [[index], true],
      [[index - 1, index + 1], false],
      [[], false],
    ] as const) {
      const list = statusListPayload(origin, {
        listId,
        bits: bitsOf(indexes),
        publishedAt: new Date(),
      })
      const signed = { ...list, proof: statusListProofs(list, origin, signer)[form] }
      assert.equal(await peerStatusBit(vectorCredentials[form], signed, suite), revoked)
    }
  })

test('oracle: the reference library rejects a list whose bits changed after signing', async () => {
  const suite = await verifierSuite('eddsa-rdfc-2022')
  const status = inside(vector.payload, 'credentialStatus')
  const listId = String(status.statusListCredential).slice(origin.statusListUrlPrefix.length)
  const list = statusListPayload(origin, {
    listId,
    bits: bitsOf([94_567]),
    publishedAt: new Date(),
  })
  const proof = statusListProofs(list, origin, signer)['eddsa-rdfc-2022']
  const forged = changed({ ...list, proof }, (copy) => {
    inside(copy, 'credentialSubject').encodedList = standardsEmptyList
  })
  await assert.rejects(peerStatusBit(vectorCredentials['eddsa-rdfc-2022'], forged, suite))
})

test('vector: the published list vector reproduces and decodes to its indexes', () => {
  const published = JSON.parse(readFileSync(statusListVectorFile, 'utf8'))
  const ours = statusListVector()
  assert.deepEqual(ours, published)
  const native = inside(inside(ours, 'credentials'), 'native')
  assert.deepEqual(indexesIn(inside(native, 'credentialSubject')), published.revokedIndexes)
})

test('a list id is exactly ten base32 characters', () => {
  assert.ok(listIdPattern.test('k3x7qzm2ab'))
  for (const id of ['', 'k3x7qzm2a', 'k3x7qzm2abc', 'K3X7QZM2AB', 'k3x7qzm2a1', 'k3x7qzm2ab\n'])
    assert.ok(!listIdPattern.test(id), id)
})

function indexesIn(subject: Json): number[] {
  const encoded = String(subject.encodedList)
  assert.equal(encoded[0], 'u')
  const bytes = gunzipSync(Buffer.from(encoded.slice(1), 'base64url'))
  const indexes: number[] = []
  for (let i = 0; i < bytes.length * 8; i++)
    if (((bytes[i >> 3] as number) & (0x80 >> (i & 7))) !== 0) indexes.push(i)
  return indexes
}
