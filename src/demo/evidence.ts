/** Pure: the evidence of the demo's workers and its sources. Every run produces the same items. */
import { hash } from 'node:crypto'
import type { EvidenceLine, SourceLine } from '../scoring/evidence/schema.ts'
import type { SkillEvidence } from './sandbox/fictional-workers.ts'
import { dayAgo } from './scenario.ts'
import type { DemoWorker } from './workers.ts'

const employers = {
  harbour: 'Harbour Lane Software',
  freight: 'Two Rivers Freight',
  kitchen: 'The Copper Ladle',
  clinic: 'Saint Elm Clinic',
  ledger: 'Ledger and Larch',
  college: 'Millpond College',
  studio: 'Studio Halfmoon',
  craft: 'Ironwood Craft Works',
  chambers: 'Chambers at Fox Court',
  fields: 'Long Acre Fields',
}

export const demoSources: readonly SourceLine[] = [
  ...Object.entries(employers).map(
    ([id, name]): SourceLine => ({
      id: `demo-${id}`,
      name: `${name} (fictional)`,
      kind: 'organisation',
      group: `demo-${id}`,
    }),
  ),
  source('clients', 'Clients of freelancers', 'organisation'),
  source('guild-exams', 'Guild of Examiners', 'accredited'),
  source('open-exams', 'Open Skills Examinations', 'accredited'),
  source('checks', 'Checks that a machine repeats', 'machine_verified'),
  source('peers-east', 'Colleagues, east', 'verified_peer'),
  source('peers-west', 'Colleagues, west', 'verified_peer'),
  { id: 'demo-hearsay', name: 'Word of mouth (fictional)', kind: 'unverified_peer' },
  { id: 'demo-claims', name: 'What people say of themselves (fictional)', kind: 'self' },
]

function source(id: string, name: string, kind: SourceLine['kind']): SourceLine {
  return { id: `demo-${id}`, name: `${name} (fictional)`, kind, group: `demo-${id}` }
}

/** The possible sources of each evidence type. `null` stands for the worker's employer. */
const sourcesByType: Record<string, readonly (string | null)[]> = {
  assessment: ['demo-open-exams', 'demo-checks', 'demo-guild-exams'],
  credential: ['demo-guild-exams'],
  employment_record: [null],
  observation: [null, null, 'demo-clients'],
  work_product: [null, 'demo-clients', 'demo-checks'],
  peer_review: ['demo-peers-east', 'demo-peers-west', 'demo-peers-east', 'demo-hearsay'],
}

export interface DemoEvidence {
  /** Days between the observation and the seeding. */
  daysAgo: number
  line: EvidenceLine
}

/** Evidence types by skill id. */
export type TypesOfSkills = ReadonlyMap<string, readonly string[]>

/** Returns the evidence of one worker, skill by skill, and last the worker's own claim. */
export function evidenceOf(
  worker: DemoWorker,
  types: TypesOfSkills,
  seededAt: Date,
): DemoEvidence[] {
  const items = worker.career.flatMap((strand) =>
    Array.from({ length: strand.items }, (_, i) => itemOf(worker, strand, { i, types })),
  )
  const [first] = worker.career
  const claims = first === undefined ? [] : [claimOf(worker, first, types)]
  return [...items, ...claims].map(({ daysAgo, ...item }, i) => {
    const { username } = worker
    const name = { username, externalId: `${username}-${i + 1}` }
    return { daysAgo, line: { ...name, ...item, observedOn: dayAgo(seededAt, daysAgo) } }
  })
}

type Item = Omit<EvidenceLine, 'username' | 'externalId' | 'observedOn'> & { daysAgo: number }

/** Returns item `i` of a skill: one item in about 80 days, newest first, near the skill's value. */
function itemOf(
  { username, employer }: DemoWorker,
  { slug, value, daysAgo }: SkillEvidence,
  { i, types }: { i: number; types: TypesOfSkills },
): Item {
  const [a, b, c] = numbersOf(`${username} ${slug} ${i}`)
  const skillId = `hss:${slug}`
  const type = typeAt(types, skillId, i + (a % 2))
  const from = sourcesByType[type] ?? [null]
  return {
    sourceId: from[b % from.length] ?? employer,
    skillId,
    type,
    value: Math.min(1_000, value - 60 + (c % 121)),
    daysAgo: daysAgo + 5 + i * 80 + (a % 75),
    ...(type === 'work_product' && { private: { notes: `Piece of work ${i + 1}. Fictional.` } }),
  }
}

function claimOf({ username }: DemoWorker, { slug }: SkillEvidence, types: TypesOfSkills): Item {
  const [a] = numbersOf(username)
  const skillId = `hss:${slug}`
  const type = typeAt(types, skillId, 0)
  return { sourceId: 'demo-claims', skillId, type, value: 950, daysAgo: 20 + (a % 200) }
}

function typeAt(types: TypesOfSkills, skillId: string, i: number): string {
  const known = types.get(skillId) ?? []
  const type = known[i % known.length]
  if (type === undefined) throw new Error(`${skillId} is not a skill of the vocabulary`)
  return type
}

/** Returns three pseudo-random numbers that depend on `text` alone. */
function numbersOf(text: string): readonly [number, number, number] {
  const bytes = hash('sha256', text, 'buffer')
  return [bytes.readUInt16BE(0), bytes.readUInt16BE(2), bytes.readUInt16BE(4)]
}
