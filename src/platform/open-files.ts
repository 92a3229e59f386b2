/** The limit of open files of this process. Each connection is one. */
import { closeSync, openSync, readFileSync } from 'node:fs'
import { devNull } from 'node:os'

/** Files and connections that a process opens beside those of its callers and receivers. */
const ownFilesMax = 64
/** Connections to receivers of webhooks. */
const receiversMax = 256

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

/** Returns false if this process may open no further file or connection. */
export function hasFileLeft(): boolean {
  try {
    closeSync(openSync(devNull, 'r'))
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && /^E[MN]FILE$/.test(String(error.code)))
      return false
    throw error
  }
}

/** Returns how many connections to receivers may be open at once: at most an eighth of the limit. */
export function receiversWithin(filesMax: number | null): number {
  return filesMax === null
    ? receiversMax
    : Math.min(receiversMax, Math.max(1, Math.floor(filesMax / 8)))
}

/**
 * Returns how many connections of callers the limit of open files allows. Over the limit the kernel
 * would close connections, and the database could not be reached; connections over this number are
 * refused and counted.
 */
export function connectionsWithin(filesMax: number | null, connectionsMax: number): number {
  return filesMax === null
    ? connectionsMax
    : Math.min(connectionsMax, Math.max(1, filesMax - ownFilesMax - receiversWithin(filesMax)))
}
