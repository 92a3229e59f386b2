/**
 * Ensures the demo's records in the database, in one transaction: the signing key, if there is
 * none, the seeded history, and credentials for each address.
 */
import type { Action } from '../audit/actions.ts'
import { operator, recordAction } from '../audit/record.ts'
import {
  findIssued,
  findKeys,
  insertKey,
  lockKeys,
  type RegisteredCredential,
} from '../credentials/api.ts'
import { makeKeyFile, readSigners } from '../credentials/key-files.ts'
import { type Origin, originOf, subjectUrl } from '../credentials/payload.ts'
import { KeyRefused, publicKeyOfKid, type Signer } from '../credentials/signing-key.ts'
import type { Db, Queryable, Tx } from '../platform/db/db.ts'
import { findWorkerCredentials } from '../scoring/api.ts'
import type { Engine } from '../scoring/scores/engine.ts'
import { scoreWorkers } from '../scoring/scores/score-workers.ts'
import {
  issueRuleOf,
  type Scoring,
  scoringRulesOf,
  scoringVocabulary,
} from '../scoring/scores/scoring.ts'
import type { DueWorker } from '../scoring/scores/scoring-inputs.ts'
import type { Vocabulary } from '../standard/catalog.ts'
import { findWorkers } from '../workers/api.ts'
import { evidenceOf } from './evidence.ts'
import { dayMs, keyDaysAgo, type Sample, samples, sampleWorkers, validityDays } from './scenario.ts'
import { checkIdentity, type Member, scoredAction, seedHistory } from './seed.ts'
import { demoWorkers, workerLine } from './workers.ts'

interface RecordsOptions {
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

/**
 * Returns the actions for the audit log. `lately` is far enough in the past that a credential valid
 * for one second from then has expired. Issues the credentials again, because the address of the
 * issuer changed or they expire soon. The workers of the samples pass through expiry, supersession
 * and revocation again, within minutes. The seeded history does not change.
 */
async function reissueCredentials(
  tx: Tx,
  scoring: Scoring,
  { lately, now }: { lately: Date; now: Date },
): Promise<Action[]> {
  const workers = await findWorkers(tx, {
    externalIds: demoWorkers.map(({ username }) => username),
  })
  const ids = new Map(workers.map(({ workerId, externalId }) => [externalId, workerId]))
  const due = (username: string, correction: DueWorker['correction'] = null): DueWorker[] => {
    const workerId = ids.get(username)
    return workerId === undefined ? [] : [{ workerId, correction }]
  }
  const { issuer, issueRule } = scoring
  const renewing = { ...scoring, issueRule: { ...issueRule, renewAfterDays: 0 } }
  const shortLived = { ...renewing, issuer: { ...issuer, validityDays: secondMs / dayMs } }
  const [lapsed] = due(sampleWorkers.expired)
  if (lapsed !== undefined) {
    const until = new Date(lately.getTime() + secondMs)
    await checkIdentity(tx, lapsed.workerId, { now: lately, until })
  }
  const others = [...ids.values()].filter((workerId) => workerId !== lapsed?.workerId)
  const all = others.map((workerId) => ({ workerId, correction: null }))
  const correction = { reason: 'correction', disputeId: null } as const
  const scored = [
    ...(await scoreWorkers(tx, shortLived, lapsed === undefined ? [] : [lapsed], lately)),
    ...(await scoreWorkers(tx, renewing, all, now)),
    ...(await scoreWorkers(tx, renewing, due(sampleWorkers.superseded), now)),
    ...(await scoreWorkers(tx, renewing, due(sampleWorkers.revoked, correction), now)),
  ]
  return [scoredAction(scored)]
}

const secondMs = 1_000

interface DemoKey {
  signer: Signer
  /** The key's activation time: no credential of the demo is dated earlier. */
  since: Date
  /** True if this call created the key. */
  isNew: boolean
}

/**
 * Returns the active key, or creates the first one. The caller holds the lock on the signing keys.
 * Throws `KeyRefused` if a key exists that this process cannot sign with. The key is the active key
 * of the deployment. If the database has no key, the demo creates one and dates it back.
 */
async function ensureDemoKey(tx: Tx, keysFolder: string, now: Date): Promise<DemoKey> {
  const keys = await findKeys(tx)
  const signers = await readSigners(keysFolder)
  const active = keys.find((key) => key.state === 'active')
  if (active !== undefined) {
    const signer = signers.get(active.kid)
    if (signer === undefined)
      throw new KeyRefused(
        `The demo signs with the active key ${active.kid}, and ${keysFolder} does not hold it.`,
      )
    return { signer, since: active.activatedAt ?? now, isNew: false }
  }
  if (keys.some((key) => key.state === 'pending'))
    throw new KeyRefused('No signing key is active, but one is pending: `assay keys rotate`.')
  const signer = (keys.length === 0 && firstOf(signers)) || (await newSigner(keysFolder))
  return { signer, since: await register(tx, signer, now), isNew: true }
}

/** Reuses the key file that an interrupted start or an older database left without a key. */
function firstOf(signers: Map<string, Signer>): Signer | undefined {
  return signers.values().next().value
}

async function newSigner(keysFolder: string): Promise<Signer> {
  const kid = await makeKeyFile(keysFolder)
  const signer = (await readSigners(keysFolder)).get(kid)
  if (signer === undefined) throw new Error(`${keysFolder}: the key ${kid} was removed meanwhile`)
  return signer
}

async function register(tx: Tx, { kid }: Signer, now: Date): Promise<Date> {
  const publicKey = publicKeyOfKid(kid)
  if (publicKey === null) throw new KeyRefused(`${kid} is not an Ed25519 key id`)
  const since = new Date(now.getTime() - keyDaysAgo * 86_400_000)
  const dates = { createdAt: since, activatedAt: since, retiredAt: null, revokedAt: null }
  await insertKey(tx, { kid, publicKey, state: 'active', ...dates })
  return since
}
