/**
 * Tells the story through the verbs that operators use, each at its day: people are registered, their evidence comes in, scores are
 * computed and issued, and some of it is taken back. All within the caller's transaction.
 */
import type { Action } from '../audit/actions.ts'
import { openDispute } from '../disputes/open-dispute.ts'
import { readEvidenceLine } from '../evidence/evidence-line.ts'
import { ingestEvidence } from '../evidence/ingest-evidence.ts'
import { registerSource } from '../evidence/register-source.ts'
import { readSourceLine } from '../evidence/source-line.ts'
import { findEvidenceByName } from '../evidence/store.ts'
import type { Tx } from '../platform/db/db.ts'
import type { Fault } from '../platform/json/shape-fault.ts'
import { changeConsent, moveIdentity, registerWorkers } from '../scores/keep-sharing.ts'
import { revokeAndRescore } from '../scores/revoke-evidence.ts'
import { type ScoredWorker, scoreWorkers } from '../scores/score-workers.ts'
import type { Scoring } from '../scores/scoring.ts'
import { readRegistration } from '../workers/registration.ts'
import { type DemoEvidence, demoSources } from './evidence.ts'
import type { DemoPerson } from './people.ts'
import { chapterDays, disputing, lapsed, revokedEvidence, withdrawn } from './story.ts'

/** Who does it all, as kept with each change. */
const by = 'demo'

export interface Stage {
  scoring: Scoring
  people: readonly Member[]
  /** The time at which a day of the story is. */
  at(daysAgo: number): Date
}

export interface Member {
  person: DemoPerson
  /** A line of `people.ndjson`. */
  line: unknown
  evidence: readonly DemoEvidence[]
}

/** What has been done so far. */
interface Told {
  workerIds: Map<string, string>
  evidenceIds: string[]
  scored: ScoredWorker[]
  turns: Action[]
}

/** Gives what the audit log is to say of it. */
export async function tellStory(tx: Tx, stage: Stage): Promise<Action[]> {
  const told: Told = { workerIds: new Map(), evidenceIds: [], scored: [], turns: [] }
  await registerSources(tx, stage)
  const steps = [
    ...chapterDays.map((daysAgo) => ({ daysAgo, happens: tellChapter })),
    { daysAgo: withdrawn.daysAgo, happens: withdrawConsent },
    { daysAgo: revokedEvidence.daysAgo, happens: revokeEvidence },
    { daysAgo: disputing.daysAgo, happens: disputeScore },
  ]
  for (const { daysAgo, happens } of steps.sort((a, b) => b.daysAgo - a.daysAgo))
    await happens(tx, { ...stage, told, daysAgo })
  return actionsOf(told)
}

interface Scene extends Stage {
  told: Told
  daysAgo: number
}

async function registerSources(tx: Tx, { at }: Stage): Promise<void> {
  const [first] = chapterDays
  for (const line of demoSources)
    accepted(
      await registerSource(tx, accepted(readSourceLine(line)), { actor: by, now: at(first) }),
    )
}

/** Those who have joined by then, with what they have to show by then, that no earlier chapter told of. */
async function tellChapter(tx: Tx, scene: Scene): Promise<void> {
  const { scoring, people, told, daysAgo, at } = scene
  const before = chapterDays[chapterDays.findIndex((day) => day === daysAgo) - 1] ?? Infinity
  const isNew = (day: number): boolean => day >= daysAgo && day < before
  const now = at(daysAgo)
  const arrivals = people.filter(({ person }) => isNew(person.joinedDaysAgo))
  await register(tx, arrivals, scene)
  const lines = people.flatMap(({ person, evidence }) =>
    evidence
      .filter((item) => isNew(Math.min(item.daysAgo, person.joinedDaysAgo)))
      .map(({ line }) => accepted(readEvidenceLine(line))),
  )
  const ingested = await ingestEvidence(tx, lines, { vocabulary: scoring.vocabulary, now })
  told.evidenceIds.push(...ingested.map((one) => accepted(one).evidenceId))
  const isLast = daysAgo === chapterDays.at(-1)
  const concerned = new Set(lines.map(({ username = '' }) => username))
  const due = [...told.workerIds].filter(([username]) => isLast || concerned.has(username))
  const workers = due.map(([, workerId]) => ({ workerId, correction: null }))
  told.scored.push(...(await scoreWorkers(tx, scoring, workers, now)))
}

