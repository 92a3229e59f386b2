import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkOpenFiles } from '../cli/doctor-machine.ts'
import { connectionsWithin, openFilesMax } from './open-files.ts'

test('connections stay within the limit of open files, and doctor names both limits', () => {
  assert.equal(connectionsWithin(256, 10_000), 160)
  assert.equal(connectionsWithin(10_320, 10_000), 10_000)
  assert.equal(connectionsWithin(10_319, 10_000), 9_999)
  assert.equal(connectionsWithin(null, 10_000), 10_000)
  assert.equal(connectionsWithin(10, 10_000), 1)
  const [found] = checkOpenFiles({ connectionsMax: 10_000 }, 256)
  assert.equal(found?.level, 'warn')
  assert.match(
    found?.message ?? '',
    /256.*160.*CONNECTIONS_MAX \(10000\).*32 webhooks.*LimitNOFILE/,
  )
  assert.deepEqual(checkOpenFiles({ connectionsMax: 10_000 }, 20_000), [])
})

test('the limit of this process is read, on Linux', () => {
  assert.ok(process.platform !== 'linux' || Number(openFilesMax()) > 0)
})
