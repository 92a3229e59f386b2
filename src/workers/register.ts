/**
 * Registration of workers, one batch a transaction. A line names its worker by the external id, or
 * by the username if it has no external id. A repeated line changes nothing.
 *
 * Writes every table of the module. A crash before the commit leaves nothing of the batch.
 */
import { monthOf } from '../platform/clock.ts'
import { planAnew, type Tx } from '../platform/db/db.ts'
import { uuidV7 } from '../platform/db/uuid-v7.ts'
import type { Fault } from '../platform/json/shape-fault.ts'
import { type Attribution, grantToNewWorkers, recordConsents } from './consent.ts'
import { findConsents } from './consent-store.ts'
import { editProfiles, insertSkills, takeUsernames, writeProfiles } from './edit-profile.ts'
import { verifyFirst, verifyNewWorkers } from './identity.ts'
import type { Profile } from './profile.ts'
import type { Registration } from './registration.ts'
import {
  type Acceptance,
  completeOnboarding,
  deleteNewWorkers,
  findWorkers,
  insertWorkers,
  lockWorkersByName,
  type Worker,
  writeTerms,
} from './store.ts'

export type Registered =
  | { workerId: string; result: 'created' | 'updated' | 'unchanged' }
  | { refused: Fault }

const taken: Registered = {
  refused: { field: 'username', reason: 'is taken by another worker' },
}

/** Registers or edits workers. Returns one answer for each registration, in order. */
export async function registerOrEditWorkers(
  tx: Tx,
  registrations: readonly Registration[],
  attribution: Attribution,
): Promise<Registered[]> {
  await planAnew(tx)
  const answers: Registered[] = []
  while (answers.length < registrations.length) {
    const next = withoutRepeatedNames(registrations.slice(answers.length))
    answers.push(...(await registerSome(tx, next, attribution)))
  }
  return answers
}

/**
 * Returns the longest prefix in which no external id and no username occurs twice. Lines about one
 * worker therefore take effect in their order.
 */
function withoutRepeatedNames(registrations: readonly Registration[]): readonly Registration[] {
  const ids = new Set<string>()
  const usernames = new Set<string>()
  for (const [i, { externalId, profile }] of registrations.entries()) {
    if (ids.has(externalId ?? '') || usernames.has(profile.username))
      return registrations.slice(0, i)
    if (externalId !== null) ids.add(externalId)
    usernames.add(profile.username)
  }
  return registrations
}

/** Registers a non-empty prefix of `registrations` and returns the answers for that prefix. */
async function registerSome(
  tx: Tx,
  registrations: readonly Registration[],
  attribution: Attribution,
): Promise<Registered[]> {
  const workers = await lockNamedWorkers(tx, registrations)
  const repeated = workers.findIndex(
    (worker, i) =>
      worker !== undefined && workers.findIndex((other) => other?.workerId === worker.workerId) < i,
  )
  const some = repeated === -1 ? registrations : registrations.slice(0, repeated)
  const answers: Registered[] = Array.from(some, () => taken)
  const unknown = [...some.keys()].filter((i) => workers[i] === undefined)
  const created = await createWorkers(tx, pick(some, unknown), attribution)
  const lost = unknown.filter((i, n) => {
    const workerId = created[n]
    if (workerId) answers[i] = { workerId, result: 'created' }
    return !workerId
  })
  // Another transaction may have registered the same worker since the lookup. Then this worker is
  // edited.
  const lateness = lost.length === 0 ? [] : await lockNamedWorkers(tx, pick(some, lost))
  const known = [...some.keys()].flatMap((i) => {
    const worker = workers[i] ?? lateness[lost.indexOf(i)]
    return worker === undefined ? [] : { i, worker, registration: some[i] as Registration }
  })
  const edits = await editProfiles(
    tx,
    known.map(({ worker, registration }) => {
      const { workerId, profile: before } = worker
      return { workerId, before, profile: registration.profile }
    }),
    attribution.at,
  )
  const edited = known.flatMap((one, n) => {
    const edit = edits[n]
    const { workerId } = one.worker
    return edit === undefined || edit === 'username_taken' ? [] : { ...one, workerId, edit }
  })
  const decided = await applyFirstDecisions(
    tx,
    edited.map(({ workerId, registration }) => ({ ...registration, workerId })),
    attribution,
  )
  for (const { i, workerId, edit } of edited) {
    const isSame = edit === 'unchanged' && !decided.has(workerId)
    answers[i] = { workerId, result: isSame ? 'unchanged' : 'updated' }
  }
  return answers
}

function pick<Item>(items: readonly Item[], places: readonly number[]): Item[] {
  return places.map((place) => items[place] as Item)
}

/** Locks the workers that the registrations name, and reads them under the lock. */
async function lockNamedWorkers(
  tx: Tx,
  registrations: readonly Registration[],
): Promise<(Worker | undefined)[]> {
  const names = {
    externalIds: registrations.flatMap(({ externalId }) => externalId ?? []),
    usernames: registrations.flatMap(({ externalId, profile }) =>
      externalId === null ? profile.username : [],
    ),
  }
  await lockWorkersByName(tx, names)
  const found = await findWorkers(tx, names)
  const byId = new Map(found.map((worker) => [worker.externalId, worker]))
  const byName = new Map(found.map((worker) => [worker.profile.username, worker]))
  return registrations.map(({ externalId, profile }) =>
    externalId === null ? byName.get(profile.username) : byId.get(externalId),
  )
}

