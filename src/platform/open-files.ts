/** The limit of open files of this process. Each connection is one. */
import { readFileSync } from 'node:fs'

/** Files and connections that a process opens beside those of its callers. */
const ownFilesMax = 64

/** Returns null if the system does not tell, or has no limit. */
export function openFilesMax(): number | null {
  try {
    const [, limit] =
      /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return limit === undefined ? null : Number(limit)
  } catch {
    // Only Linux has this file.
    return null
  }
}

/**
 * Returns how many connections of callers the limit of open files allows. Over the limit the kernel
 * would close connections, and the database could not be reached; connections over this number are
 * refused and counted.
 */
export function connectionsWithin(filesMax: number | null, connectionsMax: number): number {
  return filesMax === null
    ? connectionsMax
    : Math.min(connectionsMax, Math.max(1, filesMax - ownFilesMax))
}
