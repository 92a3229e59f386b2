/** The operation that explains a score item by item, for the operator. */
import { Type } from 'typebox'
import { flagField, orNull } from '../../operations/fields.ts'
import { operationsFor } from '../../operations/operation.ts'
import type { Queryable } from '../../platform/db/db.ts'
import { type Refusal, refuse } from '../../platform/errors.ts'
import { closedObject } from '../../platform/json/closed-object.ts'
import { findWorkerId } from '../../workers/api.ts'
import { unknownWorker, usernamePattern } from '../../workers/username.ts'
import { dateOfDay } from '../core/civil-date.ts'
import type { Evidence, ScoreInput } from '../core/evidence.ts'
import { evidenceMax } from '../core/parameters.ts'
import { findExpiryDays, findWorkerEvidence } from '../evidence/store.ts'
import { EngineRefused, type PastEngine } from './engine.ts'
import { findSnapshot } from './history-store.ts'
import { daysMax, endsOnDay, isPublished, skillEndsOnDay } from './issue-rule.ts'
import { inputOf, MakersMissing, openMakers } from './replay.ts'
import type { ScoringRules } from './scoring.ts'
import { findActiveSnapshots } from './store.ts'

export interface ExplainServices {
  /** The rules of this release. Refused if the engine is. */
  scoringRules(): Promise<ScoringRules | Refusal<'scoring_unavailable'>>
}

const { read } = operationsFor<ExplainServices>()

const points = Type.Integer({ minimum: 0, maximum: 1_000 })
const pointsOrNull = orNull(points, 'Null if there is too little evidence.')
const name = orNull(Type.String(), 'Null if there is too little evidence.')
const count = Type.Integer()
const date = Type.String({ format: 'date' })
const estimate = { score: pointsOrNull, low: pointsOrNull, high: pointsOrNull }

const item = closedObject({
  id: Type.String(),
  skillId: Type.String(),
  type: Type.String(),
  group: Type.String(),
  value: points,
  assurance: points,
  observedOn: date,
  reason: orNull(Type.String(), 'The reason why the item does not count, or null.'),
  weight: Type.Integer({ description: 'In millionths of an item.' }),
  share: Type.Integer({ description: 'What is left of 1,048,576 at the age of the item.' }),
  mass: Type.Integer({ description: 'Its part of the mass of the skill, times 1,048,576.' }),
  pull: Type.Integer({ description: 'Its pull at the score of the skill, times 1,048,576.' }),
  effect: orNull(Type.Integer(), 'The score of the worker minus the score without the item.'),
  halvesInDays: orNull(count, 'Null if the item does not decay or does not count.'),
})

const raise = closedObject({ type: Type.String(), value: points, low: points, workerScore: points })

const skill = closedObject({
  skillId: Type.String(),
  ...estimate,
  cautious: pointsOrNull,
  mass: count,
  freshMass: count,
  level: name,
  verified: Type.Boolean(),
  rest: Type.Integer({ description: 'The sum of the pulls at the score.' }),
  endsOn: orNull(date, 'The day from which it has no score without new evidence, or null.'),
  raise: orNull(raise, 'The addition that raises `low` most, or null if none gives a score.'),
})

const explanation = closedObject({
  snapshotId: orNull(Type.String(), 'Null if the score was not issued.'),
  workerId: Type.String(),
  asOf: date,
  engine: closedObject({ version: Type.String(), binarySha256: Type.String() }),
  result: closedObject({ ...estimate, band: name, evidenceCount: count, sourceCount: count }),
  endsOn: orNull(date, 'The day on which the score is withdrawn without new evidence, or null.'),
  skills: Type.Array(skill),
  items: Type.Array(item),
})

