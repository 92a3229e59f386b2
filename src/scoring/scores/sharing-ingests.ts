/**
 * Bulk input of workers, consents and identity checks. It stands here, because it also moves
 * credentials.
 */
import { Type } from 'typebox'
import type { Ingest } from '../../operations/ingest.ts'
import { changed, unchanged } from '../../operations/operation.ts'
import { instantOf } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db/db.ts'
import { closedObject } from '../../platform/json/closed-object.ts'
import { lockWorkers } from '../../workers/api.ts'
import type { Attribution, ConsentRequest, WorkerConsentRequest } from '../../workers/consent.ts'
import type { Move } from '../../workers/identity.ts'
import { faultOfUntil } from '../../workers/identity-state.ts'
import { type Registration, readRegistration } from '../../workers/registration.ts'
import { permissions, registration, textVersion } from '../../workers/schema.ts'
import { type WorkerName, workerNameOf } from '../evidence/evidence-line.ts'
import { holdNamedWorkers, nameKey } from '../evidence/ingest-evidence.ts'
import { type Refused, refused, valueReader, workerNames } from '../evidence/schema.ts'
import { changeConsents, importWorkers, moveIdentity } from './keep-sharing.ts'

/** A line has a few names and texts. */
const lineBytesMax = 4_096
const batchMax = 256

type Result = 'recorded' | 'unchanged'

/** A line that names one worker. */
type Named<Content> = Content & { worker: WorkerName }

function withWorker<Content extends object>(
  line: Parameters<typeof workerNameOf>[0],
  content: Content,
): Named<Content> | Refused {
  const worker = workerNameOf(line)
  return 'reason' in worker ? { refused: worker } : { ...content, worker }
}

const consentLine = closedObject({
  ...workerNames,
  permission: Type.Enum([...permissions], {
    description: `must be one of ${permissions.join(', ')}`,
  }),
  granted: Type.Boolean({ description: 'must be true, or false for a withdrawal' }),
  textVersion: Type.Optional(textVersion),
})
const consentOf = valueReader(consentLine)

function readConsent(value: unknown): Named<ConsentRequest> | Refused {
  const line = consentOf(value)
  if ('refused' in line) return line
  const { permission, granted, textVersion: text } = line
  if (granted !== (text !== undefined))
    return refused(
      'textVersion',
      granted ? 'is missing: the text that the worker agreed to' : 'is only for a granted one',
    )
  return withWorker(line, { permission, textVersion: text ?? null })
}

export const consentImport: Ingest<object, Named<ConsentRequest>, Result, 'consent.imported'> = {
  name: 'consent import',
  http: 'POST /consents',
  summary: 'Record what workers allow',
  who: { operator: 'support', ingest: true },
  audit: 'consent.imported',
  line: consentLine,
  lineBytesMax,
  batchMax,
  results: ['recorded', 'unchanged'],
  example: {
    username: 'ada-lovelace',
    permission: 'score_sharing',
    granted: true,
    textVersion: '2026-05',
  },
  read: readConsent,
  async apply(tx, lines, { by, now }) {
    const applied = await applyConsents(tx, lines, { by, at: now })
    const recorded = applied.flatMap((one, i) =>
      'workerId' in one && one.result === 'recorded'
        ? { workerId: one.workerId, isGranted: lines[i]?.textVersion !== null }
        : [],
    )
    if (recorded.length === 0) return unchanged(applied)
    const granted = recorded.filter(({ isGranted }) => isGranted).length
    return changed(applied, {
      subjects: [...new Set(recorded.map(({ workerId }) => workerId))],
      details: { granted, withdrawn: recorded.length - granted },
    })
  },
}

type Applied = { result: Result; workerId: string } | Refused

/**
 * Applies lines in their order. Each round has one line for a permission of a worker, so that the
 * last line about it counts.
 */
