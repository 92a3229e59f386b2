/**
 * Pure: usernames (decision D34). They are ASCII and never normalised into validity, so that no two
 * of them look alike. The format is that of the candidate detail in the specification.
 */
import { sha256 } from '../platform/crypto/bytes.ts'

const form = '[a-z0-9][a-z0-9_-]{1,28}[a-z0-9]'
/** The API has a path of this name. */
const reserved = 'search'

/** 3 to 30 characters. */
export const usernamePattern = `^${form}$`
/** Username in a path, with or without a leading @. */
export const usernamePathPattern = `^@?(?!${reserved}$)${form}$`
/** Username in an answer. */
export const publicUsernamePattern = `^(?!${reserved}$)${form}$`
export const profilePathPattern = `^/u/(?!${reserved}$)${form}$`

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
