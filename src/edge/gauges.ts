/** Publishes the state of the server as metrics. */
import type { Metrics } from '../platform/observability/metrics.ts'
import type { Connections } from './connections.ts'
import type { Gate } from './gate.ts'
import type { Gates } from './gates.ts'
import type { OpenBodies } from './open-bodies.ts'

export interface GaugedOptions {
  metrics: Metrics
  gates: Gates
  bodies: OpenBodies
  connections: Connections
  /** Returns the connections that were refused elsewhere. */
  refused(): number
}

export function publishGauges(options: GaugedOptions): void {
  const { metrics, gates, bodies, connections, refused } = options
  const byPriority = (count: (gate: Gate) => number) => () =>
    Object.fromEntries(Object.entries(gates).map(([name, gate]) => [name, count(gate)]))
  metrics.gauges(
    { name: 'http_in_flight', help: 'Requests under way.', labels: ['priority'] },
    byPriority((gate) => gate.active()),
  )
  metrics.gauges(
    { name: 'http_waiting', help: 'Requests that wait for a slot.', labels: ['priority'] },
    byPriority((gate) => gate.waiting()),
  )
  metrics.gauge('http_open_bodies', 'Bodies that are not whole yet.', bodies.count)
  metrics.gauge('http_body_bytes', 'Bytes of bodies in memory.', bodies.bytes)
  metrics.gauge('http_connections', 'Open connections.', connections.count)
  metrics.gauge(
    'http_connections_refused',
    'Connections over a limit since the start.',
    () => connections.refused() + refused(),
  )
}
