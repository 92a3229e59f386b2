/**
 * Consent: none, granted, withdrawn, for each permission. A change writes its row of consent_changes, what holds now, the worker's next
 * consent_version and the event, in one transaction and under the worker's lock: so versions, rows and events have one order, and a
 * crash leaves all of them or none. What was never granted can be withdrawn as well: it is recorded, so that no import grants it, but nobody is
 * told, for nothing has ended.
 */
import { wireTime } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/db/db.ts'
import { publishEvents } from '../webhooks/events/outbox.ts'
import { type ConsentChange, findConsents, insertConsentChanges } from './consent-store.ts'
import type { Permission } from './schema.ts'
import { completeOnboarding, findWorkerId, lockPerson, lockWorkers } from './store.ts'

export interface Circumstances {
  /** Who does it: kept with the change, never shown to the outside. */
  by: string
  at: Date
}

export interface Wish {
  permission: Permission
  /** The version of the text the person agrees to, or null to withdraw. */
  textVersion: string | null
}

export type ConsentOutcome =
  | { outcome: 'changed'; change: ConsentChange; onboardedNow: boolean }
  /** It was so before: nothing is recorded, and no event is sent. */
  | { outcome: 'unchanged' }
  | { outcome: 'unknown_person' }

/** Grants under a text, or withdraws. A second time changes nothing, except that a newer text is agreed to anew. */
export function changeConsent(
  db: Db,
  username: string,
  wish: Wish & Circumstances,
): Promise<ConsentOutcome> {
  return db.transaction((tx) => changeConsentInside(tx, username, wish))
}

/** The same within the caller's transaction. */
export async function changeConsentInside(
  tx: Tx,
  username: string,
  { by, at, ...wish }: Wish & Circumstances,
): Promise<ConsentOutcome> {
  const workerId = await findWorkerId(tx, username)
  if (workerId === null || !(await lockPerson(tx, workerId))) return { outcome: 'unknown_person' }
  const [change] = await changeConsents(tx, [{ workerId, ...wish }], { by, at })
  if (change === undefined) return { outcome: 'unchanged' }
  const onboarded = await completeOnboarding(tx, [workerId], at)
  return { outcome: 'changed', change, onboardedNow: onboarded.length > 0 }
}

export interface WorkerWish extends Wish {
  workerId: string
}

/** The same for many, each permission of a worker at most once, within the caller's transaction. Gives what has changed. */
export async function changeConsents(
  tx: Tx,
  wishes: readonly WorkerWish[],
  circumstances: Circumstances,
): Promise<ConsentChange[]> {
  if (wishes.length === 0) return []
  const workerIds = [...new Set(wishes.map((wish) => wish.workerId))]
  const locked = await lockWorkers(tx, workerIds)
  const versions = new Map(locked.map((row) => [row.workerId, row.consentVersion]))
  const found = await findConsents(tx, workerIds)
  const held = new Map(found.map((row) => [`${row.workerId} ${row.permission}`, row]))
  const changes: ConsentChange[] = []
  for (const { workerId, permission, textVersion } of wishes) {
    const before = held.get(`${workerId} ${permission}`)
    if (before?.textVersion === textVersion) continue
    const consentVersion = (versions.get(workerId) ?? 0) + 1
    versions.set(workerId, consentVersion)
    const granted = textVersion !== null
    const previousGranted = before?.granted ?? null
    changes.push({ workerId, permission, granted, previousGranted, textVersion, consentVersion })
  }
  if (changes.length === 0) return []
  await insertConsentChanges(tx, changes, circumstances)
  const { at } = circumstances
  await publishEvents(
    tx,
    changes.filter(isForReceivers).map((change) => consentChanged(change, at)),
    at,
  )
  return changes
}

function isForReceivers({ granted, previousGranted }: ConsentChange): boolean {
  return granted || previousGranted !== null
}

/** `candidate.consent_changed`: exactly these six. */
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
