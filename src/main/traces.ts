/** Composes the tracing of a process. Without TRACES_URL nothing of it is loaded. */
import { hostname } from 'node:os'
import type { Config } from '../config/config.ts'
import type { Log } from '../platform/observability/log.ts'
import type { Metrics } from '../platform/observability/metrics.ts'
import { startTracing } from '../platform/observability/tracing.ts'

export interface TracesOptions {
  log: Log
  metrics: Metrics
  release: string
  closing: AsyncDisposableStack
}

const loggedEveryMs = 60_000

export async function openTraces(
  { traces }: Pick<Config, 'traces'>,
  { log, metrics, release, closing }: TracesOptions,
): Promise<void> {
  if (traces === null) return
  const [{ openEgress }, { operatorRules }, { openTraceExport }] = await Promise.all([
    import('../platform/egress/client.ts'),
    import('../platform/egress/rules.ts'),
    import('../platform/observability/trace-export.ts'),
  ])
  const egress = openEgress({ rules: operatorRules })
  closing.defer(() => egress.close())
  let loggedAt = Number.NEGATIVE_INFINITY
  const exporter = openTraceExport({
    egress,
    url: traces.url,
    resource: {
      'service.name': 'assay',
      'service.version': release,
      'service.instance.id': `${hostname()}:${process.pid}`,
    },
    onFailure(why) {
      if (performance.now() - loggedAt < loggedEveryMs) return
      loggedAt = performance.now()
      log.warn('traces are dropped', { why })
    },
  })
  closing.defer(() => exporter.close())
  metrics.gauge('trace_spans_dropped', 'Spans since the start that were dropped.', exporter.dropped)
  closing.defer(startTracing({ sampling: traces.sampling, ended: exporter.ended }))
}
