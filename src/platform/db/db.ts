/**
 * The database: a pool, a tagged template that names every statement, and transactions.
 * Every wait has a deadline; a database that is not there becomes `UnavailableError` and heals without a restart (decision D13).
 */
import pg from 'pg'
import { sha256Hex } from '../crypto/bytes.ts'
import { UnavailableError } from '../http/errors.ts'
import { patient } from '../patience.ts'
import { refuseSharedSessions } from './pooling.ts'
import { type Pooling, type SessionLimits, settingStatement } from './session-settings.ts'

export interface Statement {
  text: string
  /** Prepared once a connection under this name. */
  name: string
  values: unknown[]
}

/** What a store function needs: a `Db` or the `Tx` of its caller. */
export interface Queryable {
  /** All rows of a statement; the caller declares their shape. */
  rows<Row>(statement: Statement): Promise<Row[]>
  /** How many rows a statement touched. */
  run(statement: Statement): Promise<number>
}

export interface Tx extends Queryable {
  readonly inTransaction: true
}

export interface Db extends Queryable {
  /** Runs `work` in one transaction: committed when it returns, rolled back when it throws; retried when the database asks for it. */
  transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result>
  close(): Promise<void>
}

/** A part without values that several statements share, such as their columns. */
interface Fragment {
  readonly text: string
}

const fragments = new WeakSet<object>()

/** `fragment\`id, state\``: one constant for all calls of the statements that it stands in. */
export function fragment(strings: TemplateStringsArray): Fragment {
  const made = { text: strings[0] as string }
  fragments.add(made)
  return made
}

function isFragment(value: unknown): value is Fragment {
  return typeof value === 'object' && value !== null && fragments.has(value)
}

interface Named {
  text: string
  name: string
  hasFragments: boolean
}

const named = new WeakMap<TemplateStringsArray, Named>()

/** `sql\`select 1 where id = ${id}\``: interpolated values become parameters, never text; only a `fragment` is text. */
export function sql(strings: TemplateStringsArray, ...values: unknown[]): Statement {
  let statement = named.get(strings)
  if (statement === undefined) {
    statement = namedOf(strings, values)
    named.set(strings, statement)
  }
  const { text, name, hasFragments } = statement
  return { text, name, values: hasFragments ? values.filter((one) => !isFragment(one)) : values }
}

function namedOf(strings: readonly string[], values: readonly unknown[]): Named {
  let parameters = 0
  const text = strings.reduce((before, part, i) => {
    const value = values[i - 1]
    return before + (isFragment(value) ? value.text : `$${++parameters}`) + part
  })
  const hasFragments = values.some(isFragment)
  return { text, name: `s${sha256Hex(text).slice(0, 24)}`, hasFragments }
}

/**
 * For a transaction that works on many rows at once: this connection plans each statement once more, for the tables as they are now. A plan
 * that was made while a table was empty reads all of it, and an import would slow down with every row. Planning each execution by itself
 * would do the same for the checks of foreign keys, row by row, and double what an import costs.
 */
export async function planAnew(tx: Tx): Promise<void> {
  // A command, which cannot be prepared under a name.
  await tx.run({ text: 'discard plans', name: '', values: [] })
}

/** A parameter for `unnest($1::text[])` and the like is a plain array; timestamps come back as `Date`, bigint as a safe number. */
const columnTypes = new pg.TypeOverrides()
columnTypes.setTypeParser(pg.types.builtins.INT8, (text: string) => {
  const number = Number(text)
  if (!Number.isSafeInteger(number)) throw new Error(`bigint ${text} is not a safe integer`)
  return number
})

export interface DbOptions extends Partial<SessionLimits> {
  url: string
  /** `session` unless given. */
  pooling?: Pooling
  connectionsMax: number
  /** Shown in pg_stat_activity. */
  applicationName: string
  /** How long a statement waits for one of the connections, in milliseconds. */
  connectionWaitMs?: number
  /** Called with connection errors outside any query. */
  onError(error: Error): void
}

