/**
 * Pure: the profile that a worker shows, and the format of each field. Lengths are in code points.
 * No value is trimmed or repaired (decision D8).
 */
import { foldText } from '../platform/fold-text.ts'
import type { Fault } from '../platform/json/shape-fault.ts'
import { isReserved } from './username.ts'

export interface ProfileSkill {
  name: string
  verified: boolean
  level: string | null
}

export interface Profile {
  username: string
  displayName: string
  title: string | null
  bio: string | null
  /** Always an https URL. */
  avatarUrl: string | null
  /** `YYYY-MM`. */
  memberSince: string
  /** In display order. */
  skills: readonly ProfileSkill[]
}

/**
 * Checks the fields that are set; returns null if all are valid. Only the schema checks the
 * characters of the username.
 */
export function faultOfProfile(profile: Partial<Profile>, thisMonth: string): Fault | null {
  const { username, displayName, title, bio, avatarUrl, memberSince, skills } = profile
  return (
    (username !== undefined && isReserved(username)
      ? { field: 'username', reason: `${username} is reserved` }
      : null) ??
    faultOfText('displayName', displayName, { max: 80 }) ??
    faultOfText('title', title, { max: 120 }) ??
    faultOfText('bio', bio, { max: 2_000, lines: true }) ??
    faultOfUrl('avatarUrl', avatarUrl) ??
    faultOfMonth('memberSince', memberSince, thisMonth) ??
    faultOfSkills(skills ?? [])
  )
}

/**
 * Characters that change how the text around them is shown: bidirectional embeddings, overrides and
 * isolates.
 */
const reordering = /[\u202a-\u202e\u2066-\u2069]/
const lineBreaks = /[\n\r\u2028\u2029\u0085]/
const control = /(?![\n])\p{Cc}/u
/** Text without any visible character: white space, format characters, unassigned code points. */
const invisible = /^[\p{Z}\p{C}]*$/u

export function faultOfText(
  field: string,
  text: string | null | undefined,
  { max, lines = false }: { max: number; lines?: boolean },
): Fault | null {
  if (text === undefined || text === null) return null
  const wrong = (reason: string): Fault => ({ field, reason })
  if (!text.isWellFormed()) return wrong('holds a lone surrogate')
  if (text.includes('\0')) return wrong('holds a NUL')
  if (!lines && lineBreaks.test(text)) return wrong('must be one line')
  if (control.test(text)) return wrong('holds a control character')
  if (reordering.test(text)) return wrong('holds a character that reorders the text around it')
  if (invisible.test(text)) return wrong('holds nothing that can be seen')
  if (text.trim() !== text) return wrong('starts or ends with white space')
  if (text.length > max && Array.from(text).length > max)
    return wrong(`is longer than ${max} characters`)
  return null
}

const urlMax = 2_048

function faultOfUrl(field: string, text: string | null | undefined): Fault | null {
  if (text === undefined || text === null) return null
  const wrong = (reason: string): Fault => ({ field, reason })
  if (!text.startsWith('https://')) return wrong('must start with https://')
  if (text.length > urlMax) return wrong(`is longer than ${urlMax} characters`)
  // A URL parser would silently repair some of these characters; others would break out of a header
  // or an attribute.
  if (/[^!-~]|["'<>\\^`{|}]/.test(text)) return wrong('holds a character that a URL must encode')
  const url = URL.parse(text)
  if (url === null) return wrong('is not a URL')
  if (url.username !== '' || url.password !== '') return wrong('must not hold a user or password')
  return null
}

function faultOfMonth(field: string, text: string | undefined, thisMonth: string): Fault | null {
  if (text === undefined) return null
  if (!/^[1-9]\d{3}-(0[1-9]|1[0-2])$/.test(text))
    return { field, reason: 'must be a month, as YYYY-MM' }
  return text > thisMonth ? { field, reason: 'must not be in the future' } : null
}

/** Two names are the same skill if they are equal after the folding that search uses. */
function faultOfSkills(skills: readonly ProfileSkill[]): Fault | null {
  const seen = new Set<string>()
  for (const [i, { name }] of skills.entries()) {
    const field = `skills.${i}.name`
    const fault = faultOfText(field, name, { max: 80 })
    if (fault !== null) return fault
    const folded = foldText(name)
    if (seen.has(folded)) return { field, reason: 'names a skill twice' }
    seen.add(folded)
  }
  return null
}
