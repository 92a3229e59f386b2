/**
 * The checks of `assay doctor` on the database server: required session settings and harmful server
 * settings.
 */
import type { Config } from '../config/config.ts'
import { archiveFails, proveDiskRoom } from '../health/heartbeat.ts'
import { type Db, type Queryable, sql, sqlState } from '../platform/db/db.ts'
import { requiredSettings } from '../platform/db/session-settings.ts'
import { UnavailableError } from '../platform/errors.ts'
import { about, type Finding } from './doctor-finding.ts'

/**
 * Settings that only the server's configuration decides: the harmful values and the advice to
 * print.
 */
const harmful: Readonly<Record<string, { isHarmful: (value: string) => boolean; advice: string }>> =
  {
    fsync: {
      isHarmful: isOff,
      advice:
        'a crash of the machine loses commits or the whole database. Set it to on and restart PostgreSQL.',
    },
    full_page_writes: {
      isHarmful: isOff,
      advice:
        'a crash of the machine can leave pages half written. Set it to on and reload PostgreSQL.',
    },
    autovacuum: {
      isHarmful: isOff,
      advice:
        'tables grow without end and plans rest on old counts. Set it to on and reload PostgreSQL.',
    },
    track_counts: {
      isHarmful: isOff,
      advice:
        'autovacuum finds no work, so tables grow without end. Set it to on and reload PostgreSQL.',
    },
    zero_damaged_pages: {
      isHarmful: (value) => value === 'on',
      advice:
        'damaged pages are read as empty, so rows disappear without an error. Set it to off and restore a backup.',
    },
    log_statement: {
      isHarmful: (value) => value === 'mod' || value === 'all',
      advice: 'the server logs personal data that statements carry. Set it to none or ddl.',
    },
    log_min_duration_statement: {
      isHarmful: (value) => Number(value) >= 0 && Number(value) < 100,
      advice: 'the server logs nearly every statement, with the personal data in it. Set it to -1.',
    },
    idle_in_transaction_session_timeout: {
      isHarmful: (value) => Number(value) > 0 && Number(value) < 10_000,
      advice: 'an import on a busy machine is cut off. Set it to 10s or more, or to 0.',
    },
  }

function isOff(value: string): boolean {
  return value === 'off'
}

interface ServerFacts {
  settings: { name: string; value: string }[]
  isStandby: boolean
  isReadOnly: boolean
  encoding: string
  schema: string | null
  hasStaleCollation: boolean
  connectionsMax: number
  /** The file of the log whose last copy failed. */
  unarchived: string | null
}

/** `scale` is the deployment that the settings describe. */
export async function checkDatabaseServer(
  db: Db,
  scale: Pick<Config, 'databaseConnectionsMax' | 'processes' | 'nodes' | 'databasePooling'>,
): Promise<Finding[]> {
  const facts = await readFacts(db)
  return [
    checkSessionSettings(facts),
    ...(await checkDiskRoom(db)),
    ...checkServerSettings(facts),
    ...checkConnectionLimit(facts, scale),
  ]
}

/** Returns no finding if there is room. A standby has room, and `checkServerSettings` names it. */
async function checkDiskRoom(db: Db): Promise<Finding[]> {
  const { fail } = about('server')
  try {
    await db.transaction(proveDiskRoom)
    return []
  } catch (error) {
    const cause = error instanceof UnavailableError ? error.cause : error
    const state = sqlState(cause)
    if (state === undefined) throw error
    // The search index of a command needs its table, which an empty database does not have yet.
    if (state === '42P01') return []
    const why = cause instanceof Error ? cause.message : String(cause)
    return [fail(`it cannot write a file (SQLSTATE ${state}: ${why}): make room on its disk.`)]
  }
}

