/**
 * Seeds the demo's history with the verbs that operators use, each dated to its day: registers
 * workers, imports evidence, computes scores, issues credentials, and revokes some of them.
 * Everything runs in the caller's transaction.
 */
import type { Action } from '../audit/actions.ts'
import type { Tx } from '../platform/db/db.ts'
import type { Fault } from '../platform/json/shape-fault.ts'
import { findEvidenceByName, registerSource } from '../scoring/api.ts'
import { openDispute } from '../scoring/disputes/open-dispute.ts'
import { readEvidenceLine } from '../scoring/evidence/evidence-line.ts'
import { ingestEvidence } from '../scoring/evidence/ingest-evidence.ts'
import { readSourceLine } from '../scoring/evidence/source-line.ts'
import { changeConsent, moveIdentity, registerWorkers } from '../scoring/scores/keep-sharing.ts'
import { revokeAndRescore } from '../scoring/scores/revoke-evidence.ts'
import { type ScoredWorker, scoreWorkers } from '../scoring/scores/score-workers.ts'
import type { Scoring } from '../scoring/scores/scoring.ts'
import { readRegistration } from '../workers/registration.ts'
import { type DemoEvidence, demoSources } from './evidence.ts'
import { disputing, importDays, lapsed, revokedEvidence, withdrawn } from './scenario.ts'
import type { DemoWorker } from './workers.ts'

/** The actor recorded with each change. */
const by = 'demo'

export interface SeedOptions {
  scoring: Scoring
  workers: readonly Member[]
  /** Returns the date and time of a day of the scenario. */
  at(daysAgo: number): Date
}

export interface Member {
  worker: DemoWorker
  /** A line of `people.ndjson`. */
  line: unknown
  evidence: readonly DemoEvidence[]
}

/** The records created so far. */
interface Progress {
  workerIds: Map<string, string>
  evidenceIds: string[]
  scored: ScoredWorker[]
  actions: Action[]
}

/** Returns the actions for the audit log. */
export async function seedHistory(tx: Tx, options: SeedOptions): Promise<Action[]> {
  const progress: Progress = { workerIds: new Map(), evidenceIds: [], scored: [], actions: [] }
  await registerSources(tx, options)
  const steps = [
    ...importDays.map((daysAgo) => ({ daysAgo, run: importAndScore })),
    { daysAgo: withdrawn.daysAgo, run: withdrawConsent },
    { daysAgo: revokedEvidence.daysAgo, run: revokeEvidence },
    { daysAgo: disputing.daysAgo, run: disputeScore },
  ]
  for (const { daysAgo, run } of steps.sort((a, b) => b.daysAgo - a.daysAgo))
    await run(tx, { ...options, progress, daysAgo })
  return actionsOf(progress)
}

interface Step extends SeedOptions {
  progress: Progress
  daysAgo: number
}

async function registerSources(tx: Tx, { at }: SeedOptions): Promise<void> {
  const [first] = importDays
  for (const line of demoSources)
    accepted(
      await registerSource(tx, accepted(readSourceLine(line)), { actor: by, now: at(first) }),
    )
}

/**
 * Registers the workers and imports the evidence dated since the previous import day, then scores
 * the affected workers. The last import day scores all workers.
 */
async function importAndScore(tx: Tx, step: Step): Promise<void> {
  const { scoring, workers, progress, daysAgo, at } = step
  const before = importDays[importDays.findIndex((day) => day === daysAgo) - 1] ?? Infinity
  const isNew = (day: number): boolean => day >= daysAgo && day < before
  const now = at(daysAgo)
  const arrivals = workers.filter(({ worker }) => isNew(worker.joinedDaysAgo))
  await register(tx, arrivals, step)
  const lines = workers.flatMap(({ worker, evidence }) =>
    evidence
      .filter((item) => isNew(Math.min(item.daysAgo, worker.joinedDaysAgo)))
      .map(({ line }) => accepted(readEvidenceLine(line))),
  )
  const ingested = await ingestEvidence(tx, lines, { vocabulary: scoring.vocabulary, now })
  progress.evidenceIds.push(...ingested.map((one) => accepted(one).evidenceId))
  const isLast = daysAgo === importDays.at(-1)
  const affected = new Set(lines.map(({ username = '' }) => username))
  const due = [...progress.workerIds].filter(([username]) => isLast || affected.has(username))
  const dueWorkers = due.map(([, workerId]) => ({ workerId, correction: null }))
  progress.scored.push(...(await scoreWorkers(tx, scoring, dueWorkers, now)))
}

