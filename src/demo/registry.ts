/**
 * Ensures the demo's records in the database, in one transaction: the signing key, if there is
 * none, the seeded history, and credentials for each address.
 */
import type { Action } from '../audit/actions.ts'
import { operator, recordAction } from '../audit/record.ts'
import { findIssued, lockKeys, type RegisteredCredential } from '../credentials/api.ts'
import { type Origin, originOf, subjectUrl } from '../credentials/payload.ts'
import type { Db, Queryable } from '../platform/db/db.ts'
import { findWorkerCredentials } from '../scoring/api.ts'
import type { Engine } from '../scoring/scores/engine.ts'
import { issueRuleOf, scoringRulesOf, scoringVocabulary } from '../scoring/scores/scoring.ts'
import type { Vocabulary } from '../standard/catalog.ts'
import { findWorkers } from '../workers/api.ts'
import { dayMs } from './days.ts'
import { evidenceOf } from './evidence.ts'
import { reissueCredentials } from './reissue.ts'
import { keyDaysAgo, type Sample, samples, sampleWorkers, validityDays } from './scenario.ts'
import { type Member, seedHistory } from './seed.ts'
import { type DemoKey, ensureDemoKey } from './signing-key.ts'
import { demoWorkers, workerLine } from './workers.ts'

export interface RecordsOptions {
  publicUrl: string
  keysFolder: string
  engine: Engine
  records: Vocabulary['records']
  /** A whole second. */
  now: Date
}

export interface DemoRecords {
  /** The workers and their evidence as registered. */
  members: readonly Member[]
  credentials: ReadonlyMap<Sample, RegisteredCredential>
}

/** Returns the demo's records. Creates the missing ones. */
export function ensureRecords(db: Db, options: RecordsOptions): Promise<DemoRecords> {
  const { publicUrl, records, now } = options
  const origin = originOf(publicUrl)
  return db.transaction(async (tx) => {
    // Two processes that start at once must not both make a key.
    await lockKeys(tx)
    const before = await seededAt(tx)
    const members = membersOf(records, before ?? now)
    const found = await findSamples(tx, origin, now)
    if (areSamplesLasting(found, now)) return { members, credentials: found }
    const key = await ensureDemoKey(tx, options.keysFolder, now)
    const scoring = scoringOf(options, key)
    const times = timesOf(key, now)
    const done: Action[] = key.isNew ? [keyCreated(key)] : []
    if (before === null)
      done.push(...(await seedHistory(tx, { scoring, workers: members, at: times.at })))
    let credentials = await findSamples(tx, origin, now)
    // A key younger than the scenario has signed no credential that has expired yet.
    if (!areSamplesLasting(credentials, now)) {
      done.push(...(await reissueCredentials(tx, scoring, { lately: times.lately, now })))
      credentials = await findSamples(tx, origin, now)
    }
    for (const action of done) await recordAction(tx, { ...action, actor: operator() }, now)
    return { members, credentials }
  })
}

/**
 * Returns when the demo was seeded, or null. The dates of all evidence count from there. Any worker
 * of the demo still in the database gives it, because the day of joining is fixed.
 */
async function seededAt(db: Queryable): Promise<Date | null> {
  const joined = new Map(
    demoWorkers.map(({ username, joinedDaysAgo }) => [username, joinedDaysAgo]),
  )
  for (const { externalId, termsAcceptedAt } of await findWorkers(db, {
    externalIds: [...joined.keys()],
  })) {
    const daysAgo = joined.get(externalId ?? '')
    if (termsAcceptedAt !== null && daysAgo !== undefined)
      return new Date(termsAcceptedAt.getTime() + daysAgo * dayMs)
  }
  return null
}

