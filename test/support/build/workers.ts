/** Registrations of workers for tests, and the events they cause. */
import assert from 'node:assert/strict'
import { type Db, type Queryable, sql } from '../../../src/platform/db/db.ts'
import {
  type Attribution,
  type ConsentRequest,
  recordConsent,
} from '../../../src/workers/consent.ts'
import { type Registered, registerOrEditWorkers } from '../../../src/workers/register.ts'
import { type Registration, readRegistration } from '../../../src/workers/registration.ts'
import { findWorkers, type Worker } from '../../../src/workers/store.ts'

export const now = new Date('2026-05-14T09:00:00Z')

/** Returns the smallest valid line, with the members that the test adds. */
export function line(over: Record<string, unknown> = {}): Record<string, unknown> {
  return { username: 'ada', displayName: 'Ada Lovelace', ...over }
}

/** Returns a line that makes a worker's profile, search listing and score public. */
export function publicLine(over: Record<string, unknown> = {}): Record<string, unknown> {
  return line({
    terms: { version: '2026-05', acceptedAt: '2026-05-01T10:00:00Z' },
    consents: ['public_profile', 'search_listing', 'score_sharing'].map((permission) => ({
      permission,
      textVersion: '1',
    })),
    identity: { verifiedUntil: '2036-05-01T00:00:00Z' },
    ...over,
  })
}

/** Parses a line. Throws if the line is rejected. */
export function registrationOf(over: Record<string, unknown> = {}): Registration {
  const read = readRegistration(line(over), now)
  assert.ok(!('refused' in read), JSON.stringify(read))
  return read
}

export function register(
  db: Db,
  lines: readonly Record<string, unknown>[],
  at = now,
): Promise<Registered[]> {
  const registrations = lines.map((one) => registrationOf(one))
  return db.transaction((tx) => registerOrEditWorkers(tx, registrations, { by: 'test', at }))
}

export async function workerNamed(db: Queryable, username: string): Promise<Worker> {
  const [found] = await findWorkers(db, { usernames: [username] })
  assert.ok(found !== undefined, `no worker has the username ${username}`)
  return found
}

export function setConsent(
  db: Db,
  username: string,
  request: ConsentRequest & Attribution,
): ReturnType<typeof recordConsent> {
  return db.transaction((tx) => recordConsent(tx, username, request))
}

export interface SentConsent {
  workerId: string
  permission: string
  granted: boolean
  previousGranted: boolean | null
  consentVersion: number
  effectiveAt: string
}

/** Returns the data of every consent event, in the order of the outbox. */
export async function consentEvents(db: Queryable, workerId?: string): Promise<SentConsent[]> {
  const rows = await db.rows<{ body: string }>(sql`
    select body from webhook_events where type = 'candidate.consent_changed' order by seq`)
  const sent = rows.map(({ body }): SentConsent => JSON.parse(body).data)
  return workerId === undefined ? sent : sent.filter((one) => one.workerId === workerId)
}
