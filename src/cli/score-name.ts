import { usageError } from './fail.ts'
/** How a score is named on the command line. */

/** 64 hex characters of either case. */
export function isSnapshotId(text: string): boolean {
  return /^[0-9a-f]{64}$/i.test(text)
}

/** Throws `Failure` for what no id of a score can be. */
export function snapshotIdGiven(text: string): Buffer {
  if (!isSnapshotId(text))
    throw usageError(`${JSON.stringify(text)} is not the id of a score: 64 hex characters.`)
  return Buffer.from(text, 'hex')
}

export function noSuchScore(id: Buffer): string {
  return `There is no score ${id.toString('hex')}, or what it was made of was erased with its person.`
}
