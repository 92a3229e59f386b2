/**
 * Checks the promises of HSC-2 on 50,000 states each, and simulates workers whose true levels are
 * known. `docs/scoring-properties.md` quotes the tables. PROPERTY_STATES and SIMULATED_WORKERS set
 * the numbers of states and of workers a cell.
 */
import type { Evidence, SkillRule } from '../src/scoring/core/evidence.ts'
import { parameters } from '../src/scoring/core/parameters.ts'
import {
  ladder,
  type Skill,
  type SkillScore,
  skillOf,
  skillScoreOf,
} from '../src/scoring/core/score.ts'
import { type Draws, draws } from '../test/support/oracle/draws.ts'
import { firstFault, properties } from '../test/support/oracle/scoring-properties.ts'

const states = Number(process.env.PROPERTY_STATES ?? 50_000)
const workers = Number(process.env.SIMULATED_WORKERS ?? 4_000)
const asOfDay = 20_400
const weightPermille = { assessment: 350, work_product: 300, peer_review: 150, credential: 200 }
const types = Object.keys(weightPermille)
const rule: SkillRule = { halfLifeMonths: 24, weightPermille }

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** value = level + severity of the group + scatter, cut to 0–1000. */
interface Model {
  scatter: number
  severity: number
  /** Groups of a worker; by default 1 to 8. */
  groups?: number
  assurances?: readonly number[]
  ageDaysMax?: number
}

const model: Model = { scatter: 120, severity: 60 }

const models: Readonly<Record<string, Model>> = {
  'model 120/60': model,
  'scatter 80': { ...model, scatter: 80 },
  'scatter 160': { ...model, scatter: 160 },
  'severity 100': { ...model, severity: 100 },
  'both 160 and 100': { scatter: 160, severity: 100 },
  'mixed assurance': { ...model, assurances: [400, 700, 1_000] },
  'ages 0–4 years': { ...model, ageDaysMax: 1_461 },
  'one group': { ...model, groups: 1 },
}

function cut(value: number): number {
  return Math.max(0, Math.min(1_000, Math.round(value)))
}

/** The groups of a worker. They take turns, over all items of the worker. */
interface Groups {
  severities: readonly number[]
  turns: number
}

function groupsFor(draw: Draws, { severity, groups = 1 + draw(8) }: Model): Groups {
  return { severities: Array.from({ length: groups }, () => severity * draw.normal()), turns: 0 }
}

interface Given {
  level: number
  items: number
  skillId: string
  groups: Groups
  /** By default each type is drawn. */
  typesInTurn?: boolean
}

/** Returns the items of one skill of a worker. */
function simulated(
  draw: Draws,
  { level, items, skillId, groups, typesInTurn = false }: Given,
  { scatter, assurances = [1_000], ageDaysMax = 1 }: Model,
): Evidence[] {
  return Array.from({ length: items }, (_, at) => {
    const group = groups.turns++ % groups.severities.length
    const id = `${skillId}-${1_000 + at}`
    return {
      id,
      skillId,
      type: (typesInTurn ? types[at % types.length] : draw.of(types)) ?? '',
      group: `g${group}`,
      assurance: draw.of(assurances),
      value: cut(level + (groups.severities[group] ?? 0) + scatter * draw.normal()),
      observedDay: asOfDay - draw(ageDaysMax),
      digest: id,
    }
  })
}

let hasLayers = true

/** The score of the items of one skill. */
function skillScore(evidence: Evidence[]): SkillScore {
  const skill = skillOf(evidence, rule, asOfDay)
  return skillScoreOf('', hasLayers ? skill : withoutLayers(skill))
}

/** One layer holds all items, each with its whole weight, and the bounds are those of a full item. */
function withoutLayers(skill: Skill): Skill {
  const items = skill.items.map((item) => ({
    ...item,
    permille: item.permille * item.assurance,
    assurance: 1,
    massLimit: item.massLimit * 1_000,
    pullLimit: item.pullLimit * 1_000,
  }))
  return { ...skill, items, layers: [{ least: 0, height: 1 }] }
}

interface Coverage {
  scored: number
  covered: number
  width: number
  error: number
}

function coverageOf(of: Model, items: number, seed: number): Coverage {
  const draw = draws(seed)
  const sum: Coverage = { scored: 0, covered: 0, width: 0, error: 0 }
  for (let worker = 0; worker < workers; worker++) {
    const level = cut(500 + 150 * draw.normal())
    const groups = groupsFor(draw, of)
    const skill = skillScore(simulated(draw, { level, items, skillId: 'hss:s', groups }, of))
    if (skill.score === null) continue
    const { low, high } = skill as SkillScore & { low: number; high: number }
    sum.scored++
    if (low <= level && level <= high) sum.covered++
    sum.width += high - low
    sum.error += Math.abs(skill.score - level)
  }
  return sum
}

const itemCounts = [1, 2, 3, 6, 10, 20, 50]

function printCoverage(): void {
  print('\nRange: percent of workers whose true level it contains (mean width in points)')
  print(`| items | ${itemCounts.join(' | ')} |`)
  print(`|---|${itemCounts.map(() => '---').join('|')}|`)
  for (const [name, of] of Object.entries(models)) {
    const cells = itemCounts.map((items) => {
      const { scored, covered, width } = coverageOf(of, items, items)
      return `${((covered * 100) / scored).toFixed(1)} (${Math.round(width / scored)})`
    })
    print(`| ${name} | ${cells.join(' | ')} |`)
  }
}

