/** Settings of the database and the data directory. */
import { resolve } from 'node:path'
import { poolings } from '../platform/db/session-settings.ts'
import { integer, list, oneOf, path, type Reading, readerOf, type SettingTable } from './setting.ts'

export const storageSettings = {
  DATABASE_URL: {
    default: 'the embedded PostgreSQL',
    unit: 'postgres:// URL',
    effect:
      'The database, PostgreSQL 15 to 18; without it an embedded PostgreSQL 18 runs in the data directory.',
    confidential: true,
    parse: postgresUrl,
  },
  DATABASE_READ_URLS: {
    default: '',
    unit: 'postgres:// URLs, separated by commas',
    effect:
      'Streaming replicas of DATABASE_URL that answer public reads; what hides something then waits one second.',
    confidential: true,
    parse: (text) => list(text).map(postgresUrl),
  },
  DATABASE_POOLING: {
    default: 'session',
    unit: 'session, transaction or transaction-prepared',
    effect: 'Set it if DATABASE_URL leads to PgBouncer in transaction mode.',
    parse: oneOf(...poolings),
  },
  REQUEST_LOG_DATABASE_URL: {
    default: 'the database of DATABASE_URL',
    unit: 'postgres:// URL',
    effect:
      'Another database for the request log of developers, which every call with a key writes.',
    confidential: true,
    parse: postgresUrl,
  },
  DATABASE_CONNECTIONS_MAX: {
    default: '10',
    unit: 'connections a process',
    effect: 'Further calls wait half a second for a connection and then get 503.',
    parse: integer(2, 1_000),
  },
  ASSAY_DATA_DIR: {
    default: './.data, for root /var/lib/assay',
    unit: 'folder',
    effect: 'Holds the signing keys, the embedded database and the demo; back it up.',
    parse: path,
  },
} as const satisfies SettingTable

function postgresUrl(text: string): string {
  if (!/^postgres(ql)?:\/\//.test(text)) throw new Error('a postgres:// URL')
  return text
}

export function readStorage(reading: Reading) {
  const { read, readOr } = readerOf(storageSettings, reading)
  const databaseUrl = read('DATABASE_URL')
  const databaseReadUrls = read('DATABASE_READ_URLS') ?? []
  if (databaseReadUrls.length > 0 && databaseUrl === undefined)
    reading.problems.push('DATABASE_READ_URLS needs DATABASE_URL, the database that they replicate')
  return {
    databaseUrl,
    databaseReadUrls,
    requestLogDatabaseUrl: read('REQUEST_LOG_DATABASE_URL'),
    databasePooling: readOr('DATABASE_POOLING'),
    databaseConnectionsMax: readOr('DATABASE_CONNECTIONS_MAX'),
    dataDir:
      read('ASSAY_DATA_DIR') ?? (process.getuid?.() === 0 ? '/var/lib/assay' : resolve('.data')),
  }
}
