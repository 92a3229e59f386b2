/**
 * SQL of the table `operation_replays`: answers of changes that a repeated
 * Idempotency-Key gets again for a day (decision D61).
 */
import { type Queryable, sql, type Tx } from '../platform/db/db.ts'
import { type Refusal, refuse } from '../platform/errors.ts'

/** One call with an Idempotency-Key, which belongs to its actor. */
export interface KeyedCall {
  actor: string
  key: string
  /** SHA-256 of the operation's name and its checked input. */
  fingerprint: Buffer
}

interface Replay {
  output: object
  entries: readonly never[]
  more?: boolean
}

/**
 * Returns the answer that a call with this key got before, or null for a new key. Calls with one
 * key take turns until the end of the transaction.
 */
export async function findReplay(
  tx: Tx,
  { actor, key, fingerprint }: KeyedCall,
): Promise<Replay | Refusal<'idempotency_key_reused' | 'idempotency_key_spent'> | null> {
  await tx.rows(sql`
    select pg_advisory_xact_lock(hashtextextended(${`${actor} ${key}`}, 7))`)
  const [row] = await tx.rows<{ fingerprint: Buffer; answer: string | null }>(sql`
    select fingerprint, answer from operation_replays
    where actor = ${actor} and idempotency_key = ${key}`)
  if (row === undefined) return null
  if (!row.fingerprint.equals(fingerprint)) return refuse('idempotency_key_reused')
  if (row.answer === null)
    return refuse('idempotency_key_spent', {
      message:
        'The change of this Idempotency-Key was made, and its secret was shown then. It is not shown again.',
    })
  return { ...(JSON.parse(row.answer) as Replay), entries: [] }
}

/** Returns the output of an earlier call, or null if there was none or its output held a secret. */
export async function findOutput(
  db: Queryable,
  { actor, key }: Pick<KeyedCall, 'actor' | 'key'>,
): Promise<object | null> {
  const [row] = await db.rows<{ answer: string | null }>(sql`
    select answer from operation_replays where actor = ${actor} and idempotency_key = ${key}`)
  return row?.answer == null ? null : (JSON.parse(row.answer) as Replay).output
}

/** `answer` is null if it holds a secret. It is stored as text: `jsonb` would reorder members. */
export async function insertReplay(
  tx: Tx,
  { actor, key, fingerprint }: KeyedCall,
  answer: object | null,
  now: Date,
): Promise<void> {
  const text = answer && JSON.stringify(answer)
  await tx.run(sql`
    insert into operation_replays (actor, idempotency_key, fingerprint, answer, created_at)
    values (${actor}, ${key}, ${fingerprint}, ${text}, ${now})`)
}

/**
 * Deletes the answers that hold one of these texts as a word, such as a worker's id. The name of a
 * member is none: without its answer, a repeated change would run again.
 */
export async function eraseReplays(tx: Tx, texts: readonly string[]): Promise<void> {
  const words = texts.map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  await tx.run(sql`
    delete from operation_replays where exists (
      select from unnest(${words}::text[]) as word
      where answer ~ ('(^|[^a-z0-9_-])' || word || '(?!":)(?![a-z0-9_-])'))`)
}

/** Deletes answers that are older than a day. */
export function deleteOldReplays(db: Queryable, now: Date): Promise<number> {
  const dayBefore = new Date(now.getTime() - 86_400_000)
  return db.run(sql`delete from operation_replays where created_at < ${dayBefore}`)
}