async function applyConsents(
  tx: Tx,
  lines: readonly Named<ConsentRequest>[],
  attribution: Attribution,
): Promise<Applied[]> {
  const workers = await findLinesWorkers(tx, lines)
  const applied: Applied[] = workers.map((one) =>
    typeof one === 'string' ? { result: 'unchanged', workerId: one } : one,
  )
  let left = workers.flatMap((workerId, i) => {
    const line = lines[i]
    if (typeof workerId !== 'string' || line === undefined) return []
    return { i, workerId, permission: line.permission, textVersion: line.textVersion }
  })
  while (left.length > 0) {
    const round = new Map<string, (typeof left)[number]>()
    for (const one of left) if (!round.has(keyOf(one))) round.set(keyOf(one), one)
    for (const change of await changeConsents(tx, [...round.values()], attribution)) {
      const { i, workerId } = round.get(keyOf(change)) ?? {}
      if (i !== undefined && workerId !== undefined) applied[i] = { result: 'recorded', workerId }
    }
    left = left.filter((one) => round.get(keyOf(one)) !== one)
  }
  return applied
}

function keyOf({ workerId, permission }: Pick<WorkerConsentRequest, 'workerId' | 'permission'>) {
  return `${workerId} ${permission}`
}

/** Returns the worker of each line, or why it is refused. Holds the workers' locks in one order. */
async function findLinesWorkers(
  tx: Tx,
  lines: readonly { worker: WorkerName }[],
): Promise<(string | Refused)[]> {
  const names = lines.map(({ worker }) => worker)
  const found = await holdNamedWorkers(tx, names)
  await lockWorkers(tx, [...new Set(found.values())])
  return names.map(
    (name) => found.get(nameKey(name)) ?? refused(name.by, 'is not a registered worker'),
  )
}

const identityLine = closedObject({
  ...workerNames,
  state: Type.Enum(['verified', 'revoked'], { description: 'must be verified or revoked' }),
  verifiedUntil: Type.Optional(Type.String({ description: 'must be a date-time with a zone' })),
})
const identityOf = valueReader(identityLine)

function readIdentity(value: unknown, now: Date): Named<{ move: Move }> | Refused {
  const line = identityOf(value)
  if ('refused' in line) return line
  const { state, verifiedUntil } = line
  if (state === 'revoked')
    return verifiedUntil === undefined
      ? withWorker(line, { move: { move: 'revoke' } as const })
      : refused('verifiedUntil', 'is only for a verified one')
  const until = verifiedUntil === undefined ? null : instantOf(verifiedUntil)
  const fault = faultOfUntil('verifiedUntil', until, now)
  if (fault !== null || until === null)
    return { refused: fault ?? { field: 'verifiedUntil', reason: 'is missing' } }
  return withWorker(line, { move: { move: 'verify', until } as const })
}

export const identityImport: Ingest<object, Named<{ move: Move }>, Result, 'identity.imported'> = {
  name: 'identity import',
  http: 'POST /identities',
  summary: 'Record identity checks of workers',
  who: { operator: 'support', ingest: true },
  audit: 'identity.imported',
  line: identityLine,
  lineBytesMax,
  batchMax,
  results: ['recorded', 'unchanged'],
  example: {
    username: 'ada-lovelace',
    state: 'verified',
    verifiedUntil: '2027-05-14T00:00:00Z',
  },
  read: readIdentity,
  async apply(tx, lines, { by, now }) {
    const workers = await findLinesWorkers(tx, lines)
    const applied: Applied[] = []
    const counts = { verified: 0, revoked: 0 }
    for (const [i, workerId] of workers.entries()) {
      const { move } = lines[i] as Named<{ move: Move }>
      if (typeof workerId !== 'string') {
        applied.push(workerId)
        continue
      }
      const moved = await moveIdentity(tx, { ...move, workerId }, { by, at: now })
      if ('refusal' in moved) applied.push(refused('state', moved.message ?? moved.refusal))
      else applied.push({ result: moved.to === null ? 'unchanged' : 'recorded', workerId })
      if ('to' in moved && moved.to !== null)
        counts[move.move === 'revoke' ? 'revoked' : 'verified']++
    }
    const subjects = applied.flatMap((one) =>
      'workerId' in one && one.result === 'recorded' ? one.workerId : [],
    )
    if (subjects.length === 0) return unchanged(applied)
    return changed(applied, { subjects: [...new Set(subjects)], details: counts })
  },
}

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
