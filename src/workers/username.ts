/**
 * Pure: usernames (decision D34). ASCII alone and never normalised into validity, so that no two of them look alike; the form is
 * that of the candidate detail (spec §2.5).
 */
import { sha256 } from '../platform/crypto/bytes.ts'

const form = '[a-z0-9][a-z0-9_-]{1,28}[a-z0-9]'
/** A path of the interface stands under this name. */
const reserved = 'search'

/** 3 to 30 characters. */
export const usernamePattern = `^${form}$`
/** As a path names somebody: with or without a leading @. */
export const usernamePathPattern = `^@?(?!${reserved}$)${form}$`

export function isReserved(username: string): boolean {
  return username === reserved
}

/** Under this a username stays taken for ever, also when the name itself has been erased. */
export function usernameDigest(username: string): Buffer {
  return sha256(username)
}