async function register(
  tx: Tx,
  arrivals: readonly Member[],
  { progress, daysAgo, at }: Step,
): Promise<void> {
  const now = at(daysAgo)
  const registrations = arrivals.map(({ line }) => accepted(readRegistration(line, now)))
  const registered = await registerWorkers(tx, registrations, { by, at: now })
  for (const [i, { worker }] of arrivals.entries()) {
    const { workerId } = accepted(registered[i] ?? { refused: { field: null, reason: 'is lost' } })
    progress.workerIds.set(worker.username, workerId)
  }
  if (arrivals.some(({ worker }) => worker.username === lapsed.username))
    await checkIdentity(tx, idOf(progress, lapsed.username), { now, until: at(lapsed.daysAgo) })
}

/** Records an identity check that is valid until `until`. */
export async function checkIdentity(
  tx: Tx,
  workerId: string,
  { now, until }: { now: Date; until: Date },
): Promise<void> {
  await moveIdentity(tx, { move: 'verify', workerId, until }, { by, at: now })
}

async function withdrawConsent(tx: Tx, { progress, daysAgo, at }: Step): Promise<void> {
  const permission = 'score_sharing'
  const request = { permission, textVersion: null } as const
  await changeConsent(tx, withdrawn.username, { ...request, by, at: at(daysAgo) })
  const subjects = [idOf(progress, withdrawn.username)]
  progress.actions.push({ action: 'consent.withdrawn', subjects, details: { permission } })
}

async function revokeEvidence(tx: Tx, { scoring, workers, progress, daysAgo, at }: Step) {
  const { evidence = [] } =
    workers.find(({ worker }) => worker.username === revokedEvidence.username) ?? {}
  // The last item is the worker's own claim, which has no effect on the score.
  const names = evidence.slice(-revokedEvidence.items - 1, -1).map(({ line }) => line)
  const found = await findEvidenceByName(tx, names)
  const ids = found.map(({ evidenceId }) => evidenceId)
  const reason = 'source_invalid'
  const revocation = { reason, actor: by, now: at(daysAgo) } as const
  const { revoked, scored } = await revokeAndRescore(tx, scoring, ids, revocation)
  progress.scored.push(...scored)
  progress.actions.push({ action: 'evidence.revoked', subjects: revoked, details: { reason } })
}

async function disputeScore(tx: Tx, { progress, daysAgo, at }: Step): Promise<void> {
  const workerId = idOf(progress, disputing.username)
  const request = {
    workerId,
    kind: 'score',
    evidenceIds: [],
    restricted: true,
    exclude: false,
  } as const
  const action = { actor: by, now: at(daysAgo), dueAt: at(disputing.dueDaysAgo) }
  const opened = await openDispute(tx, request, action)
  if ('refusal' in opened) throw new Error(`the dispute of the demo: ${opened.refusal}`)
  const details = { kind: request.kind, restricted: request.restricted, excluded: 0 }
  progress.actions.push({ action: 'disputes.opened', subjects: [opened.id], details })
}

function idOf({ workerIds }: Progress, username: string): string {
  const workerId = workerIds.get(username)
  if (workerId === undefined) throw new Error(`the demo has not registered ${username} yet`)
  return workerId
}

/** Throws on a refusal: the demo's data has a defect, or another worker has a name of the demo. */
function accepted<Answer extends object>(answer: Answer): Exclude<Answer, Refused> {
  if (!isRefused(answer)) return answer as Exclude<Answer, Refused>
  const { field, reason } = answer.refused
  throw new Error(`the demo cannot be seeded: ${field ?? 'a line'} ${reason}`)
}

type Refused = { refused: Fault }

function isRefused<Answer extends object>(answer: Answer): answer is Extract<Answer, Refused> {
  return 'refused' in answer
}

function actionsOf({ workerIds, evidenceIds, scored, actions }: Progress): Action[] {
  const ids = [...workerIds.values()]
  const sources = demoSources.map(({ id }) => id)
  const registered = { registered: sources.length, changed: 0 }
  return [
    { action: 'sources.registered', subjects: sources, details: registered },
    { action: 'workers.imported', subjects: ids, details: { created: ids.length, updated: 0 } },
    {
      action: 'evidence.imported',
      subjects: firstAndLast(evidenceIds),
      details: { count: evidenceIds.length },
    },
    scoredAction(scored),
    ...actions,
  ]
}

export function scoredAction(scored: readonly ScoredWorker[]): Action {
  const countOf = (effect: ScoredWorker['effect']) =>
    scored.filter((one) => one.effect === effect).length
  return {
    action: 'scores.recomputed',
    subjects: firstAndLast(scored.map(({ workerId }) => workerId)),
    details: {
      count: scored.length,
      issued: countOf('issued'),
      reissued: countOf('reissued'),
      withdrawn: countOf('withdrawn'),
      unscorable: countOf('unscorable'),
    },
  }
}

function firstAndLast(ids: readonly string[]): string[] {
  return [...ids.slice(0, 1), ...ids.slice(1).slice(-1)]
}
