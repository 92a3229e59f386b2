/** Pure: the checks of an evidence line that need no database. */
import { Compile } from 'typebox/compile'
import { type Fault, firstFault } from '../../platform/json/shape-fault.ts'
import { dayOfDate } from '../core/civil-date.ts'
import { ruleOf, type Vocabulary } from '../core/evidence.ts'
import {
  type Achievement,
  achievementsFile,
  type BadgeLine,
  badgeLine,
  type EvidenceLine,
  evidenceLine,
  type Refused,
  valueReader,
} from './schema.ts'

const readItem = valueReader(evidenceLine)
const readBadgeLine = valueReader(badgeLine)

/** Parses the operator's mapping from achievements to skills. */
export function readAchievements(value: unknown): Map<string, Achievement> | Refused {
  return achievements.Check(value)
    ? new Map(Object.entries(value))
    : { refused: firstFault(achievements, value) }
}

const achievements = Compile(achievementsFile)

/** Parses a line. A line with a `credential` is read as a badge, whatever other fields it has. */
export function readEvidenceLine(value: unknown): EvidenceLine | BadgeLine | Refused {
  const isBadge = typeof value === 'object' && value !== null && Object.hasOwn(value, 'credential')
  return isBadge ? readBadgeLine(value) : readItem(value)
}

/** Evidence observed earlier is refused as an error of the file. */
const firstDate = '1900-01-01'
/** Last day of the four-digit calendar. Later years have no `YYYY-MM-DD`. */
const lastDate = '9999-12-31'

export interface WorkerName {
  by: 'workerId' | 'workerExternalId' | 'username'
  name: string
}

/**
 * Returns the one name of the worker in the line, or the fault if there is none or more than one.
 */
export function workerNameOf(line: Partial<Record<WorkerName['by'], string>>): WorkerName | Fault {
  const { workerId, workerExternalId, username } = line
  const names: WorkerName[] = []
  // PostgreSQL writes a UUID in lowercase, so ids are compared in lowercase.
  if (workerId !== undefined) names.push({ by: 'workerId', name: workerId.toLowerCase() })
  if (workerExternalId !== undefined) names.push({ by: 'workerExternalId', name: workerExternalId })
  if (username !== undefined) names.push({ by: 'username', name: username })
  const [name, another] = names
  if (name === undefined)
    return fault('workerId', 'is missing: one of workerId, workerExternalId and username is needed')
  return another === undefined ? name : fault(another.by, 'is one name too many for the worker')
}

/**
 * Returns the reason for refusing the line as evidence, or null. `today` is `YYYY-MM-DD` in UTC.
 */
export function evidenceFault(
  line: Pick<EvidenceLine, 'observedOn' | 'expiresOn' | 'skillId' | 'type'>,
  { vocabulary, today }: { vocabulary: Vocabulary; today: string },
): Fault | null {
  const { observedOn, expiresOn, skillId, type } = line
  if (!isDate(observedOn)) return fault('observedOn', 'is no date of the calendar')
  if (observedOn > today) return fault('observedOn', 'is in the future')
  if (observedOn < firstDate) return fault('observedOn', `is before ${firstDate}`)
  if (expiresOn !== undefined) {
    if (!isDate(expiresOn)) return fault('expiresOn', 'is no date of the calendar')
    if (expiresOn <= observedOn) return fault('expiresOn', 'is not after observedOn')
  }
  const rule = ruleOf(vocabulary, skillId)
  if (rule === undefined) return fault('skillId', 'is no skill of the vocabulary')
  if (!Object.hasOwn(rule.weightPermille, type))
    return fault('type', 'is no evidence type of this skill')
  return null
}

function isDate(date: string): boolean {
  return date <= lastDate && dayOfDate(date) !== null
}

function fault(field: string, reason: string): Fault {
  return { field, reason }
}
