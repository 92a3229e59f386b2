/** `assay workers show`: one person with everything that decides what is public of them. For the operator: private fields as well. */
import type { Config } from '../config/config.ts'
import type { Dispute } from '../disputes/dispute.ts'
import { findDisputes, findWorkerDisputeIds } from '../disputes/store.ts'
import { systemClock, wireTime } from '../platform/clock.ts'
import { identityAt } from '../workers/identity-state.ts'
import { missingFor } from '../workers/onboard.ts'
import { permissions } from '../workers/schema.ts'
import { findPeople, type Person } from '../workers/store.ts'
import { done, type Outcome } from './output.ts'
import { unknownPerson, usernameGiven } from './person.ts'
import { oneLine } from './told-result.ts'
import { withDatabase } from './with-database.ts'

export function showWorkerCommand(config: Config, given: string): Promise<Outcome> {
  const username = usernameGiven(given)
  return withDatabase(config, async (db) => {
    const [person] = await findPeople(db, { usernames: [username] })
    if (person === undefined) return unknownPerson(username)
    const disputes = await findDisputes(db, await findWorkerDisputeIds(db, person.workerId))
    const open = disputes.filter(({ endedAt }) => endedAt === null)
    return shown(person, open, systemClock())
  })
}

function shown(person: Person, openDisputes: readonly Dispute[], now: Date): Outcome {
  const { workerId, externalId, profile, onboardedAt, consents, consentVersion } = person
  const missing = missingFor(person)
  const identity = {
    state: identityAt(person.identity, now),
    verifiedUntil: timeOrNull(person.identity?.verifiedUntil ?? null),
  }
  const allowed = Object.fromEntries(
    permissions.map((permission) => [permission, consents[permission] ?? null]),
  )
  const { termsVersion: version, termsAcceptedAt } = person
  const report = {
    ok: true,
    workerId,
    externalId,
    ...profile,
    terms: version === null ? null : { version, acceptedAt: timeOrNull(termsAcceptedAt) },
    onboardedAt: timeOrNull(onboardedAt),
    missing,
    consentVersion,
    consents: allowed,
    identity,
    openDisputes: openDisputes.map(({ id }) => id),
    restricted: openDisputes.some(({ restricted }) => restricted),
  }
  const onboarded =
    onboardedAt === null ? `no, missing: ${missing.join(', ')}` : wireTime(onboardedAt)
  const lines = [
    `${profile.username}: ${oneLine(profile.displayName)}`,
    `  worker      ${workerId}${externalId === null ? '' : ` (${oneLine(externalId)})`}`,
    `  title       ${oneLine(profile.title ?? '-')}`,
    `  since       ${profile.memberSince}`,
    `  skills      ${profile.skills.length}`,
    `  onboarded   ${onboarded}`,
    `  identity    ${identity.state}${identity.verifiedUntil ? ` until ${identity.verifiedUntil}` : ''}`,
    `  disputes    ${openDisputes.length} open${report.restricted ? ', the score is hidden' : ''}`,
    ...permissions.map((permission) => `  ${toldConsent(permission, person)}`),
  ]
  return done(report, lines)
}

function toldConsent(permission: (typeof permissions)[number], { consents }: Person): string {
  const consent = consents[permission]
  const state =
    consent === undefined
      ? 'none'
      : consent.granted
        ? `granted, text ${consent.textVersion}`
        : 'withdrawn'
  return `${permission.padEnd(15)} ${state}`
}

function timeOrNull(time: Date | null): string | null {
  return time === null ? null : wireTime(time)
}
