/**
 * The database: a connection pool, a tagged template that names every statement, and transactions.
 * Every wait has a deadline. If the database is unreachable, calls throw `UnavailableError`, and
 * they succeed again without a restart once it is back (decision D13).
 */
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { sha256Hex } from '../crypto/bytes.ts'
import { deadlineMs } from '../deadlines.ts'
import { UnavailableError } from '../errors.ts'
import { activeSpan, type Span, startSpan, traced } from '../observability/tracing.ts'
import { hideWaitMs, readerAgeMaxMs } from './lease.ts'
import { refuseSharedSessions } from './pooling.ts'
import { type Pooling, type SessionLimits, settingStatement } from './session-settings.ts'

export interface Statement {
  text: string
  /** Each connection prepares the statement once under this name. */
  name: string
  values: unknown[]
}

/** The database access of a store function: a `Db`, or the `Tx` of its caller. */
export interface Queryable {
  /** Returns all rows of a statement. The caller declares their shape. */
  rows<Row>(statement: Statement): Promise<Row[]>
  /** Returns the number of affected rows. */
  run(statement: Statement): Promise<number>
}

export interface Tx extends Queryable {
  readonly inTransaction: true
}

export interface Db extends Queryable {
  /**
   * Runs `work` in one transaction. Commits when it returns and rolls back when it throws. Repeats
   * it after a serialization failure or a deadlock. If it hid something from public reads, returns
   * once no replica shows it (see `untilShown`).
   */
  transaction<Result>(
    work: (tx: Tx) => Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result>
  /**
   * Returns once every read that starts later sees what was committed before this call: at once if
   * no process reads replicas, otherwise when the leases of now have run out.
   */
  untilShown(): Promise<void>
  close(): Promise<void>
}

export interface TransactionOptions {
  /** False: nobody is told when the transaction ends, so it does not wait for replicas. */
  isAwaited?: boolean
}

/**
 * Returns a database for background jobs. They answer nobody, and with the wait a job that replaces
 * many scores would stand still most of the time.
 */
export function answeringNobody(db: Db): Db {
  return { ...db, transaction: (work) => db.transaction(work, { isAwaited: false }) }
}

/** SQL text without values that several statements share, such as a list of columns. */
interface Fragment {
  readonly text: string
}

const fragments = new WeakSet<object>()

/** Makes a fragment: `fragment\`id, state\``. Call it once, at module level. */
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

/**
 * Makes a statement: `sql\`select 1 where id = ${id}\``. Interpolated values become parameters,
 * never text; only a `fragment` is text.
 */
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
 * Makes this connection plan each statement again, for a transaction that writes many rows. A plan
 * made while a table was empty reads the whole table, so an import would slow down with every row.
 * Planning each execution would also plan each foreign-key check, and double the time of an import.
 */
export async function planAnew(tx: Tx): Promise<void> {
  // Sent without a name, because PostgreSQL cannot prepare this command.
  await tx.run({ text: 'discard plans', name: '', values: [] })
}

/**
 * Reads a bigint as a safe integer. `timestamptz` is read as `Date`, and an array parameter for
 * `unnest($1::text[])` is a plain array.
 */
const columnTypes = new pg.TypeOverrides()
columnTypes.setTypeParser(pg.types.builtins.INT8, (text: string) => {
  const number = Number(text)
  if (!Number.isSafeInteger(number)) throw new Error(`bigint ${text} is not a safe integer`)
  return number
})

export interface DbOptions extends Partial<SessionLimits> {
  url: string
  /** Default `session`. */
  pooling?: Pooling
  connectionsMax: number
  /** Shown in pg_stat_activity. */
  applicationName: string
  /** Milliseconds that a statement waits for a free connection. */
  connectionWaitMs?: number
  /** Receives connection errors that occur outside a query. */
  onError(error: Error): void
  /** Receives the cause of each `UnavailableError`: what PostgreSQL or the driver said. */
  onOutage?: ((cause: unknown) => void) | undefined
  meter?: DbMeter | undefined
  /** Runs before each use of a connection. The call fails with what it throws. */
  admit?(client: object, rows: Queryable['rows']): Promise<void>
}

/** Measures a pool. */
export interface DbMeter {
  /** Called once. The counts are read at each scrape. */
  watch(counts: () => PoolCounts): void
  /** Takes the seconds that a call waited for a connection. */
  waited(seconds: number): void
  /** Takes the seconds of a statement. */
  took(seconds: number): void
}

export interface PoolCounts {
  inUse: number
  idle: number
  /** Calls that wait for a connection. */
  waiting: number
}

/** SQLSTATE of the notice that migrations/0052_reader_beats.sql sends. */
const hidesCode = 'HIDES'

const readersStatement = sql`
  select 1 from reader_beats where at > now() - make_interval(secs => ${readerAgeMaxMs / 1_000})
  limit 1`

export function openDb(options: DbOptions): Db {
  const { statementTimeoutMs = deadlineMs('statement') } = options
  const { connectionWaitMs = deadlineMs('connection') } = options
  const { url, pooling = 'session', synchronousCommit = 'on' } = options
  const limits = { statementTimeoutMs, synchronousCommit }
  const pool = new pg.Pool({
    connectionString: url,
    max: options.connectionsMax,
    // The only startup parameter, because PgBouncer refuses parameters that it does not track.
    application_name: options.applicationName,
    connectionTimeoutMillis: connectionWaitMs,
    idleTimeoutMillis: 30_000,
    // If the server is frozen, it cannot enforce its own timeout, and only this one ends the wait.
    query_timeout: statementTimeoutMs === 0 ? 0 : statementTimeoutMs + 500,
    keepAlive: true,
    pipeline: pooling !== 'session',
    types: columnTypes,
  })
  const { meter, admit, onOutage = () => {} } = options
  meter?.watch(() => ({
    inUse: pool.totalCount - pool.idleCount,
    idle: pool.idleCount,
    waiting: pool.waitingCount,
  }))
  const plainSend = pooling === 'transaction' ? sendUnnamed : sendNamed
  const send = meter === undefined ? plainSend : timedSend(plainSend, meter)
  const isSession = pooling === 'session'
  const begin = isSession ? 'begin' : `${beginText}; ${settingStatement(limits, 'transaction')}`
  const sendAlone: Send = isSession
    ? send
    : (client, statement) => inOne(client, begin, send, statement)
  let closing = false
  // While we close, a server that stops at the same time may cut connections.
  pool.on('error', (error) => {
    if (!closing) options.onError(error)
  })

  // The pool listens only to idle connections. If a connection breaks between two statements, the
  // next statement fails; without this listener the process would end.
  pool.on('connect', (client) => client.on('error', () => {}))

  /** Connections whose transaction hid something. */
  const hiding = new WeakSet<pg.ClientBase>()
  pool.on('connect', (client) => {
    client.on('notice', ({ code }) => {
      if (code === hidesCode) hiding.add(client)
    })
  })

  const connected = isSession
    ? preparedConnections(pool, { url, limits, waitMs: connectionWaitMs })
    : () => pool.connect()

  async function withClient<Result>(use: (client: pg.PoolClient) => Promise<Result>) {
    let client: pg.PoolClient
    const askedAt = performance.now()
    try {
      client = await connected()
    } catch (error) {
      onOutage(error)
      throw new UnavailableError('no database connection', { cause: error })
    } finally {
      meter?.waited((performance.now() - askedAt) / 1_000)
    }
    let broken: Error | undefined
    try {
      await admit?.(client, async (statement) => rowsOf(await send(client, statement)))
      return await use(client)
    } catch (error) {
      const isLost = isConnectionError(error)
      if (!isLost && !isOutage(sqlState(error))) throw error
      onOutage(error)
      if (isLost || isUnfit(sqlState(error))) broken = error as Error
      const detail = isLost
        ? 'the database connection was lost'
        : 'the database could not do its work'
      throw new UnavailableError(detail, { cause: error })
    } finally {
      client.release(broken)
    }
  }

  /** Runs `use`, which commits. If it hid something, waits until no replica shows it. */
  async function committing<Result>(
    use: (client: pg.PoolClient) => Promise<Result>,
    { isAwaited = true }: TransactionOptions = {},
  ): Promise<Result> {
    const { result, hides } = await retrying(() =>
      withClient(async (client) => {
        hiding.delete(client)
        const made = await use(client)
        return { result: made, hides: hiding.has(client) }
      }),
    )
    if (hides && isAwaited) await untilShown()
    return result
  }

  async function untilShown(): Promise<void> {
    // If the database does not say whether there are readers, there may be some.
    const readers = await rows(readersStatement).catch(() => [{}])
    if (readers.length > 0) await pause(hideWaitMs)
  }

  const rows: Queryable['rows'] = (statement) =>
    committing(async (client) => rowsOf(await sendAlone(client, statement)))

  return {
    rows,
    run: (statement) => committing(async (client) => countOf(await sendAlone(client, statement))),
    transaction: (work, options) =>
      committing((client) => transact(client, { begin, send }, work), options),
    untilShown,
    close() {
      closing = true
      return pool.end()
    },
  }
}

/** Returns a function that gives a connection whose session has the settings of `limits`. */
function preparedConnections(
  pool: pg.Pool,
  { url, limits, waitMs }: { url: string; limits: SessionLimits; waitMs: number },
): () => Promise<pg.PoolClient> {
  const prepared = new WeakSet<pg.PoolClient>()
  let sessionsChecked: Promise<void> | undefined

  async function prepare(client: pg.PoolClient): Promise<void> {
    const text = settingStatement(limits, 'session')
    const asked = { text, query_timeout: waitMs }
    const { rows } = await client.query<{ pid: number }>(asked)
    // A pooler reports its own process id. Without a pooler, settings cannot be lost.
    if (rows[0]?.pid === Reflect.get(client, 'processID')) return
    sessionsChecked ??= refuseSharedSessions(url, deadlineMs('poolingCheck')).catch(
      (error: unknown) => {
        sessionsChecked = undefined
        throw error
      },
    )
    await sessionsChecked
  }

  return async () => {
    const client = await pool.connect()
    if (prepared.has(client)) return client
    try {
      await prepare(client)
      prepared.add(client)
      return client
    } catch (error) {
      client.release(error as Error)
      throw error
    }
  }
}

type Send = (client: pg.ClientBase, statement: Statement) => Promise<pg.QueryResult>

function timedSend(send: Send, { took }: DbMeter): Send {
  return async (client, statement) => {
    const sentAt = performance.now()
    const parent = activeSpan()
    try {
      if (parent === undefined) return await send(client, statement)
      return await traced(statementSpan(parent, statement), () => send(client, statement))
    } finally {
      took((performance.now() - sentAt) / 1_000)
    }
  }
}

const spanTextMax = 160
/** By the text of a statement. Texts come from the code alone, so they are few. */
const spanTexts = new Map<string, string>()

/** The text has no values. */
function statementSpan(parent: Span, { text }: Statement): Span | undefined {
  let query = spanTexts.get(text)
  if (query === undefined) {
    query = text.trim().replaceAll(/\s+/g, ' ').slice(0, spanTextMax)
    spanTexts.set(text, query)
  }
  return startSpan(query.slice(0, 40), {
    kind: 'client',
    parent,
    attributes: { 'db.system.name': 'postgresql', 'db.query.text': query },
  })
}

const sendNamed: Send = (client, statement) => client.query(statement)

/**
 * With transaction pooling, the next transaction may get a server connection on which the name is
 * missing or already taken.
 */
const sendUnnamed: Send = (client, { text, values }) => client.query({ text, values })

const beginText = 'begin isolation level read committed'

/**
 * Sends a transaction of one statement without waiting between its parts, so it costs one round
 * trip.
 */
async function inOne(client: pg.ClientBase, begin: string, send: Send, statement: Statement) {
  const parts = [client.query(begin), send(client, statement), client.query('commit')]
  // If the statement fails, the commit rolls back. The connection is free once all three are
  // answered.
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
    // A lost connection has rolled back by itself, and a failing rollback would hide the first
    // error.
    if (!isConnectionError(error)) await client.query('rollback')
    throw error
  }
}

