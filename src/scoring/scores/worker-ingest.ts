/** Bulk registration of workers. It stands here, because it also moves credentials. */
import type { Ingest } from '../../operations/ingest.ts'
import type { Registration } from '../../workers/registration.ts'
import { readRegistration } from '../../workers/registration.ts'
import { registration } from '../../workers/schema.ts'
import { importWorkers } from './keep-sharing.ts'

export const workersImport: Ingest<
  object,
  Registration,
  'created' | 'updated' | 'unchanged',
  'workers.imported'
> = {
  name: 'workers import',
  http: 'POST /workers',
  summary: 'Register workers, or update their profiles',
  who: { operator: 'support', ingest: true },
  audit: 'workers.imported',
  line: registration,
  // Enough for a hundred skills and a long biography.
  lineBytesMax: 65_536,
  batchMax: 1_000,
  results: ['created', 'updated', 'unchanged'],
  example: {
    externalId: 'hr-117',
    username: 'ada-lovelace',
    displayName: 'Ada Lovelace',
    terms: { version: '2026-05', acceptedAt: '2026-05-01T10:00:00Z' },
    consents: [{ permission: 'score_sharing', textVersion: '2026-05' }],
  },
  read: readRegistration,
  // Without an external id, a line may name a worker that another names by its external id.
  namesOf: ({ externalId, profile: { username } }) =>
    externalId === null ? null : [`id ${externalId}`, `username ${username}`],
  apply: (tx, registrations, { by, now }) => importWorkers(tx, registrations, { by, at: now }),
}