async function readFacts(db: Queryable): Promise<ServerFacts> {
  const names = [...Object.keys(requiredSettings), ...Object.keys(harmful)]
  const [row] = await db.rows<ServerFacts>(sql`
    select
      (select json_agg(json_build_object('name', name, 'value', setting) order by name)
        from pg_settings where name = any(${names}::text[])) as settings,
      pg_is_in_recovery() as "isStandby",
      current_setting('default_transaction_read_only') = 'on' as "isReadOnly",
      pg_encoding_to_char(d.encoding) as encoding,
      current_schema() as schema,
      d.datcollversion is distinct from pg_database_collation_actual_version(d.oid) as "hasStaleCollation",
      least(
        (select sum(setting::int * case name when 'max_connections' then 1 else -1 end)::int from pg_settings
          where name in ('max_connections', 'superuser_reserved_connections', 'reserved_connections')),
        nullif(d.datconnlimit, -1), nullif(r.rolconnlimit, -1)) as "connectionsMax",
      (select last_failed_wal from pg_stat_archiver where ${archiveFails}) as unarchived
    from pg_database d, pg_roles r
    where d.datname = current_database() and r.rolname = current_user`)
  if (row === undefined) throw new Error('pg_database has no row for the current database')
  return row
}

/** A connection sets these itself. If a pooler loses one, it has the server's own value. */
function checkSessionSettings({ settings }: ServerFacts): Finding {
  const { ok, fail } = about('settings kept')
  const ours = settings.filter(({ name }) => Object.hasOwn(requiredSettings, name))
  const lost = ours.filter(({ name, value }) => value !== requiredSettings[name])
  if (lost.length > 0)
    return fail(
      `${lost.map(({ name, value }) => `${name} is ${value}`).join(', ')}: the connection pooler between this machine and PostgreSQL loses settings. Set DATABASE_POOLING=transaction.`,
    )
  return ok(`all ${ours.length} that the code needs are in force`)
}

function checkServerSettings(facts: ServerFacts): Finding[] {
  const { warn, fail } = about('server')
  const { settings, encoding, schema, isStandby, isReadOnly, hasStaleCollation, unarchived } = facts
  const findings = settings.flatMap(({ name, value }) =>
    harmful[name]?.isHarmful(value) ? [warn(`${name} is ${value}: ${harmful[name].advice}`)] : [],
  )
  if (isStandby)
    findings.push(fail('it is a standby, which takes no writes: connect to the primary.'))
  else if (isReadOnly)
    findings.push(
      fail('default_transaction_read_only is on: nothing can be written. Set it to off.'),
    )
  if (unarchived !== null)
    findings.push(
      warn(
        `its log is not archived since ${unarchived}, so no backup can be restored beyond it, and the disk fills. The log of PostgreSQL says why.`,
      ),
    )
  if (encoding !== 'UTF8')
    findings.push(
      fail(
        `the encoding of the database is ${encoding}, so most names cannot be stored. Create one with \`encoding 'UTF8' template template0\` and move.`,
      ),
    )
  if (schema !== 'public')
    findings.push(
      fail(
        `the search path leads to ${schema === null ? 'no schema' : `the schema ${schema}`}, not to public. Run \`alter role … set search_path = public\`.`,
      ),
    )
  if (hasStaleCollation)
    findings.push(
      warn(
        'the collation has another version than the indexes were built with, so rows may not be found. Run `reindex database`, then `alter database … refresh collation version`.',
      ),
    )
  return findings
}

/** Beside its pool: two for limits, one each for the request log and the heartbeat. */
const servingConnections = 4
const heartbeatConnections = 1
const commandConnections = 2

/** A pooler shares the server's connections, so the check applies to direct connections only. */
function checkConnectionLimit(
  { connectionsMax }: ServerFacts,
  {
    databaseConnectionsMax,
    processes,
    nodes,
    databasePooling,
  }: Parameters<typeof checkDatabaseServer>[1],
): Finding[] {
  const { warn } = about('server')
  if (databasePooling !== 'session') return []
  const serving = processes * (databaseConnectionsMax + servingConnections)
  // With several processes the parent does the background work on connections of its own.
  const parent = processes > 1 ? databaseConnectionsMax + heartbeatConnections : 0
  const needed = nodes * (serving + parent) + commandConnections
  if (needed <= connectionsMax) return []
  return [
    warn(
      `it has ${connectionsMax} connections for this role, and up to ${needed} may be used (NODES, PROCESSES, DATABASE_CONNECTIONS_MAX): calls will wait and be answered with 503. Raise max_connections, or lower DATABASE_CONNECTIONS_MAX.`,
    ),
  ]
}
