/** Pure: the parameters of HSC-2. A change of any of these is a new version of the engine. */

export const engineId = 'hsc'

/** Any change of a golden result is at least a new minor version. */
export const engineVersion = '2.0.0'

export const parameters = {
  /** A skill has a score from this mass. At this mass its range is the score ± `halfWidthMax`. */
  massMin: 150_000,
  halfWidthMax: 500,
  /** In the bounds of the mass and of the pull, the weight of a type counts up to this permille. */
  fullMassPermille: 350,
  fullPullPermille: 500,
  /** A group pulls with one type at most like a full item at this distance, in points. */
  reach: 200,
  /** All groups together weigh and pull with one type at most like this number of full items. */
  groupsPerType: 2,
  /** A sum of pulls within ± this number counts as 0, because shares are rounded. */
  pullSlack: 1_073_741_824,
  /** In the worker's score, a skill loses its half width without decay, divided by this number. */
  cautionDivisor: 4,
  /** A group is a source of the score if one of its items has this assurance and still this mass. */
  sourceAssurance: 400,
  sourceMassMin: 25_000,
  /** A skill is verified from this mass, with at least one item of this assurance in permille. */
  verifiedMass: 300_000,
  verifiedAssurance: 700,
  /** What the mean of the best one, two, … five skills counts for the worker, in permille. */
  ladder: [700, 820, 900, 960, 1_000],
} as const

/** Maximum number of items of one worker. */
export const evidenceMax = 10_000

export const valueMax = 1_000

/** Lower ends of the levels of a skill and of the bands of a worker, highest first. */
const levels = { expert: 750, advanced: 500, intermediate: 250, novice: 0 }
const bands = { exceptional: 750, strong: 600, verified: 450, developing: 300, emerging: 0 }

export type Level = keyof typeof levels
export type Band = keyof typeof bands

export function levelOf(score: number): Level {
  return nameAt(levels, score)
}

export function bandOf(score: number): Band {
  return nameAt(bands, score)
}

function nameAt<Name extends string>(ends: Record<Name, number>, score: number): Name {
  for (const name in ends) if (score >= ends[name]) return name
  throw new RangeError(`The score is ${score}. It must not be negative.`)
}
