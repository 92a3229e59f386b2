/** Pure: one line of scores to issue for, or why it is refused. */
import { Compile } from 'typebox/compile'
import type { Score } from '../../credentials/payload.ts'
import { scoreLine } from '../../credentials/schema.ts'
import { type Fault, firstFault } from '../../platform/json/shape-fault.ts'
import { parseStrictJson } from '../../platform/json/strict-json.ts'
import { bandOf } from '../../standard/bands.ts'

export interface ScoreToIssue extends Score {
  id?: string
}

const shape = Compile(scoreLine)

/**
 * The band is computed where it is not given; nothing else is filled in or repaired (decision D8).
 */
export function readScoreLine(bytes: Uint8Array): ScoreToIssue | { refused: Fault } {
  const json = parseStrictJson(bytes)
  if (json.kind !== 'value') return refused(null, json.why.replace('The body', 'The line'))
  const line = json.value
  if (!shape.Check(line)) return { refused: firstFault(shape, line) }
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

function refused(field: string | null, reason: string): { refused: Fault } {
  return { refused: { field, reason } }
}
