import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { trackConnections } from './connections.ts'
import type { Exchange } from './exchange.ts'

/** A connection to which as many bytes were written as are given, all of which wait, and a look at all connections. */
function watched(t: TestContext, { bytes, readTimeoutMs }: Record<string, number>) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const limits = { perAddressMax: 1, readTimeoutMs: readTimeoutMs as number, checkIntervalMs: 1 }
  const connections = trackConnections([], limits)
  const socket = { bytesWritten: bytes as number, writableLength: bytes as number, cut: false }
  const destroy = () => void (socket.cut = true)
  const connection = { socket: Object.assign(socket, { destroy }) as unknown as Socket }
  const watch = () => connections.watch({ connection } as unknown as Exchange)
  watch()
  return { socket, watch, look: () => t.mock.timers.tick(1) }
}

test('whoever has not taken its answer when its time is over is cut off', (t) => {
  const { socket, look } = watched(t, { bytes: 100, readTimeoutMs: 0 })
  socket.writableLength = 1
  look()
  assert.ok(socket.cut)
})

test('whoever still has time is not', (t) => {
  const { socket, look } = watched(t, { bytes: 100, readTimeoutMs: 1e9 })
  look()
  assert.ok(!socket.cut)
})

test('each answer has its time: whoever took one is not cut off for the next, until that has had its own', (t) => {
  const { socket, watch, look } = watched(t, { bytes: 100, readTimeoutMs: 0 })
  Object.assign(socket, { bytesWritten: 200, writableLength: 100 })
  watch()
  look()
  assert.ok(!socket.cut)
  socket.writableLength = 1
  look()
  assert.ok(socket.cut)
})

test('whoever has taken everything is no longer looked at', (t) => {
  const { socket, look } = watched(t, { bytes: 100, readTimeoutMs: 0 })
  socket.writableLength = 0
  look()
  socket.writableLength = 100
  look()
  assert.ok(!socket.cut)
})
