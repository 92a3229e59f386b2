/**
 * Consent of a worker to each permission: none, granted or withdrawn.
 *
 * One transaction under the worker's lock writes the row of `consent_changes`, the current consent,
 * the worker's next `consent_version` and the event. Versions, rows and events therefore have one
 * order, and a crash leaves all of them or none.
 *
 * A permission that was never granted can be withdrawn too. The refusal is recorded, so that no
 * import grants the permission, but no event is sent, because nothing has ended.
 */
import { wireTime } from '../platform/clock.ts'
import type { Tx } from '../platform/db/db.ts'
import type { Refusal } from '../platform/errors.ts'
import { publishEvents } from '../webhooks/events/outbox.ts'
import {
  type ConsentChange,
  findConsents,
  insertConsentChanges,
  raiseConsentVersions,
} from './consent-store.ts'
import type { Permission } from './schema.ts'
import { completeOnboarding, findWorkerId, lockWorker, lockWorkers } from './store.ts'
import { unknownWorker } from './username.ts'

export interface Attribution {
  /** Actor of the change. The name is kept with the change and never leaves the service. */
  by: string
  at: Date
}

export interface ConsentRequest {
  permission: Permission
  /** Version of the text that the worker agrees to, or null to withdraw. */
  textVersion: string | null
}

export interface RecordedConsent {
  /** Null if the consent was the same before: nothing is recorded, and no event is sent. */
  change: ConsentChange | null
  onboardedNow: boolean
}

/**
 * Grants a permission under a text, or withdraws it. A repetition changes nothing, except that a
 * newer text is a new grant.
 */
export async function recordConsent(
  tx: Tx,
  username: string,
  { by, at, ...request }: ConsentRequest & Attribution,
): Promise<RecordedConsent | Refusal<'worker_not_found'>> {
  const workerId = await findWorkerId(tx, username)
  if (workerId === null || !(await lockWorker(tx, workerId))) return unknownWorker(username)
  const [change] = await recordConsents(tx, [{ workerId, ...request }], { by, at })
  if (change === undefined) return { change: null, onboardedNow: false }
  const onboarded = await completeOnboarding(tx, [workerId], at)
  return { change, onboardedNow: onboarded.length > 0 }
}

export interface WorkerConsentRequest extends ConsentRequest {
  workerId: string
}

/**
 * Changes several consents within the caller's transaction. Each permission of a worker may occur
 * once. Returns the changes that took effect.
 */
export async function recordConsents(
  tx: Tx,
  requests: readonly WorkerConsentRequest[],
  attribution: Attribution,
): Promise<ConsentChange[]> {
  if (requests.length === 0) return []
  const workerIds = [...new Set(requests.map((request) => request.workerId))]
  const locked = await lockWorkers(tx, workerIds)
  const versions = new Map(locked.map((row) => [row.workerId, row.consentVersion]))
  const found = await findConsents(tx, workerIds)
  const held = new Map(found.map((row) => [`${row.workerId} ${row.permission}`, row]))
  const changes: ConsentChange[] = []
  for (const { workerId, permission, textVersion } of requests) {
    const before = held.get(`${workerId} ${permission}`)
    if (before?.textVersion === textVersion) continue
    const consentVersion = (versions.get(workerId) ?? 0) + 1
    versions.set(workerId, consentVersion)
    const granted = textVersion !== null
    const previousGranted = before?.granted ?? null
    changes.push({ workerId, permission, granted, previousGranted, textVersion, consentVersion })
  }
  if (changes.length === 0) return []
  await raiseConsentVersions(tx, changes)
  await writeChanges(tx, changes, attribution)
  return changes
}

/**
 * Grants the first consents of workers that this transaction has inserted. Their rows have the
 * consent version already.
 */
export async function grantToNewWorkers(
  tx: Tx,
  workers: readonly {
    workerId: string
    consents: readonly { permission: Permission; textVersion: string }[]
  }[],
  attribution: Attribution,
): Promise<void> {
  const changes = workers.flatMap(({ workerId, consents }) =>
    consents.map((consent, i) => {
      const consentVersion = i + 1
      return { workerId, ...consent, granted: true, previousGranted: null, consentVersion }
    }),
  )
  if (changes.length > 0) await writeChanges(tx, changes, attribution)
}

async function writeChanges(
  tx: Tx,
  changes: readonly ConsentChange[],
  attribution: Attribution,
): Promise<void> {
  const { at } = attribution
  await insertConsentChanges(tx, changes, attribution)
  await publishEvents(
    tx,
    changes.filter(isForReceivers).map((change) => consentChanged(change, at)),
    at,
  )
}

function isForReceivers({ granted, previousGranted }: ConsentChange): boolean {
  return granted || previousGranted !== null
}

/** Builds `candidate.consent_changed`. Its data holds exactly these six keys. */
function consentChanged(change: ConsentChange, at: Date) {
  const { workerId, permission, granted, previousGranted, consentVersion } = change
  return {
    type: 'candidate.consent_changed' as const,
    workerId,
    data: {
      workerId,
      permission,
      granted,
      previousGranted,
      consentVersion,
      effectiveAt: wireTime(at),
    },
  }
}
