/** Writes the rejected lines of a bulk input to their own file, each with its number and reason. */
import { statSync, unlinkSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Fault } from '../platform/json/shape-fault.ts'
import type { Line } from '../platform/line-batches.ts'
import { usageError } from './fail.ts'
import { note } from './output.ts'
import { type OutputFile, openOutput } from './output-file.ts'

const textShownMax = 1_000

export function renderRejectedLine(
  { number, bytes, isTooLong }: Line,
  { field, reason }: Fault,
  hidesText = false,
): string {
  if (hidesText) return `${JSON.stringify({ line: number, field, reason })}\n`
  const whole = Buffer.from(bytes).toString('utf8')
  const text = isTooLong ? whole.slice(0, textShownMax) : whole
  return `${JSON.stringify({ line: number, field, reason, text })}\n`
}

/** Returns null if neither the input nor the errors file has a name. */
export function chooseErrorsFile({
  from,
  errors,
}: {
  from: string
  errors?: string
}): string | null {
  return errors ?? (from === '-' ? null : `${from}.errors.ndjson`)
}

/**
 * Opens the errors file. Without one, rejected lines are messages. The file is opened before any
 * line is read, so that a wrong path fails early; an empty file is deleted in the end.
 */
export async function openErrorsFile(file: string | null): Promise<OutputFile> {
  if (file === null)
    return { write: async (text) => note(text.trimEnd()), [Symbol.asyncDispose]: async () => {} }
  const sink = await openOutput(file)
  let isEmpty = true
  return {
    write(text) {
      isEmpty = false
      return sink.write(text)
    },
    async [Symbol.asyncDispose]() {
      await sink[Symbol.asyncDispose]()
      if (isEmpty && statSync(file, { throwIfNoEntry: false })?.isFile()) unlinkSync(file)
    },
  }
}

/** Throws if two options name the same file, because opening an output empties it. */
export function requireDifferentFiles(files: Record<string, string | null>): void {
  const identities = Object.values(files)
    .filter((file) => file !== null && file !== '-')
    .map((file, i) => identifyFile(`${file}`, i))
  if (new Set(identities).size < identities.length)
    throw usageError(`${formatList(Object.keys(files))} must be different files.`)
}

/**
 * Returns the same text for two names or links of one file. Devices such as /dev/null cannot be
 * emptied, so they may be named twice.
 */
function identifyFile(file: string, i: number): string {
  const info = statSync(file, { bigint: true, throwIfNoEntry: false })
  if (info === undefined) return resolve(file)
  return info.isFile() ? `${info.dev}:${info.ino}` : `${i}`
}

function formatList(names: readonly string[]): string {
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}
