/** Pure: one line of scores to issue for, or why it is refused. */
import { Compile } from 'typebox/compile'
import { parseStrictJson } from '../platform/strict-json.ts'
import type { Score } from '../score-credentials/payload.ts'
import { scoreLine } from '../score-credentials/schema.ts'
import { bandOf } from '../skill-standard/bands.ts'

export interface ScoreToIssue extends Score {
  id?: string
}

export interface Refusal {
  /** Null where it is the line as a whole. */
  field: string | null
  reason: string
}

const shape = Compile(scoreLine)

/** The band is computed where it is not given; nothing else is filled in or repaired (decision D8). */
export function readScoreLine(bytes: Uint8Array): ScoreToIssue | { refused: Refusal } {
  const json = parseStrictJson(bytes)
  if (json.kind !== 'value') return refused(null, json.why.replace('The body', 'The line'))
  const line = json.value
  if (!shape.Check(line)) return { refused: firstFault(line) }
  const { scoreBand = bandOf(line.score), id, ...rest } = line
  if (scoreBand !== bandOf(line.score))
    return refused('scoreBand', `the band of ${line.score} is ${bandOf(line.score)}`)
  if (line.confidenceLow > line.score)
    return refused('confidenceLow', 'must not be above the score')
  if (line.confidenceHigh < line.score)
    return refused('confidenceHigh', 'must not be below the score')
  const score = { ...rest, scoreBand }
  // PostgreSQL writes a UUID in lowercase, so ids are compared in it.
  return id === undefined ? score : { ...score, id: id.toLowerCase() }
}

function firstFault(line: unknown): Refusal {
  for (const fault of shape.Errors(line)) {
    const field = fault.instancePath.split('/')[1] ?? null
    if (fault.keyword === 'boolean') return { field, reason: 'is not a known field' }
    if (fault.keyword === 'required')
      return { field: fault.params.requiredProperties[0] ?? null, reason: 'is missing' }
    return { field, reason: fault.message }
  }
  return { field: null, reason: 'is not a score' }
}

function refused(field: string | null, reason: string): { refused: Refusal } {
  return { refused: { field, reason } }
}
