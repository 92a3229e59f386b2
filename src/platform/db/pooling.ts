/**
 * Detects a pooler that gives each transaction another server connection. With such a pooler, a
 * setting made once for a connection is lost without an error, and applies to transactions of other
 * clients instead.
 */
import pg from 'pg'

/**
 * A pooler tends to return the same server connection. In one round other clients may take it, in
 * five rounds hardly.
 */
const rounds = 5

/**
 * Throws if the connections behind `url` are shared between transactions. Opens two connections and
 * closes them.
 */
export async function refuseSharedSessions(url: string, withinMs: number): Promise<void> {
  const config = {
    connectionString: url,
    application_name: 'assay pooling check',
    connectionTimeoutMillis: withinMs,
    query_timeout: withinMs,
  }
  const ours = new pg.Client(config)
  const other = new pg.Client(config)
  // If a connection breaks between two statements, the next statement fails; without this listener
  // the process would end.
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

/** Tells whether two concurrent clients get the same server connection, or one client gets two. */
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
