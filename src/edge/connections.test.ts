import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { trackConnections } from './connections.ts'
import type { RequestContext } from './request-context.ts'

/**
 * Opens a connection on which `bytes` bytes are queued, and returns a function that runs the check
 * of all connections.
 */
function watched(t: TestContext, { bytes, readTimeoutMs }: Record<string, number>) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const limits = {
    connectionsPerAddressMax: 1,
    readTimeoutMs: readTimeoutMs as number,
    checkIntervalMs: 1,
  }
  const connections = trackConnections([], limits)
  const socket = { bytesWritten: bytes as number, writableLength: bytes as number, cut: false }
  const destroy = () => void (socket.cut = true)
  const connection = { socket: Object.assign(socket, { destroy }) as unknown as Socket }
  const watch = () => connections.watch({ connection } as unknown as RequestContext)
  watch()
  return { socket, watch, look: () => t.mock.timers.tick(1) }
}

test('a connection that has not taken its response by the deadline is closed', (t) => {
  const { socket, look } = watched(t, { bytes: 100, readTimeoutMs: 0 })
  socket.writableLength = 1
  look()
  assert.ok(socket.cut)
})

test('a connection before its deadline stays open', (t) => {
  const { socket, look } = watched(t, { bytes: 100, readTimeoutMs: 1e9 })
  look()
  assert.ok(!socket.cut)
})

test('each response has its own deadline: a connection that took one is closed only at the deadline of the next', (t) => {
  const { socket, watch, look } = watched(t, { bytes: 100, readTimeoutMs: 0 })
  Object.assign(socket, { bytesWritten: 200, writableLength: 100 })
  watch()
  look()
  assert.ok(!socket.cut)
  socket.writableLength = 1
  look()
  assert.ok(socket.cut)
})

test('a connection that has taken everything is no longer watched', (t) => {
  const { socket, look } = watched(t, { bytes: 100, readTimeoutMs: 0 })
  socket.writableLength = 0
  look()
  socket.writableLength = 100
  look()
  assert.ok(!socket.cut)
})
