/**
 * Decides whether this release may use a database with migrations it does not know. Migrations are
 * additive, so an older node keeps working beside them. A migration that removes a thing names the
 * first migration that a node must know. Nodes that do not know it stop using the database and say
 * why.
 */
import { type Db, type Queryable, sql, sqlState } from '../platform/db/db.ts'
import { UnavailableError } from '../platform/errors.ts'

/**
 * Returns the number of the newest migration that a node must know, or null if every node may use
 * the database.
 */
export async function findNodesFrom(db: Queryable): Promise<number | null> {
  const [row] = await db.rows<{ nodesFrom: number | null }>(
    sql`select max(nodes_from) as "nodesFrom" from schema_migrations`,
  )
  return row?.nodesFrom ?? null
}

/**
 * Returns why a release that knows migrations up to `level` may not use the database, in words for
 * operators, or null if it may.
 */
export function outdatedReason(nodesFrom: number | null, level: number): string | null {
  if (nodesFrom === null || nodesFrom <= level) return null
  return `the database needs a release that knows migration ${numberOf(nodesFrom)}, and this one ends at ${numberOf(level)}`
}

/** Formats the number as in file names: four digits. */
export function numberOf(level: number): string {
  return String(level).padStart(4, '0')
}

/** Remembers which schema level the database requires. */
export interface SchemaWatch {
  /**
   * Reads the required level again. Concurrent calls share one query. Throws the errors of the
   * database.
   */
  check(): Promise<void>
  /** Why this process may not use the database, as of the last check, or null if it may. */
  outdated(): string | null
}

/** `level` is the number of the last migration that this release knows. */
export function watchSchema(db: Queryable, level: number): SchemaWatch {
  let reason: string | null = null
  let checking: Promise<void> | undefined

  async function read(): Promise<void> {
    reason = outdatedReason(await findNodesFrom(db), level)
  }

  return {
    check() {
      checking ??= read().finally(() => {
        checking = undefined
      })
      return checking
    },
    outdated: () => reason,
  }
}

/**
 * Wraps a database so that every statement of an outdated release throws `UnavailableError`.
 * Otherwise it would fail on removed things, or write values that newer nodes misread. If a
 * statement does not fit the schema, the level is checked again.
 */
export function watchedDb(db: Db, watch: SchemaWatch): Db {
  async function watched<Result>(work: () => Promise<Result>): Promise<Result> {
    refuseOutdated(watch)
    try {
      return await work()
    } catch (error) {
      if (!isSchemaError(sqlState(error))) throw error
      await watch.check()
      refuseOutdated(watch, error)
      throw error
    }
  }
  return {
    ...db,
    rows: (statement) => watched(() => db.rows(statement)),
    run: (statement) => watched(() => db.run(statement)),
    transaction: (work, options) => watched(() => db.transaction(work, options)),
  }
}

const retryAfterSeconds = 60

function refuseOutdated(watch: SchemaWatch, cause?: unknown): void {
  const reason = watch.outdated()
  if (reason === null) return
  const publicMessage =
    'This server runs an older release than its database needs. Another server answers, or this one once it is upgraded.'
  throw new UnavailableError(reason, { retryAfterSeconds, publicMessage, cause })
}

/**
 * No such function, table, column, type or schema; an ambiguous or mistyped call; a result of
 * another shape; a value that a new rule refuses; a revoked right.
 */
function isSchemaError(state: string | undefined): boolean {
  return (
    state !== undefined &&
    /^(42883|42P01|42703|42704|3F000|42725|42804|0A000|23502|23514|42501)$/.test(state)
  )
}
