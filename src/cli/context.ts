/** The settings and the database of one command. */
import { operator } from '../audit/record.ts'
import { type Config, readConfig } from '../config/config.ts'
import { compareSchema, knownLevel } from '../database/migrate.ts'
import { migrateDatabase, migrationsDirectory, openDatabase } from '../database/open.ts'
import { watchedDb, watchSchema } from '../database/schema-level.ts'
import { releasedSkillNames } from '../main/scoring.ts'
import { untilAborted } from '../main/stop-signals.ts'
import type { BatchContext } from '../operations/ingest.ts'
import { systemClock } from '../platform/clock.ts'
import { counted } from '../platform/counted.ts'
import { type Db, openDb } from '../platform/db/db.ts'
import type { Pooling } from '../platform/db/session-settings.ts'
import { deadlineMs, setTimeoutMultiplier } from '../platform/deadlines.ts'
import { indexNewWorkers, withSearchIndex } from '../workers/candidates/search-indexer.ts'
import type { SkillNames } from '../workers/candidates/skill-names.ts'
import { failure, interrupted, note } from './output.ts'

/** Everything that a command needs. */
export interface CommandContext extends BatchContext {
  config: Config
  /** Aborted by Ctrl-C and SIGTERM. */
  signal: AbortSignal
  /** Indexes the workers that `defersIndex` left in the queue. */
  indexNewWorkers(): Promise<void>
}

interface ContextOptions {
  /**
   * Whether `work` watches the signal and ends in good order. Otherwise the command ends with its
   * present transaction, and says whether any was committed.
   */
  watchesSignal?: boolean
  /** Concurrent transactions, 2 by default. */
  connectionsMax?: number
  /** Leaves the workers that search did not find before to `indexNewWorkers`. */
  defersIndex?: boolean
}

/** Reads the settings of this process and applies its time limits. Throws `ConfigError`. */
export function settings(): Config {
  const config = readConfig(process.env)
  setTimeoutMultiplier(config.timeoutMultiplier)
  return config
}

/**
 * Runs `work` on a migrated database: the operator's, or the embedded one, which it shares with a
 * running server. Throws `Failure` if the operator's database lacks migrations; the embedded one is
 * migrated. Ctrl-C and SIGTERM end the command and everything that it started.
 */
export async function withContext<Result>(
  work: (context: CommandContext) => Promise<Result>,
  { watchesSignal = false, connectionsMax, defersIndex = false }: ContextOptions = {},
): Promise<Result> {
  const config = settings()
  return withServer(config, async ({ url, embedded }, signal) => {
    if (embedded) await migrateDatabase(url, config.databasePooling)
    await using closing = new AsyncDisposableStack()
    const opened = openCommandDb({ url, pooling: config.databasePooling, connectionsMax })
    let read: SkillNames | undefined
    // Read once, and only if the command changes workers.
    const names = () => (read ??= releasedSkillNames())
    closing.defer(() => opened.close())
    const { pending, outdated } = await compareSchema(opened, migrationsDirectory)
    if (outdated !== null) throw failure(`Install a newer release: ${outdated}.`)
    const watched = watchedDb(opened, watchSchema(opened, knownLevel(migrationsDirectory)))
    const db = withSearchIndex(watched, names, defersIndex)
    if (pending.length > 0)
      throw failure(`The database lacks ${pending.join(', ')}. Run \`assay migrate\`.`)
    const { countingDb, commits } = countCommits(db)
    const result = work({
      db: countingDb,
      actor: operator(),
      clock: systemClock,
      config,
      signal,
      indexNewWorkers: () => indexNewWorkers(watched, names),
    })
    if (watchesSignal) return await result
    const interruption = untilAborted(signal).then(async () => {
      // A transaction that has begun ends first. If it was the last one, the command is done.
      await closing.disposeAsync()
      const count = commits()
      throw count === 0
        ? interrupted()
        : interrupted(`${counted(count, 'transaction')} of it had ended. Their changes stay.`)
    })
    return await Promise.race([
      // After the signal, it may have failed for want of a connection.
      result.catch((error: unknown) => (signal.aborted ? interruption : Promise.reject(error))),
      interruption,
    ])
  })
}

/** Wraps a database so that it counts the changes that were committed. */
function countCommits(db: Db): { countingDb: Db; commits(): number } {
  let count = 0
  async function counting<Result>(change: Promise<Result>): Promise<Result> {
    const result = await change
    count++
    return result
  }
  const countingDb: Db = {
    ...db,
    run: (statement) => counting(db.run(statement)),
    transaction: (work, options) => counting(db.transaction(work, options)),
  }
  return { countingDb, commits: () => count }
}

/** Runs `work` on the database server, whatever state the database is in. */
export async function withServer<Result>(
  config: Config,
  work: (server: { url: string; embedded: boolean }, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const stopping = new AbortController()
  const stop = (): void => stopping.abort()
  process.on('SIGINT', stop).on('SIGTERM', stop)
  const database = await openDatabase(config, note)
  try {
    if (stopping.signal.aborted) throw interrupted()
    return await work(database, stopping.signal)
  } finally {
    await database.stop()
    process.off('SIGINT', stop).off('SIGTERM', stop)
  }
}

/** Opens the database with a timeout for bulk statements. */
export function openCommandDb({
  url,
  pooling,
  connectionsMax = 2,
}: {
  url: string
  pooling: Pooling
  connectionsMax?: number | undefined
}): Db {
  return openDb({
    url,
    pooling,
    connectionsMax,
    applicationName: 'assay command line',
    statementTimeoutMs: deadlineMs('commandStatement'),
    onError: (error) => note(`a database connection was lost: ${error.message}`),
  })
}