/**
 * Returns the `Tx` of a connection on which the caller has begun a transaction. The connection must
 * use `columnTypes`.
 */
export function txOf(client: pg.ClientBase, send = sendNamed): Tx {
  return {
    inTransaction: true,
    rows: async (statement) => rowsOf(await send(client, statement)),
    run: async (statement) => countOf(await send(client, statement)),
  }
}

const attemptsMax = 5

/**
 * Repeats an attempt after a serialization failure (40001) or a deadlock (40P01): the attempt was
 * rolled back.
 */
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

/**
 * Disk or memory is full (53), system error (58), a timeout (57014, 55P03), a standby (25006). None
 * is a mistake of the caller or a defect of ours.
 */
function isOutage(state: string | undefined): boolean {
  return state !== undefined && /^(53|58|57014|55P03|25006)/.test(state)
}

/**
 * Tells whether the server behind the connection is of no use: it became a standby (25006), or lost
 * files (58). A new connection may lead to another server.
 */
function isUnfit(state: string | undefined): boolean {
  return state !== undefined && /^(58|25006)/.test(state)
}

/**
 * Tells whether the connection is lost: a driver error, or a server error of class 08 or 57P
 * (shutdown).
 */
function isConnectionError(error: unknown): boolean {
  const state = sqlState(error)
  if (state === undefined) return error instanceof Error && isDriverError(error)
  return state.startsWith('08') || state.startsWith('57P')
}

/** Recognises the driver's errors by their message, because they have no class of their own. */
function isDriverError(error: Error): boolean {
  return (
    'syscall' in error ||
    /^(Connection terminated|Query read timeout|Client has encountered a connection error|timeout exceeded)/.test(
      error.message,
    )
  )
}
