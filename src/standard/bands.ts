/** Pure: the score bands (decision D31). A client can compute the band from the score alone. */
import { standardUrls } from './context.ts'

interface BandRow {
  band: string
  label: string
  /** Both bounds are inclusive. Rows follow each other without a gap. */
  min: number
  max: number
  meaning: string
  guidance: string
}

export const scoreBands = [
  {
    band: 'emerging',
    label: 'Emerging',
    min: 0,
    max: 299,
    meaning:
      'Independent evidence of early or guided work, or thin evidence, which the worker’s score counts with caution.',
    guidance:
      'Read it as "not yet shown", not as "cannot". Ask for work or an assessment before drawing any conclusion.',
  },
  {
    band: 'developing',
    label: 'Developing',
    min: 300,
    max: 449,
    meaning:
      'Some evidence from more than one source, mostly of guided or routine work in one or two skills.',
    guidance:
      'Suits work with support at hand. Look at the skill list and at the interval: a wide one means thin evidence.',
  },
  {
    band: 'verified',
    label: 'Verified',
    min: 450,
    max: 599,
    meaning:
      'Independent sources agree on dependable, unaided work in at least one skill, or on sound work across several.',
    guidance:
      'A reasonable basis for a conversation about the work itself. Compare the lower end of the interval, not the score.',
  },
  {
    band: 'strong',
    label: 'Strong',
    min: 600,
    max: 749,
    meaning:
      'Consistent independent evidence of advanced work in several skills, recent enough to count in full.',
    guidance:
      'Check that the strong skills are the ones the work needs; the total does not say which they are.',
  },
  {
    band: 'exceptional',
    label: 'Exceptional',
    min: 750,
    max: 1000,
    meaning:
      'Broad and deep evidence of expert work from accredited or machine-verified sources. Few profiles reach it.',
    guidance:
      'Do not make it a requirement: most excellent people have less evidence on record than this band needs.',
  },
] as const satisfies readonly BandRow[]

export type ScoreBand = (typeof scoreBands)[number]['band']

const scoreMax = 1_000

/** Raise this when the meaning or the bounds of a band change. */
const scoreBandsVersion = '1.0.0'

/** Returns the band of a score, an integer from 0 to 1000. */
export function bandOf(score: number): ScoreBand {
  const row = scoreBands.find((candidate) => score <= candidate.max)
  if (!Number.isInteger(score) || score < 0 || row === undefined)
    throw new RangeError(`a score is an integer from 0 to ${scoreMax}, not ${score}`)
  return row.band
}

/** Returns the document of `/standard/v1/score-bands.jsonld`. */
export function scoreBandDefinitions(publicUrl: string) {
  const urls = standardUrls(publicUrl)
  return {
    '@context': urls.context,
    '@type': 'ScoreBandDefinitionSet' as const,
    '@id': urls.bands,
    version: scoreBandsVersion,
    description:
      'Bands of the overall score. A band is found from the score alone; bands follow each other without a gap.',
    notes: [
      'Bands are not percentiles: a band says what level of work independent evidence supports, not how many workers score lower. Bands and the way from skills to the score are policy, and no forecast of success in a job.',
      'The score of a skill is the point where its results balance: a result at or above it never lowers it, and one below it never raises it. A missing score means too little current evidence, never a low level.',
      'The interval (confidence low and high) shows how little is known. In the published simulation the range of a skill contained the true level of at least 95 of 100 workers. The range of the overall score is wider still.',
    ],
    score_scale: {
      min: 0,
      max: scoreMax,
      type: 'integer',
      higher_is_better: true,
      interval:
        'score ± 500 × √(150,000 ÷ mass), at least 95 % coverage in the published simulation',
    },
    // Each band has a name: canonicalising five unnamed nodes in one list exceeds the default limit
    // of JSON-LD libraries.
    bands: scoreBands.map((row) => ({ '@id': `${urls.bands}#${row.band}`, ...row })),
  }
}