function membersOf(records: RecordsOptions['records'], at: Date): Member[] {
  const labels = new Map(records.map(({ id, label }) => [id, label]))
  const types = new Map(
    records.map(({ id, evidence_types }) => [id, evidence_types.map(({ type }) => type)]),
  )
  return demoWorkers.map((worker) => ({
    worker,
    line: workerLine(worker, labels, at),
    evidence: evidenceOf(worker, types, at),
  }))
}

/** The samples that have not expired must stay valid for at least this many days. */
const remainingDaysMin = 60

function areSamplesLasting(found: DemoRecords['credentials'], now: Date): boolean {
  const until = new Date(now.getTime() + remainingDaysMin * dayMs)
  const lasts = (sample: Sample) => (found.get(sample)?.validUntil ?? now) > until
  return (Object.keys(sampleWorkers) as Sample[]).every((sample) =>
    samples[sample].reason === 'expired' ? found.has(sample) : lasts(sample),
  )
}

/** The default settings. The deployment's own could leave the demo without scores. */
const settings = {
  scoreGroupsMin: 2,
  credentialValidityDays: validityDays,
}

function scoringOf({ publicUrl, engine, records }: RecordsOptions, { signer }: DemoKey) {
  const rules = scoringRulesOf(engine, scoringVocabulary(records), issueRuleOf(settings))
  const origin = originOf(publicUrl)
  return { ...rules, issuer: { origin, signer, validityDays, supersedeRevokes: false } }
}

/** The clock tolerance of verification, for `created` and for `validUntil`. */
const skewMs = 300_000

/**
 * Returns the dates of the scenario. If the signing key is younger than the scenario, its days
 * become shorter, so that no credential is dated before the key's activation.
 */
function timesOf({ since }: DemoKey, now: Date) {
  const earliestMs = since.getTime() - skewMs + 30_000
  const ownDayMs = Math.min(dayMs, (now.getTime() - earliestMs) / keyDaysAgo)
  return {
    at: (daysAgo: number) => wholeSecond(now.getTime() - daysAgo * ownDayMs),
    lately: wholeSecond(Math.max(now.getTime() - 2 * skewMs, earliestMs)),
  }
}

function wholeSecond(timeMs: number): Date {
  return new Date(Math.floor(timeMs / 1_000) * 1_000)
}

function keyCreated({ signer }: DemoKey): Action {
  return { action: 'keys.created', subjects: [signer.kid], details: { state: 'active' } }
}

const matches: Record<Sample, (one: RegisteredCredential, now: Date) => boolean> = {
  valid: isCurrent,
  revoked: ({ revokedAt }) => revokedAt !== null,
  tampered: isCurrent,
  expired: ({ revokedAt, validUntil }, now) => revokedAt === null && validUntil <= now,
  superseded: ({ supersededAt, revokedAt }) => supersededAt !== null && revokedAt === null,
}

function isCurrent({ supersededAt, revokedAt }: RegisteredCredential): boolean {
  return supersededAt === null && revokedAt === null
}

/** Returns the last matching credential of each sample. A sample without one is absent. */
async function findSamples(
  db: Queryable,
  origin: Origin,
  now: Date,
): Promise<Map<Sample, RegisteredCredential>> {
  const workers = await findWorkers(db, { externalIds: Object.values(sampleWorkers) })
  const workerIds = workers.map(({ workerId }) => workerId)
  const held = workerIds.length === 0 ? [] : await findWorkerCredentials(db, workerIds)
  const digests = held.flatMap(({ vcSha256 }) => vcSha256 ?? [])
  const issued = digests.length === 0 ? [] : await findIssued(db, digests)
  const found = new Map<Sample, RegisteredCredential>()
  for (const [sample, username] of Object.entries(sampleWorkers) as [Sample, string][]) {
    const subject = subjectUrl(origin, username)
    const own = issued.filter((one) => one.subject === subject && matches[sample](one, now))
    const last = own.sort((a, b) => a.issuedAt.getTime() - b.issuedAt.getTime()).at(-1)
    if (last !== undefined) found.set(sample, last)
  }
  return found
}
