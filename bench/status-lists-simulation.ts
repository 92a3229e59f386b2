/**
 * Started by `status-lists.ts`. Simulates the status lists of 100 million credentials: 1,018 lists,
 * three quarters full, one credential in a hundred revoked, bits in memory. Builds, signs and
 * writes every list as it is published.
 */
import { randomInt } from 'node:crypto'
import {
  bitsOf,
  listFillMax,
  listLength,
  statusListPayload,
  statusListProofs,
} from '../src/credentials/status-list.ts'
import { now, origin, signer } from '../test/support/build/credentials.ts'
import { type Finding, report } from './measure.ts'

const credentials = 100_000_000
const lists = Math.ceil(credentials / listFillMax)
const revokedOfList = Math.round(listFillMax / 100)

/** May repeat an index, in one of ten thousand cases. */
function* randomIndexes(): Iterable<number> {
  for (let i = 0; i < revokedOfList; i++) yield randomInt(listLength)
}

const inMemory = Array.from({ length: lists }, () => bitsOf(randomIndexes()))
const bitsBytes = inMemory.reduce((sum, bits) => sum + bits.length, 0)

const before = process.cpuUsage()
let bytes = 0
for (const [i, bits] of inMemory.entries()) {
  const listId = i.toString(32).padStart(10, 'a')
  const payload = statusListPayload(origin, { listId, bits, publishedAt: now })
  const { 'eddsa-rdfc-2022': proof } = statusListProofs(payload, origin, signer)
  bytes += Buffer.byteLength(JSON.stringify({ ...payload, proof }))
}
const { user, system } = process.cpuUsage(before)

const findings: Finding[] = [
  { name: 'credentials', value: credentials, unit: '' },
  { name: 'lists', value: lists, unit: '' },
  { name: 'revoked', value: lists * revokedOfList, unit: '' },
  { name: 'bits in memory', value: bitsBytes / 2 ** 20, unit: 'MiB' },
  {
    name: 'all lists rebuilt and signed, three forms',
    value: (user + system) / 1e6,
    unit: 'cpu s',
    target: { max: 2 },
  },
  { name: 'one list', value: (user + system) / lists / 1e3, unit: 'cpu ms' },
  { name: 'all lists published', value: bytes / 2 ** 20, unit: 'MiB' },
  { name: 'one list published', value: bytes / lists / 1_024, unit: 'KiB' },
  {
    name: 'resident memory',
    value: process.memoryUsage.rss() / 1e6,
    unit: 'MB',
    target: { max: 100 },
  },
]
report('status lists of 100 million credentials', findings)
