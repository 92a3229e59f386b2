/**
 * Registration of workers, one batch a transaction. A line names its worker by the external id, or
 * by the username if it has no external id. A repeated line changes nothing.
 *
 * Writes every table of the module in the order workers, usernames, profiles, skills, terms,
 * consents, identities. A crash before the commit leaves nothing of the batch.
 */
import { planAnew, type Tx } from '../platform/db/db.ts'
import { uuidV7 } from '../platform/db/uuid-v7.ts'
import { monthOf } from '../platform/instant.ts'
import type { Fault } from '../platform/json/shape-fault.ts'
import { type Attribution, recordConsents } from './consent.ts'
import { findConsents } from './consent-store.ts'
import { editProfiles } from './edit-profile.ts'
import { verifyFirst } from './identity.ts'
import { acceptTerms } from './onboard.ts'
import type { Profile } from './profile.ts'
import { takeUsernames, writeProfiles, writeSkills } from './profile-store.ts'
import type { Registration } from './registration.ts'
import {
  completeOnboarding,
  deleteNewWorkers,
  findWorkers,
  insertWorkers,
  lockWorkersByName,
  type Worker,
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
  for (const [n, { i, worker }] of known.entries()) {
    const { workerId } = worker
    const edit = edits[n]
    if (edit === 'changed') answers[i] = { workerId, result: 'updated' }
    if (edit === 'unchanged') answers[i] = { workerId, result: 'unchanged' }
  }
  await applyFirstDecisions(tx, { answers, registrations: some }, attribution)
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
 * Creates workers and returns their ids in order, with null if another worker has the external id
 * or the username.
 */
async function createWorkers(
  tx: Tx,
  registrations: readonly Registration[],
  { at }: Attribution,
): Promise<(string | null)[]> {
  if (registrations.length === 0) return []
  const fresh = registrations.map(({ externalId, profile }) => {
    const { username } = profile
    return { workerId: uuidV7(at), externalId, username, profile: wholeProfile(profile, at) }
  })
  const inserted = new Set(await insertWorkers(tx, fresh, at))
  const workers = fresh.filter(({ workerId }) => inserted.has(workerId))
  const named = await takeUsernames(tx, workers, at)
  const nameless = [...inserted].filter((workerId) => !named.has(workerId))
  if (nameless.length > 0) await deleteNewWorkers(tx, nameless)
  const created = workers.filter(({ workerId }) => named.has(workerId))
  await writeProfiles(tx, created, at)
  const skilled = created.filter(({ profile }) => profile.skills.length > 0)
  if (skilled.length > 0)
    await writeSkills(
      tx,
      skilled.map(({ workerId, profile }) => ({ workerId, skills: profile.skills })),
    )
  return fresh.map(({ workerId }) => (named.has(workerId) ? workerId : null))
}

/** Completes the profile of a new worker. `memberSince` defaults to the current month. */
function wholeProfile(given: Registration['profile'], at: Date): Profile {
  const unset = { title: null, bio: null, avatarUrl: null, skills: [], memberSince: monthOf(at) }
  return { ...unset, ...given }
}

/**
 * Applies terms, consents and identity checks of the registrations that were not refused. A worker
 * that one of them changes counts as updated.
 */
async function applyFirstDecisions(
  tx: Tx,
  { answers, registrations }: { answers: Registered[]; registrations: readonly Registration[] },
  attribution: Attribution,
): Promise<void> {
  const workers = registrations.flatMap((registration, i) => {
    const answer = answers[i]
    return answer === undefined || 'refused' in answer
      ? []
      : { ...registration, workerId: answer.workerId }
  })
  const changed = new Set([
    ...(await acceptTerms(
      tx,
      workers.flatMap(({ workerId, terms }) => (terms === null ? [] : { workerId, ...terms })),
      attribution.at,
    )),
    ...(await grantFirst(tx, workers, attribution)),
    ...(await verifyFirst(
      tx,
      workers.flatMap(({ workerId, verifiedUntil: until }) =>
        until === null ? [] : { workerId, until },
      ),
      attribution,
    )),
  ])
  for (const [i, answer] of answers.entries())
    if ('workerId' in answer && answer.result === 'unchanged' && changed.has(answer.workerId))
      answers[i] = { ...answer, result: 'updated' }
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