export const scoresExplain = read({
  name: 'scores explain',
  http: 'GET /scores/{score}/explanation',
  summary: 'Explain a score, item by item',
  who: { operator: 'support' },
  path: {
    score: Type.String({
      pattern: `${usernamePattern}|^[0-9a-f]{64}$`,
      description: 'must be a username, or the id of a score',
      oneSpelling: (text: string) =>
        /^[0-9a-f]{64}$/i.test(text) ? text.toLowerCase() : text.replace(/^@/, ''),
    }),
  },
  input: { now: flagField('what the evidence of the worker gives today') },
  output: explanation,
  refusals: [
    'invalid_field',
    'worker_not_found',
    'score_not_found',
    'score_makers_missing',
    'scoring_unavailable',
  ],
  example: { score: 'ada-lovelace', now: true },
  async run(db, { score, now: isNow }, { now, services }) {
    const rules = await services.scoringRules()
    if ('refusal' in rules) return rules
    if (/^[0-9a-f]{64}$/.test(score)) {
      if (!isNow) return explainStored(db, Buffer.from(score, 'hex'), rules)
      const message = 'now explains a worker. Use a username instead of the id of a score.'
      return refuse('invalid_field', { message })
    }
    const workerId = await findWorkerId(db, score)
    if (workerId === null) return unknownWorker(score)
    if (isNow) return explainNow(db, { workerId, rules, now })
    const [active] = await findActiveSnapshots(db, [workerId])
    if (active !== undefined) return explainStored(db, active.snapshotId, rules)
    const message = `${score} has no score. Add --now (now=true) to explain what its evidence gives today.`
    return refuse('score_not_found', { message })
  },
})

async function explainStored(db: Queryable, id: Buffer, rules: ScoringRules) {
  const snapshotId = id.toString('hex')
  const stored = await findSnapshot(db, id)
  if (stored === undefined) {
    const message = `No score has the id ${snapshotId}, or its evidence was erased with its worker.`
    return refuse('score_not_found', { message })
  }
  try {
    const { engine, vocabulary } = await openMakers(db)(stored)
    const { workerId } = stored
    return await explained(db, engine, inputOf(stored, vocabulary), { snapshotId, workerId, rules })
  } catch (error) {
    if (!(error instanceof MakersMissing || error instanceof EngineRefused)) throw error
    const message = `The score ${snapshotId} cannot be explained: ${error.message}.`
    return refuse('score_makers_missing', { message })
  }
}

/** Evidence that no longer counts is shown as excluded. */
async function explainNow(
  db: Queryable,
  { workerId, rules, now }: { workerId: string; rules: ScoringRules; now: Date },
) {
  const found = await findWorkerEvidence(db, [workerId])
  const evidence = found.map(
    ({ state, ...rest }): Evidence => ({ ...rest, excluded: state !== 'active' }),
  )
  if (evidence.length > evidenceMax) {
    const message = `The worker has ${evidence.length} items. The engine scores at most ${evidenceMax}.`
    return refuse('score_not_found', { message })
  }
  const asOfDay = Math.floor(now.getTime() / 86_400_000)
  const input = { evidence, vocabulary: rules.vocabulary, asOfDay }
  return explained(db, rules.engine, input, { snapshotId: null, workerId, rules })
}

async function explained(
  db: Queryable,
  engine: PastEngine,
  input: ScoreInput,
  { rules, ...named }: { snapshotId: string | null; workerId: string; rules: ScoringRules },
) {
  const { result, ...parts } = engine.explain(input)
  const { issueRule } = rules
  const ids = input.evidence.map(({ id }) => id)
  const expiryDays = await findExpiryDays(db, ids)
  const future = { score: engine.score, input, expiryDays, daysMax }
  const ends = isPublished(result, issueRule) ? endsOnDay(future, issueRule) : null
  const { skills: scores, ...whole } = result
  const evidence = new Map(input.evidence.map((one) => [one.id, one]))
  const items = parts.items.flatMap((part) => {
    const of = evidence.get(part.id)
    if (of === undefined) return []
    const { type, group, value, assurance, observedDay } = of
    return { ...part, type, group, value, assurance, observedOn: dateOfDay(observedDay) }
  })
  const skills = parts.skills.flatMap(({ endsOnDay: last, ...part }) => {
    const score = scores.find(({ skillId }) => skillId === part.skillId)
    if (score === undefined) return []
    const day = score.score === null ? null : skillEndsOnDay(future, part.skillId, last)
    return { ...score, ...part, endsOn: dateOrNull(day) }
  })
  const { version, binarySha256 } = engine
  return {
    ...named,
    asOf: dateOfDay(input.asOfDay),
    engine: { version, binarySha256 },
    result: whole,
    endsOn: dateOrNull(ends),
    skills,
    items,
  }
}

function dateOrNull(day: number | null): string | null {
  return day === null ? null : dateOfDay(day)
}
