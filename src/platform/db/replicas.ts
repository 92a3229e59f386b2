/**
 * Reads on replicas that never show what was hidden (decision D64): `lease.ts` has the rules. A
 * connection to a replica is used only while its own lease holds, so it does not matter which
 * server a URL leads to or whether that server restarted. A replica never fails a read: the read
 * then runs at the primary.
 */
import { randomUUID } from 'node:crypto'
import { deadlineMs, withDeadline } from '../deadlines.ts'
import type { Job } from '../job-runner.ts'
import { type Db, type DbOptions, type Queryable, type Statement, sql } from './db.ts'
import { beatEveryMs, leaseMs, type Moment, mayRead, now, openBeats } from './lease.ts'

export interface ReplicaOptions {
  /** Runs the reads for which no replica has a lease. */
  primary: Queryable
  /** Writes the beats. Not `primary`, so that they never wait for a connection. */
  beatsDb: Db
  urls: readonly string[]
  connectionsMax: number
  /** Opens the pool of a replica. Called once for each. */
  open(name: string, options: ReplicaDbOptions): Db
  /** Counts a read by its place: `primary` or the name of the replica. */
  count?(place: string): void
}

type ReplicaDbOptions = Omit<DbOptions, 'onError' | 'onOutage' | 'meter'>

/** Where public reads run. */
export interface PublicReads {
  /** A replica while a lease holds, otherwise the primary. */
  at: Queryable
  primary: Queryable
  /** The number of databases that may answer, so of statements that may run at the same time. */
  databases: number
}

/** Without replicas, the primary answers all reads. */
export function readsOfPrimary(primary: Queryable): PublicReads {
  return { at: primary, primary, databases: 1 }
}

/**
 * Looks up `keys` with `find`, which returns one result for each key in order. A replica may lack
 * what was made a moment ago, so the primary is asked for keys without a result.
 */
export async function lookUp<Key, Found>(
  { at, primary }: PublicReads,
  keys: readonly Key[],
  find: (db: Queryable, keys: readonly Key[]) => Promise<(Found | undefined)[]>,
): Promise<(Found | undefined)[]> {
  const found = await find(at, keys)
  const missing = keys.filter((_, i) => found[i] === undefined)
  if (at === primary || missing.length === 0) return found
  const later = (await find(primary, missing)).values()
  return found.map((one) => one ?? later.next().value)
}

export interface Replicas {
  reads: PublicReads
  /** Renews the leases. Without it, all reads run at the primary. */
  job: Job
  /** For each replica: 1 while it is read, otherwise 0. */
  leases(): Record<string, number>
  close(): Promise<void>
}

interface Replica {
  name: string
  db: Db
  /** The moment whose commits its last checked connection showed. Null: it is not to be used. */
  completeAt: Moment | null
  /** Reads under way. */
  reading: number
}

/** The replica does not show yet what a read must see. */
class LateReplica extends Error {
  constructor(name: string) {
    super(`${name} is more than ${leaseMs} ms behind the primary, or not its replica`)
  }
}

export function openReplicas(options: ReplicaOptions): Replicas {
  const { primary, beatsDb, urls, count = () => {} } = options
  const reader = randomUUID()
  const beats = openBeats()
  const replicas = urls.map((url, i) => openReplica(`replica ${i + 1}`, url))
  let isClosed = false

  function openReplica(name: string, url: string): Replica {
    /** The moment whose commits each connection showed when it was last asked. */
    const shown = new WeakMap<object, Moment>()
    const replica: Replica = { name, completeAt: null, reading: 0, db: openReplicaDb() }
    return replica

    function openReplicaDb(): Db {
      return options.open(name, {
        url,
        connectionsMax: options.connectionsMax,
        applicationName: 'assay reads',
        statementTimeoutMs: deadlineMs('replicaAnswer'),
        connectionWaitMs: deadlineMs('replicaAnswer'),
        async admit(connection, rows) {
          const at = now()
          if (mayRead(shown.get(connection) ?? null, at, leaseMs / 2)) return
          const [row] = await rows<{ beat: number }>(
            sql`select beat from reader_beats where reader = ${reader}`,
          )
          const completeAt = row === undefined ? null : beats.completeAt(row.beat)
          if (completeAt === null || !mayRead(completeAt, at)) throw new LateReplica(name)
          shown.set(connection, completeAt)
          replica.completeAt = completeAt
        },
      })
    }
  }

  async function beat(): Promise<void> {
    const beatNumber = beats.send(now())
    const [row] = await beatsDb.rows<{ isNew: boolean }>(sql`
      insert into reader_beats as r (reader, beat) values (${reader}, ${beatNumber})
      on conflict (reader) do update set beat = excluded.beat, at = excluded.at
      returning xmax = 0 as "isNew"`)
    // A replica is asked only now: if the primary waits for a synchronous standby that is gone, it
    // may have been replaced, although its other standbys show the beat.
    beats.committed(beatNumber, row?.isNew ?? true, now())
    if (beatNumber === 1) await deleteDeadReaders(beatsDb)
  }

  /** Renews the lease of a replica. Throws if it shows no recent beat. */
  async function probe(replica: Replica): Promise<void> {
    try {
      await withDeadline(replica.db.rows(sql`select 1`), 'replicaAnswer')
    } catch (error) {
      if (!(error instanceof LateReplica)) replica.completeAt = null
      const why = error instanceof Error ? error.message : String(error)
      throw new Error(`${replica.name} is not read: ${why}`, { cause: error })
    }
  }

  /** Returns the replica with a lease that has the fewest reads under way, or undefined. */
  function choose(): Replica | undefined {
    if (isClosed) return undefined
    const at = now()
    const usable = replicas.filter(({ completeAt }) => mayRead(completeAt, at))
    const least = Math.min(...usable.map(({ reading }) => reading))
    const idle = usable.filter(({ reading }) => reading === least)
    return idle[Math.floor(Math.random() * idle.length)]
  }

  async function rows<Row>(statement: Statement): Promise<Row[]> {
    const replica = choose()
    if (replica !== undefined) {
      replica.reading++
      try {
        const found = await withDeadline(replica.db.rows<Row>(statement), 'replicaAnswer')
        count(replica.name)
        return found
      } catch {
        // Whatever it is, the primary answers, or fails in the same way. The next probe tells
        // whether the replica is well again.
        replica.completeAt = null
      } finally {
        replica.reading--
      }
    }
    count('primary')
    return primary.rows<Row>(statement)
  }

  return {
    reads: {
      at: { rows, run: (statement) => primary.run(statement) },
      primary,
      databases: replicas.length,
    },
    job: {
      name: 'leases of replicas',
      everyMs: beatEveryMs,
      async run() {
        await beat()
        const probes = await Promise.allSettled(replicas.map(probe))
        const failed = probes.filter((one) => one.status === 'rejected')
        if (failed.length > 0)
          throw new Error(failed.map(({ reason }) => (reason as Error).message).join('; '))
      },
    },
    leases() {
      const at = now()
      return Object.fromEntries(
        replicas.map(({ name, completeAt }) => [name, mayRead(completeAt, at) ? 1 : 0]),
      )
    },
    async close() {
      isClosed = true
      // Changes need not wait for this process any more. If this fails, they wait for a minute.
      await beatsDb.run(sql`delete from reader_beats where reader = ${reader}`).catch(() => 0)
      await Promise.all(replicas.map(({ db }) => db.close()))
    },
  }
}

/** A process that was killed leaves its row. */
function deleteDeadReaders(db: Db): Promise<number> {
  return db.run(sql`delete from reader_beats where at < now() - interval '1 hour'`)
}
