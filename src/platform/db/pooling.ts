/**
 * Finds out whether a pooler stands between us and PostgreSQL that gives each transaction another connection of the server. There a
 * setting made once for a connection is lost without an error, and meets the transactions of other clients instead.
 */
import pg from 'pg'

/** A pooler hands the same connection of the server out again first; other clients may take it in one round, hardly in all. */
const rounds = 5

/** Throws if the connections behind `url` are shared between transactions. Opens two connections and closes them. */
export async function refuseSharedSessions(url: string, withinMs: number): Promise<void> {
  const config = {
    connectionString: url,
    application_name: 'assay pooling check',
    connectionTimeoutMillis: withinMs,
    query_timeout: withinMs,
  }
  const ours = new pg.Client(config)
  const other = new pg.Client(config)
  // A connection that is lost between two statements fails the next one; unheard, it would end the process.
  for (const client of [ours, other]) client.on('error', () => {})
  try {
    await ours.connect()
    await other.connect()
    for (let round = 0; round < rounds; round++)
      if (await isShared(ours, other)) throw new Error(sharedSessions)
  } finally {
    await Promise.allSettled([ours.end(), other.end()])
  }
}

const sharedSessions =
  'DATABASE_URL leads to a pooler in transaction mode, which loses the settings of a session. Set DATABASE_POOLING=transaction, or let the pooler use session mode'

/** Two clients at once have two connections of the server, and each keeps its own, unless connections are shared. */
async function isShared(ours: pg.Client, other: pg.Client): Promise<boolean> {
  const before = await serverProcess(ours)
  await other.query('begin')
  const others = await serverProcess(other)
  const after = before === others ? before : await serverProcess(ours)
  await other.query('commit')
  return before === others || before !== after
}

async function serverProcess(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]?.pid ?? 0
}