/**
 * Creates workers with everything that their lines hold, each row inserted once and complete.
 * Returns their ids in order, with null if another worker has the external id or the username.
 */
async function createWorkers(
  tx: Tx,
  registrations: readonly Registration[],
  attribution: Attribution,
): Promise<(string | null)[]> {
  if (registrations.length === 0) return []
  const { at } = attribution
  const fresh = registrations.map((registration) => newWorkerOf(registration, at))
  const inserted = new Set(await insertWorkers(tx, fresh, at))
  const workers = fresh.filter(({ workerId }) => inserted.has(workerId))
  const named = await takeUsernames(tx, workers, at)
  const nameless = [...inserted].filter((workerId) => !named.has(workerId))
  if (nameless.length > 0) await deleteNewWorkers(tx, nameless)
  const created = workers.filter(({ workerId }) => named.has(workerId))
  // Consents and identities come before the profiles: without a profile, they open no gate that the
  // triggers would have to record.
  await grantToNewWorkers(tx, created, attribution)
  await verifyNewWorkers(tx, created.flatMap(verificationOf), attribution)
  await writeProfiles(tx, created, at)
  await insertSkills(
    tx,
    created.map(({ workerId, profile: { skills } }) => ({ workerId, skills })),
  )
  return fresh.map(({ workerId }) => (named.has(workerId) ? workerId : null))
}

function newWorkerOf(registration: Registration, at: Date) {
  const { externalId, profile, terms, consents, verifiedUntil } = registration
  const termsAcceptedAt = terms?.acceptedAt ?? null
  const isPublic = consents.some(({ permission }) => permission === 'public_profile')
  const given = { termsAcceptedAt, consents: { public_profile: { granted: isPublic } } }
  const isComplete = missingFor({ onboardedAt: null, ...given }).length === 0
  return {
    workerId: uuidV7(at),
    externalId,
    termsVersion: terms?.version ?? null,
    termsAcceptedAt,
    onboardedAt: isComplete ? at : null,
    consentVersion: consents.length,
    username: profile.username,
    profile: wholeProfile(profile, at),
    consents,
    verifiedUntil,
  }
}

function verificationOf({
  workerId,
  verifiedUntil: until,
}: Pick<Registration, 'verifiedUntil'> & { workerId: string }) {
  return until === null ? [] : { workerId, until }
}

/** Completes the profile of a new worker. `memberSince` defaults to the current month. */
function wholeProfile(given: Registration['profile'], at: Date): Profile {
  const unset = { title: null, bio: null, avatarUrl: null, skills: [], memberSince: monthOf(at) }
  return { ...unset, ...given }
}

/**
 * Applies terms, consents and identity checks to workers that were registered before. Returns the
 * ids of the workers that one of them changes.
 */
async function applyFirstDecisions(
  tx: Tx,
  workers: readonly (Registration & { workerId: string })[],
  attribution: Attribution,
): Promise<Set<string>> {
  const accepted = workers.flatMap(({ workerId, terms }) =>
    terms === null ? [] : { workerId, ...terms },
  )
  return new Set([
    ...(await acceptTerms(tx, accepted, attribution.at)),
    ...(await grantFirst(tx, workers, attribution)),
    ...(await verifyFirst(tx, workers.flatMap(verificationOf), attribution)),
  ])
}

/**
 * Grants only permissions on which the worker has not decided yet, because an old file must not
 * undo a withdrawal.
 */
async function grantFirst(
  tx: Tx,
  workers: readonly (Registration & { workerId: string })[],
  attribution: Attribution,
): Promise<string[]> {
  const requests = workers.flatMap(({ workerId, consents }) =>
    consents.map((consent) => ({ workerId, ...consent })),
  )
  if (requests.length === 0) return []
  const workerIds = [...new Set(requests.map(({ workerId }) => workerId))]
  const known = new Set(
    (await findConsents(tx, workerIds)).map((row) => `${row.workerId} ${row.permission}`),
  )
  const changes = await recordConsents(
    tx,
    requests.filter(({ workerId, permission }) => !known.has(`${workerId} ${permission}`)),
    attribution,
  )
  const changed = [...new Set(changes.map(({ workerId }) => workerId))]
  await completeOnboarding(tx, changed, attribution.at)
  return changed
}

/**
 * Records accepted terms and onboards the workers that are then complete. Returns the ids of the
 * workers whose terms changed.
 */
async function acceptTerms(tx: Tx, accepted: readonly Acceptance[], at: Date): Promise<string[]> {
  if (accepted.length === 0) return []
  const changed = await writeTerms(tx, accepted)
  await completeOnboarding(tx, changed, at)
  return changed
}

/** Lists the requirements that the worker still has to meet before it is onboarded. */
export function missingFor({
  onboardedAt,
  termsAcceptedAt,
  consents,
}: Pick<Worker, 'onboardedAt' | 'termsAcceptedAt'> & {
  consents: { public_profile?: { granted: boolean } }
}): string[] {
  if (onboardedAt !== null) return []
  return [
    ...(termsAcceptedAt === null ? ['terms'] : []),
    ...(consents.public_profile?.granted ? [] : ['consent public_profile']),
  ]
}
