/** Pure: what HSC-1 is tuned by. A change of any of these is a new version of the engine. */

export const engineId = 'hsc'

/** Raised with every change of the room; any change of a golden result is at least a new minor version. */
export const engineVersion = '1.0.0'

export const parameters = {
  /** Mass of the prior in a skill's score, in millionths of an item, and the value it stands at. */
  scorePrior: 100_000,
  scorePriorValue: 250,
  /** Mass of the unknown in a skill's interval: all of it at 0 gives `low`, all of it at 1000 gives `high`. At least `scorePrior`. */
  intervalPrior: 300_000,
  /** A skill is verified from this mass and this assurance (permille) of some item. */
  verifiedMass: 300_000,
  verifiedAssurance: 700,
  /** What the mean of the best one, two, … five skills counts for the whole, in permille. */
  ladder: [700, 820, 900, 960, 1_000],
} as const

/** Items a candidate may have. */
export const evidenceMax = 10_000

export const valueMax = 1_000

/** Lower ends of a skill's levels, highest first: four equal parts of the rubric's scale. */
const levels = [
  { from: 750, name: 'expert' },
  { from: 500, name: 'advanced' },
  { from: 250, name: 'intermediate' },
  { from: 0, name: 'novice' },
] as const

/** Lower ends of the bands of the whole score, highest first. */
const bands = [
  { from: 750, name: 'exceptional' },
  { from: 600, name: 'strong' },
  { from: 450, name: 'verified' },
  { from: 300, name: 'developing' },
  { from: 0, name: 'emerging' },
] as const

export type Level = (typeof levels)[number]['name']
export type Band = (typeof bands)[number]['name']

export function levelOf(score: number): Level {
  for (const { from, name } of levels) if (score >= from) return name
  return 'novice'
}

export function bandOf(score: number): Band {
  for (const { from, name } of bands) if (score >= from) return name
  return 'emerging'
}
