/**
 * Pure: usernames (decision D34). They are ASCII and never normalised into validity, so that no two
 * of them look alike. The format is that of the candidate detail in the specification.
 */
import { Type } from 'typebox'
import { sha256 } from '../platform/crypto/bytes.ts'
import { refuse } from '../platform/errors.ts'

const form = '[a-z0-9][a-z0-9_-]{1,28}[a-z0-9]'
/** The API has a path of this name. */
const reserved = 'search'

/** 3 to 30 characters. */
export const usernamePattern = `^${form}$`
/**
 * Parts of JSON Schema. `not` excludes the reserved word, because Python and RE2 do not share a
 * lookahead with ECMAScript.
 */
/** Username in a path, with or without a leading @. */
export const usernamePathForm = {
  pattern: `^@?${form}$`,
  not: { enum: [reserved, `@${reserved}`] },
}
/** Username in an answer. */
export const publicUsernameForm = { pattern: usernamePattern, not: { enum: [reserved] } }
export const profilePathForm = { pattern: `^/u/${form}$`, not: { enum: [`/u/${reserved}`] } }

export function isReserved(username: string): boolean {
  return username === reserved
}

/**
 * Returns the digest under which a username stays taken for ever, even after the name itself is
 * erased.
 */
export function usernameDigest(username: string): Buffer {
  return sha256(username)
}

/** The username of a worker in the input of an operation, with or without a leading `@`. */
export const usernameField = Type.String({
  pattern: usernamePattern,
  description:
    'must have 3 to 30 of the characters a-z, 0-9, _ and -, with a letter or digit at both ends',
  oneSpelling: (username: string) => username.replace(/^@/, ''),
})

export function unknownWorker(username: string) {
  return refuse('worker_not_found', { message: `No worker has the username ${username}.` })
}
