/** `assay workers show`: one person with everything that decides what is public of them. For the operator: private fields as well. */
import type { Config } from '../config/config.ts'
import type { Dispute } from '../disputes/dispute.ts'
import { findDisputes, findWorkerDisputeIds } from '../disputes/store.ts'
import { systemClock, wireTime } from '../platform/clock.ts'
import { findActiveSnapshots } from '../scores/store.ts'
import { hidingScore, type ScoreGate } from '../workers/gate.ts'
import { identityAt } from '../workers/identity-state.ts'
import { missingFor } from '../workers/onboard.ts'
import { type Permission, permissions } from '../workers/schema.ts'
import { findWorkers, type Worker } from '../workers/store.ts'
import { withDatabase } from './context.ts'
import { unknownWorker } from './fail.ts'
import { done, type Outcome } from './output.ts'
import { usernameGiven } from './person.ts'
import { oneLine } from './render.ts'

export function showWorkerCommand(config: Config, given: string): Promise<Outcome> {
  const username = usernameGiven(given)
  return withDatabase(config, async (db) => {
    const [person] = await findWorkers(db, { usernames: [username] })
    if (person === undefined) throw unknownWorker(username)
    const disputes = await findDisputes(db, await findWorkerDisputeIds(db, person.workerId))
    const open = disputes.filter(({ endedAt }) => endedAt === null)
    const [active] = await findActiveSnapshots(db, [person.workerId])
    return shown(person, { openDisputes: open, hasScore: active !== undefined, now: systemClock() })
  })
}

interface Facts {
  openDisputes: readonly Dispute[]
  hasScore: boolean
  now: Date
}

function shown(person: Worker, { openDisputes, hasScore, now }: Facts): Outcome {
  const { workerId, externalId, profile, onboardedAt, consents, consentVersion } = person
  const missing = missingFor(person)
  const identity = {
    state: identityAt(person.identity, now),
    verifiedUntil: timeOrNull(person.identity?.verifiedUntil ?? null),
  }
  const allowed = Object.fromEntries(
    permissions.map((permission) => [permission, consents[permission] ?? null]),
  )
  const restricted = openDisputes.some((dispute) => dispute.restricted)
  const isGranted = (permission: Permission) => consents[permission]?.granted ?? false
  const scoreHiddenBy = hidingScore({
    onboarded: onboardedAt !== null,
    snapshotActive: hasScore,
    consents: {
      public_profile: isGranted('public_profile'),
      search_listing: isGranted('search_listing'),
      score_sharing: isGranted('score_sharing'),
    },
    identityActive: identity.state === 'verified',
    restricted,
  })
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
    restricted,
    scoreHiddenBy,
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
    `  disputes    ${openDisputes.length} open`,
    `  score       ${scoreHiddenBy.length === 0 ? 'public' : `hidden: ${scoreHiddenBy.map((gate) => gateTexts[gate]).join(', ')}`}`,
    ...permissions.map((permission) => `  ${toldConsent(permission, person)}`),
  ]
  return done(report, lines)
}

const gateTexts: Record<ScoreGate, string> = {
  no_score: 'there is no score',
  not_onboarded: 'not onboarded',
  public_profile: 'no consent to public_profile',
  score_sharing: 'no consent to score_sharing',
  identity: 'the identity is not verified',
  dispute: 'an open dispute hides it',
}

function toldConsent(permission: (typeof permissions)[number], { consents }: Worker): string {
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