async function register(
  tx: Tx,
  arrivals: readonly Member[],
  { told, daysAgo, at }: Scene,
): Promise<void> {
  const now = at(daysAgo)
  const registrations = arrivals.map(({ line }) => accepted(readRegistration(line, now)))
  const registered = await registerWorkers(tx, registrations, { by, at: now })
  for (const [i, { person }] of arrivals.entries()) {
    const { workerId } = accepted(registered[i] ?? { refused: { field: null, reason: 'is lost' } })
    told.workerIds.set(person.username, workerId)
  }
  if (arrivals.some(({ person }) => person.username === lapsed.username))
    await checkIdentity(tx, idOf(told, lapsed.username), { now, until: at(lapsed.daysAgo) })
}

/** The check counts until then and no longer. */
export async function checkIdentity(
  tx: Tx,
  workerId: string,
  { now, until }: { now: Date; until: Date },
): Promise<void> {
  await moveIdentity(tx, { move: 'verify', workerId, until }, { by, at: now })
}

async function withdrawConsent(tx: Tx, { told, daysAgo, at }: Scene): Promise<void> {
  const permission = 'score_sharing'
  const wish = { permission, textVersion: null } as const
  await changeConsent(tx, withdrawn.username, { ...wish, by, at: at(daysAgo) })
  const subjects = [idOf(told, withdrawn.username)]
  told.turns.push({ action: 'consent.withdrawn', subjects, details: { permission } })
}

async function revokeEvidence(tx: Tx, { scoring, people, told, daysAgo, at }: Scene) {
  const { evidence = [] } =
    people.find(({ person }) => person.username === revokedEvidence.username) ?? {}
  // The last of all is a claim, on which nothing rests.
  const names = evidence.slice(-revokedEvidence.items - 1, -1).map(({ line }) => line)
  const found = await findEvidenceByName(tx, names)
  const ids = found.map(({ evidenceId }) => evidenceId)
  const reason = 'source_invalid'
  const revocation = { reason, actor: by, now: at(daysAgo) } as const
  const { revoked, scored } = await revokeAndRescore(tx, scoring, ids, revocation)
  told.scored.push(...scored)
  told.turns.push({ action: 'evidence.revoked', subjects: revoked, details: { reason } })
}

async function disputeScore(tx: Tx, { told, daysAgo, at }: Scene): Promise<void> {
  const workerId = idOf(told, disputing.username)
  const wish = {
    workerId,
    kind: 'score',
    evidenceIds: [],
    restricted: true,
    exclude: false,
  } as const
  const circumstances = { actor: by, now: at(daysAgo), dueAt: at(disputing.dueDaysAgo) }
  const opening = await openDispute(tx, wish, circumstances)
  if (opening.outcome !== 'opened') throw new Error(`the dispute of the demo: ${opening.outcome}`)
  const details = { kind: wish.kind, restricted: wish.restricted, excluded: 0 }
  told.turns.push({ action: 'disputes.opened', subjects: [opening.dispute.id], details })
}

function idOf({ workerIds }: Told, username: string): string {
  const workerId = workerIds.get(username)
  if (workerId === undefined) throw new Error(`the story has not told of ${username} yet`)
  return workerId
}

/** The story's own lines are right: a refusal is our defect, or somebody has taken a name of the demo. */
function accepted<Answer extends object>(answer: Answer): Exclude<Answer, Refused> {
  if (!isRefused(answer)) return answer as Exclude<Answer, Refused>
  const { field, reason } = answer.refused
  throw new Error(`the story of the demo: ${field ?? 'a line'} ${reason}`)
}

type Refused = { refused: Fault }

function isRefused<Answer extends object>(answer: Answer): answer is Extract<Answer, Refused> {
  return 'refused' in answer
}

function actionsOf({ workerIds, evidenceIds, scored, turns }: Told): Action[] {
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
    ...turns,
  ]
}

export function scoredAction(scored: readonly ScoredWorker[]): Action {
  const countOf = (outcome: ScoredWorker['outcome']) =>
    scored.filter((one) => one.outcome === outcome).length
  return {
    action: 'scores.recomputed',
    subjects: firstAndLast(scored.map(({ workerId }) => workerId)),
    details: {
      count: scored.length,
      issued: countOf('issued'),
      withdrawn: countOf('withdrawn'),
      unscorable: countOf('unscorable'),
    },
  }
}

function firstAndLast(ids: readonly string[]): string[] {
  return [...ids.slice(0, 1), ...ids.slice(1).slice(-1)]
}
