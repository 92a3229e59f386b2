/**
 * Registering people, a batch a transaction. The external id says who a line speaks of, or the username where it has none: read again,
 * a line changes nothing. Writes every table of the room, in the order workers, usernames, profiles, skills, terms, consents, identities;
 * a crash before the commit leaves nothing of the batch.
 */
import { planAnew, type Tx } from '../platform/db/db.ts'
import { uuidV7 } from '../platform/db/uuid-v7.ts'
import { monthOf } from '../platform/instant.ts'
import type { Fault } from '../platform/json/shape-fault.ts'
import { type Circumstances, changeConsents } from './consent.ts'
import { findConsents } from './consent-store.ts'
import { editProfiles } from './edit-profile.ts'
import { verifyFirst } from './identity.ts'
import { acceptTerms } from './onboard.ts'
import type { Profile } from './profile.ts'
import { takeUsernames, writeProfiles, writeSkills } from './profile-store.ts'
import type { Registration } from './registration.ts'
import {
  completeOnboarding,
  findPeople,
  forgetNewWorkers,
  insertWorkers,
  lockPeople,
  type Person,
} from './store.ts'

export type Registered =
  | { workerId: string; outcome: 'created' | 'updated' | 'unchanged' }
  | { refused: Fault }

const taken: Registered = {
  refused: { field: 'username', reason: 'is taken by another person' },
}

/** One answer for each, in order. */
export async function registerPeople(
  tx: Tx,
  registrations: readonly Registration[],
  circumstances: Circumstances,
): Promise<Registered[]> {
  await planAnew(tx)
  const answers: Registered[] = []
  while (answers.length < registrations.length) {
    const next = withoutRepeatedNames(registrations.slice(answers.length))
    answers.push(...(await registerSome(tx, next, circumstances)))
  }
  return answers
}

/** As far as no external id and no username occurs twice: what speaks of one person is done in its order. */
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

/** Answers for the first of them, one at least. */
async function registerSome(
  tx: Tx,
  registrations: readonly Registration[],
  circumstances: Circumstances,
): Promise<Registered[]> {
  const people = await peopleBehind(tx, registrations)
  const repeated = people.findIndex(
    (person, i) =>
      person !== undefined && people.findIndex((other) => other?.workerId === person.workerId) < i,
  )
  const some = repeated === -1 ? registrations : registrations.slice(0, repeated)
  const answers: Registered[] = Array.from(some, () => taken)
  const unknown = [...some.keys()].filter((i) => people[i] === undefined)
  const created = await createPeople(tx, pick(some, unknown), circumstances)
  const lost = unknown.filter((i, n) => {
    const workerId = created[n]
    if (workerId) answers[i] = { workerId, outcome: 'created' }
    return !workerId
  })
  // Another transaction may have registered the same person since we looked: then there is one to edit.
  const lateness = lost.length === 0 ? [] : await peopleBehind(tx, pick(some, lost))
  const known = [...some.keys()].flatMap((i) => {
    const person = people[i] ?? lateness[lost.indexOf(i)]
    return person === undefined ? [] : { i, person, registration: some[i] as Registration }
  })
  const edits = await editProfiles(
    tx,
    known.map(({ person, registration }) => {
      const { workerId, profile: before } = person
      return { workerId, before, profile: registration.profile }
    }),
    circumstances.at,
  )
  for (const [n, { i, person }] of known.entries()) {
    const { workerId } = person
    const edit = edits[n]
    if (edit === 'changed') answers[i] = { workerId, outcome: 'updated' }
    if (edit === 'unchanged') answers[i] = { workerId, outcome: 'unchanged' }
  }
  await takeOver(tx, { answers, registrations: some }, circumstances)
  return answers
}

function pick<Item>(items: readonly Item[], places: readonly number[]): Item[] {
  return places.map((place) => items[place] as Item)
}

/** Locked, and as they are then. */
async function peopleBehind(
  tx: Tx,
  registrations: readonly Registration[],
): Promise<(Person | undefined)[]> {
  const names = {
    externalIds: registrations.flatMap(({ externalId }) => externalId ?? []),
    usernames: registrations.flatMap(({ externalId, profile }) =>
      externalId === null ? profile.username : [],
    ),
  }
  await lockPeople(tx, names)
  const found = await findPeople(tx, names)
  const byId = new Map(found.map((person) => [person.externalId, person]))
  const byName = new Map(found.map((person) => [person.profile.username, person]))
  return registrations.map(({ externalId, profile }) =>
    externalId === null ? byName.get(profile.username) : byId.get(externalId),
  )
}

/** Gives the new ids in order; null where the external id or the username is somebody else's. */
async function createPeople(
  tx: Tx,
  registrations: readonly Registration[],
  { at }: Circumstances,
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
  if (nameless.length > 0) await forgetNewWorkers(tx, nameless)
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

/** Who registers now is a member since now, unless the operator knows better. */
function wholeProfile(given: Registration['profile'], at: Date): Profile {
  const unset = { title: null, bio: null, avatarUrl: null, skills: [], memberSince: monthOf(at) }
  return { ...unset, ...given }
}

/** Terms, consents and identity checks, of those that were not refused; whom one of them changes counts as updated. */
async function takeOver(
  tx: Tx,
  { answers, registrations }: { answers: Registered[]; registrations: readonly Registration[] },
  circumstances: Circumstances,
): Promise<void> {
  const people = registrations.flatMap((registration, i) => {
    const answer = answers[i]
    return answer === undefined || 'refused' in answer
      ? []
      : { ...registration, workerId: answer.workerId }
  })
  const changed = new Set([
    ...(await acceptTerms(
      tx,
      people.flatMap(({ workerId, terms }) => (terms === null ? [] : { workerId, ...terms })),
      circumstances.at,
    )),
    ...(await grantFirst(tx, people, circumstances)),
    ...(await verifyFirst(
      tx,
      people.flatMap(({ workerId, verifiedUntil: until }) =>
        until === null ? [] : { workerId, until },
      ),
      circumstances,
    )),
  ])
  for (const [i, answer] of answers.entries())
    if ('workerId' in answer && answer.outcome === 'unchanged' && changed.has(answer.workerId))
      answers[i] = { ...answer, outcome: 'updated' }
}

/** Only permissions of which the person has said nothing yet: an old file must not undo a withdrawal. */
async function grantFirst(
  tx: Tx,
  people: readonly (Registration & { workerId: string })[],
  circumstances: Circumstances,
): Promise<string[]> {
  const wishes = people.flatMap(({ workerId, consents }) =>
    consents.map((consent) => ({ workerId, ...consent })),
  )
  if (wishes.length === 0) return []
  const workerIds = [...new Set(wishes.map(({ workerId }) => workerId))]
  const known = new Set(
    (await findConsents(tx, workerIds)).map((row) => `${row.workerId} ${row.permission}`),
  )
  const changes = await changeConsents(
    tx,
    wishes.filter(({ workerId, permission }) => !known.has(`${workerId} ${permission}`)),
    circumstances,
  )
  const changed = [...new Set(changes.map(({ workerId }) => workerId))]
  await completeOnboarding(tx, changed, circumstances.at)
  return changed
}
