/** Settings of logs and metrics. */
import {
  host,
  httpUrl,
  integer,
  oneOf,
  type Reading,
  readerOf,
  type SettingTable,
} from './setting.ts'

export const observabilitySettings = {
  LOG_LEVEL: {
    default: 'info',
    unit: 'debug, info, warn, error or silent',
    effect:
      'With info, each request is one JSON line on standard output; with warn, only problems are logged.',
    parse: oneOf('debug', 'info', 'warn', 'error', 'silent'),
  },
  METRICS_PORT: {
    default: '0',
    unit: 'TCP port, or off',
    effect: 'Port of /metrics; 0 takes any free port and logs it.',
    parse: (text) => (text === 'off' ? null : integer(0, 65_535)(text)),
  },
  METRICS_HOST: {
    default: '127.0.0.1',
    unit: 'address',
    effect: 'Interface of /metrics, which has no authentication: keep it private.',
    parse: host,
  },
  TRACES_URL: {
    default: 'none',
    unit: 'http or https URL',
    effect:
      'A collector that takes OTLP as JSON, such as http://127.0.0.1:4318/v1/traces; without it nothing is traced.',
    parse: httpUrl,
  },
  TRACES_SAMPLING: {
    default: '0.1',
    unit: 'share from 0 to 1',
    effect:
      'How many requests, job runs and deliveries begin a trace; a request with the header traceparent follows it.',
    parse: share,
  },
  REQUEST_LOG_DAYS: {
    default: '7',
    unit: 'days',
    effect: 'How long developers see their calls in the dashboard; 0 turns the request log off.',
    parse: integer(0, 400),
  },
} as const satisfies SettingTable

function share(text: string): number {
  const value = /^(0|1|0?\.\d{1,6})$/.test(text) ? Number(text) : Number.NaN
  if (Number.isNaN(value)) throw new Error('a number from 0 to 1, such as 0.1')
  return value
}

export function readObservability(reading: Reading) {
  const { read, readOr } = readerOf(observabilitySettings, reading)
  const [url, sampling] = [read('TRACES_URL'), readOr('TRACES_SAMPLING')]
  return {
    logLevel: readOr('LOG_LEVEL'),
    metricsPort: readOr('METRICS_PORT'),
    metricsHost: readOr('METRICS_HOST'),
    requestLogDays: readOr('REQUEST_LOG_DAYS'),
    traces: url === undefined ? null : { url, sampling },
  }
}