export function openDb(options: DbOptions): Db {
  const { statementTimeoutMs = patient(2_000), connectionWaitMs = patient(500) } = options
  const { url, pooling = 'session', synchronousCommit = 'on' } = options
  const limits = { statementTimeoutMs, synchronousCommit }
  const pool = new pg.Pool({
    connectionString: url,
    max: options.connectionsMax,
    // The one startup parameter of ours: PgBouncer refuses all that it does not track.
    application_name: options.applicationName,
    connectionTimeoutMillis: connectionWaitMs,
    idleTimeoutMillis: 30_000,
    // The server may be frozen rather than slow: then only our own deadline ends the wait.
    query_timeout: statementTimeoutMs === 0 ? 0 : statementTimeoutMs + 500,
    keepAlive: true,
    pipeline: pooling !== 'session',
    types: columnTypes,
  })
  const send = pooling === 'transaction' ? sendUnnamed : sendNamed
  const isSession = pooling === 'session'
  const begin = isSession ? 'begin' : `${beginText}; ${settingStatement(limits, 'transaction')}`
  const sendAlone: Send = isSession
    ? send
    : (client, statement) => inOne(client, begin, send, statement)
  let closing = false
  // A server that stops right after us may cut what we are hanging up ourselves.
  pool.on('error', (error) => {
    if (!closing) options.onError(error)
  })

  // The pool listens to idle connections alone. One that is lost between two statements tells the next statement; unheard, it would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))

  const prepared = new WeakSet<pg.PoolClient>()
  let sessionsChecked: Promise<void> | undefined

  async function connected(): Promise<pg.PoolClient> {
    const client = await pool.connect()
    if (!isSession || prepared.has(client)) return client
    try {
      await prepare(client)
      prepared.add(client)
      return client
    } catch (error) {
      client.release(error as Error)
      throw error
    }
  }

  async function prepare(client: pg.PoolClient): Promise<void> {
    const text = settingStatement(limits, 'session')
    const asked = { text, query_timeout: connectionWaitMs }
    const { rows } = await client.query<{ pid: number }>(asked)
    // A pooler names a process of its own. If none stands between, nothing can be lost.
    if (rows[0]?.pid === Reflect.get(client, 'processID')) return
    sessionsChecked ??= refuseSharedSessions(url, patient(5_000)).catch((error: unknown) => {
      sessionsChecked = undefined
      throw error
    })
    await sessionsChecked
  }

  async function withClient<Result>(use: (client: pg.PoolClient) => Promise<Result>) {
    let client: pg.PoolClient
    try {
      client = await connected()
    } catch (error) {
      throw new UnavailableError('no database connection', { cause: error })
    }
    let broken: Error | undefined
    try {
      return await use(client)
    } catch (error) {
      if (isConnectionError(error)) {
        broken = error as Error
        throw new UnavailableError('the database connection was lost', { cause: error })
      }
      if (isOutage(sqlState(error)))
        throw new UnavailableError('the database could not do its work', { cause: error })
      throw error
    } finally {
      client.release(broken)
    }
  }

  return {
    rows: (statement) =>
      retrying(() => withClient(async (client) => rowsOf(await sendAlone(client, statement)))),
    run: (statement) =>
      retrying(() => withClient(async (client) => countOf(await sendAlone(client, statement)))),
    transaction: (work) =>
      retrying(() => withClient((client) => transact(client, { begin, send }, work))),
    close() {
      closing = true
      return pool.end()
    },
  }
}

type Send = (client: pg.ClientBase, statement: Statement) => Promise<pg.QueryResult>

const sendNamed: Send = (client, statement) => client.query(statement)

/** A pooler may give the next transaction a connection that does not know the name, or knows it already. */
const sendUnnamed: Send = (client, { text, values }) => client.query({ text, values })

const beginText = 'begin isolation level read committed'

/** Sends a transaction of one statement without waiting between its parts, so it costs one round trip. */
async function inOne(client: pg.ClientBase, begin: string, send: Send, statement: Statement) {
  const parts = [client.query(begin), send(client, statement), client.query('commit')]
  // If the statement fails, the commit rolls back. The connection is free when all three are answered.
  const [begun, done, ended] = await Promise.allSettled(parts)
  for (const part of [begun, done, ended]) if (part?.status === 'rejected') throw part.reason
  return (done as PromiseFulfilledResult<pg.QueryResult>).value
}

function rowsOf<Row>({ rows }: pg.QueryResult): Row[] {
  return rows
}

function countOf({ rowCount }: pg.QueryResult): number {
  return rowCount ?? 0
}

async function transact<Result>(
  client: pg.ClientBase,
  { begin, send }: { begin: string; send: Send },
  work: (tx: Tx) => Promise<Result>,
) {
  await client.query(begin)
  try {
    const result = await work(txOf(client, send))
    await client.query('commit')
    return result
  } catch (error) {
    // A lost connection has rolled back by itself; the first error is the one to tell.
    if (!isConnectionError(error)) await client.query('rollback')
    throw error
  }
}

/** For whoever has a connection of their own, made with `columnTypes`, and has begun a transaction on it. */
export function txOf(client: pg.ClientBase, send = sendNamed): Tx {
  return {
    inTransaction: true,
    rows: async (statement) => rowsOf(await send(client, statement)),
    run: async (statement) => countOf(await send(client, statement)),
  }
}

const attemptsMax = 5

/** Serialization failure and deadlock: the database asks for another try, and nothing was done. */
async function retrying<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt()
    } catch (error) {
      const state = sqlState(error)
      if (state !== '40001' && state !== '40P01') throw error
      if (attempts === attemptsMax)
        throw new UnavailableError('the database was too busy', { cause: error })
    }
  }
}

export function sqlState(error: unknown): string | undefined {
  const code = error instanceof pg.DatabaseError ? error.code : undefined
  return code
}

/** A full disk or memory (53), a fault below (58), a deadline (57014, 55P03), a standby (25006): none is the caller's mistake or ours. */
function isOutage(state: string | undefined): boolean {
  return state !== undefined && /^(53|58|57014|55P03|25006)/.test(state)
}

/** Anything but the server's answer to our statement; and class 08 and 57, by which it says that it goes away. */
function isConnectionError(error: unknown): boolean {
  const state = sqlState(error)
  if (state === undefined) return error instanceof Error && isDriverError(error)
  return state.startsWith('08') || state.startsWith('57P')
}

/** The driver throws plain `Error`s without a class of their own for a lost or silent server. */
function isDriverError(error: Error): boolean {
  return (
    'syscall' in error ||
    /^(Connection terminated|Query read timeout|Client has encountered a connection error|timeout exceeded)/.test(
      error.message,
    )
  )
}