const skillCounts = [1, 2, 3, 5, 10, 20, 50]

function printSelection(): void {
  print(
    '\nMany skills: score minus the ladder of the true levels ± standard error; percent of truths not below low',
  )
  print(`| skills | ${skillCounts.join(' | ')} |`)
  print(`|---|${skillCounts.map(() => '---').join('|')}|`)
  for (const [name, sd, items] of [
    ['all levels 500, 2 items a skill', 0, 2],
    ['all levels 500, 4 items', 0, 4],
    ['levels sd 100, 2 items', 100, 2],
    ['levels sd 100, 4 items', 100, 4],
  ] as const) {
    const cells = skillCounts.map((count) => selectionOf(count, { sd, items }))
    print(`| ${name} | ${cells.join(' | ')} |`)
  }
}

function selectionOf(count: number, { sd, items }: { sd: number; items: number }): string {
  const draw = draws(count * 100 + items)
  const biases: number[] = []
  let safe = 0
  for (let worker = 0; worker < workers; worker++) {
    const levels = Array.from({ length: count }, () => cut(500 + sd * draw.normal()))
    const groups = groupsFor(draw, model)
    const skills = levels.map((level, at) =>
      skillScore(
        simulated(draw, { level, items, skillId: `hss:s${at}`, groups, typesInTurn: true }, model),
      ),
    )
    const [whole, low] = [ladder(skills, 'cautious'), ladder(skills, 'low')]
    if (whole === null || low === null) continue
    const truths = levels.map((cautious) => ({ cautious }) as SkillScore)
    const truth = ladder(truths, 'cautious') ?? 0
    biases.push(whole - truth)
    if (truth >= low) safe++
  }
  const mean = biases.reduce((a, b) => a + b, 0) / biases.length
  const variance = biases.reduce((sum, bias) => sum + (bias - mean) ** 2, 0) / (biases.length - 1)
  const error = Math.sqrt(variance / biases.length).toFixed(1)
  const points = Math.round(mean)
  const percent = ((safe * 100) / biases.length).toFixed(1)
  return `${points > 0 ? '+' : ''}${points} ± ${error}, ${percent} %`
}

/** One rule is changed at a time. The engine itself is never built with another one. */
const changes: readonly [name: string, value: number][] = [
  ['reach', 150],
  ['reach', 250],
  ['groupsPerType', 1],
  ['groupsPerType', 3],
  ['massMin', 100_000],
  ['massMin', 200_000],
  ['cautionDivisor', 3],
  ['cautionDivisor', 8],
]

/** The assessment and the work product of docs/scoring.md at 400 against thirty identified peers of 1000. */
function outvotedTo(): number | null {
  const item = (id: string, type: string, assurance: number, value: number): Evidence => ({
    id,
    skillId: 'hss:s',
    type,
    group: id,
    assurance,
    value,
    observedDay: asOfDay,
    digest: id,
  })
  const peers = Array.from({ length: 30 }, (_, at) => item(`p${at}`, 'peer_review', 400, 1_000))
  const own = [item('a', 'assessment', 1_000, 400), item('b', 'work_product', 700, 400)]
  return skillScore([...own, ...peers]).score
}

function printSensitivity(): void {
  print('\nSensitivity: one rule changed; 3 and 20 items with scatter 160 and severity 100')
  print(
    '| changed | covered at 3 | width | covered at 20 | width | mixed at 3 | width | mean error at 3 | 30 peers | bias of 5 skills |',
  )
  print('|---|---|---|---|---|---|---|---|---|---|')
  print(`| nothing | ${sensitivity()} |`)
  hasLayers = false
  print(`| no layers | ${sensitivity()} |`)
  hasLayers = true
  const own = { ...parameters }
  for (const [name, value] of changes) {
    Object.assign(parameters, own, { [name]: value })
    print(`| ${name} ${value} | ${sensitivity()} |`)
  }
  Object.assign(parameters, own)
}

function sensitivity(): string {
  const wide = { scatter: 160, severity: 100 }
  const mixed = { ...wide, assurances: [100, 400, 700, 1_000] }
  const covered = ([of, items]: readonly [Model, number]) => {
    const { scored, covered: inside, width } = coverageOf(of, items, items)
    return [((inside * 100) / scored).toFixed(1), Math.round(width / scored)]
  }
  const cells = (
    [
      [wide, 3],
      [wide, 20],
      [mixed, 3],
    ] as const
  ).flatMap(covered)
  const { error, scored } = coverageOf(model, 3, 3)
  const bias = selectionOf(5, { sd: 100, items: 4 })
  return [...cells, Math.round(error / scored), outvotedTo(), bias].join(' | ')
}

print(`Promises, ${states} states each`)
for (const property of properties) {
  const fault = firstFault(property, states, 2)
  print(`${fault === null ? 'holds' : 'FAILS'}  ${fault ?? property.name}`)
  if (fault !== null) process.exitCode = 1
}
printCoverage()
printSelection()
printSensitivity()
