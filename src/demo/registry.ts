/** What the demo puts into the registry, all in one transaction: the key, where there is none, and the story, once for each address. */
import type { Action } from '../audit/actions.ts'
import { operator, recordAction } from '../audit/record.ts'
import type { Db, Queryable, Tx } from '../platform/db/db.ts'
import { lockKeys } from '../score-credentials/key-store.ts'
import { originOf } from '../score-credentials/payload.ts'
import type { RegisteredCredential } from '../score-credentials/store.ts'
import type { Engine } from '../scores/engine.ts'
import { issueRuleOf, scoringRulesOf } from '../scores/scoring.ts'
import { scoringVocabulary } from '../scores/scoring-vocabulary.ts'
import type { Vocabulary } from '../skill-standard/catalog.ts'
import { findWorkers } from '../workers/store.ts'
import { dayMs } from './days.ts'
import { type DemoKey, demoKey } from './demo-key.ts'
import { evidenceOf } from './evidence.ts'
import { findLessons } from './lessons.ts'
import { demoPeople, personLine } from './people.ts'
import { heroes, keyDaysAgo, type Lesson, lessons, validityDays } from './story.ts'
import { tellAgain } from './tell-again.ts'
import { type Member, tellStory } from './tell-story.ts'

export interface Telling {
  publicUrl: string
  keysFolder: string
  engine: Engine
  records: Vocabulary['records']
  /** A whole second. */
  now: Date
}

export interface ToldStory {
  /** As they were registered. */
  members: readonly Member[]
  credentials: ReadonlyMap<Lesson, RegisteredCredential>
}

/** The story as the registry has it; told now where it has not been. */
export function toldStory(db: Db, telling: Telling): Promise<ToldStory> {
  const { publicUrl, records, now } = telling
  const origin = originOf(publicUrl)
  return db.transaction(async (tx) => {
    // Two processes that start at once must not both make a key.
    await lockKeys(tx)
    const before = await toldAt(tx)
    const members = membersOf(records, before ?? now)
    const found = await findLessons(tx, origin, now)
    if (isWhole(found, now)) return { members, credentials: found }
    const key = await demoKey(tx, telling.keysFolder, now)
    const scoring = scoringOf(telling, key)
    const times = timesOf(key, now)
    const done: Action[] = key.isNew ? [keyCreated(key)] : []
    if (before === null)
      done.push(...(await tellStory(tx, { scoring, people: members, at: times.at })))
    let credentials = await findLessons(tx, origin, now)
    // Nothing that a young key signed has expired yet.
    if (!isWhole(credentials, now)) {
      done.push(...(await tellAgain(tx, scoring, { lately: times.lately, now })))
      credentials = await findLessons(tx, origin, now)
    }
    await record(tx, done, now)
    return { members, credentials }
  })
}

/** When the story was told, or null: its evidence is dated from there. Anybody of it who is still there knows. */
async function toldAt(db: Queryable): Promise<Date | null> {
  const joined = new Map(demoPeople.map(({ username, joinedDaysAgo }) => [username, joinedDaysAgo]))
  for (const { externalId, termsAcceptedAt } of await findWorkers(db, {
    externalIds: [...joined.keys()],
  })) {
    const daysAgo = joined.get(externalId ?? '')
    if (termsAcceptedAt !== null && daysAgo !== undefined)
      return new Date(termsAcceptedAt.getTime() + daysAgo * dayMs)
  }
  return null
}

function membersOf(records: Telling['records'], at: Date): Member[] {
  const labels = new Map(records.map(({ id, label }) => [id, label]))
  const types = new Map(
    records.map(({ id, evidence_types }) => [id, evidence_types.map(({ type }) => type)]),
  )
  return demoPeople.map((person) => ({
    person,
    line: personLine(person, labels, at),
    evidence: evidenceOf(person, types, at),
  }))
}

/** What teaches must go on to do so for a while. */
const staysDays = 60

function isWhole(found: ToldStory['credentials'], now: Date): boolean {
  const until = new Date(now.getTime() + staysDays * dayMs)
  const lasts = (lesson: Lesson) => (found.get(lesson)?.validUntil ?? now) > until
  return (Object.keys(heroes) as Lesson[]).every((lesson) =>
    lessons[lesson].reason === 'expired' ? found.has(lesson) : lasts(lesson),
  )
}

/** The defaults of the settings, whatever they are here: the story needs its scores. */
const settings = {
  scoreEvidenceMin: 3,
  scoreGroupsMin: 2,
  credentialValidityDays: validityDays,
}

function scoringOf({ publicUrl, engine, records }: Telling, { signer }: DemoKey) {
  const rules = scoringRulesOf(engine, scoringVocabulary(records), issueRuleOf(settings))
  const origin = originOf(publicUrl)
  return { ...rules, issuer: { origin, signer, validityDays, supersedeRevokes: false } }
}

/** Verification forgives five minutes to a clock, in `created` as in `validUntil`. */
const skewMs = 300_000

/** The days of the story are shorter where the operator's key is too young for it: nothing is signed before the key could have. */
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

/** What the demo does is in the audit log as if its operator had typed it, at the time when it was done. */
async function record(tx: Tx, done: readonly Action[], at: Date): Promise<void> {
  for (const one of done) await recordAction(tx, { ...one, actor: operator() }, at)
}
