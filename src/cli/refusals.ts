/** What becomes of the lines of a bulk input that are refused: they go to a file of their own, each with its number and why. */
import { statSync, unlinkSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Fault } from '../platform/json/shape-fault.ts'
import { usageError } from './fail.ts'
import type { Line } from './lines.ts'
import { note } from './output.ts'
import { openSink, type Sink } from './sink.ts'

const textShownMax = 1_000

export function refusalLine(
  { number, bytes, isTooLong }: Line,
  { field, reason }: Fault,
  hidesText = false,
): string {
  if (hidesText) return `${JSON.stringify({ line: number, field, reason })}\n`
  const whole = Buffer.from(bytes).toString('utf8')
  const text = isTooLong ? whole.slice(0, textShownMax) : whole
  return `${JSON.stringify({ line: number, field, reason, text })}\n`
}

export function tooLong(bytesMax: number): Fault {
  return { field: null, reason: `The line is longer than ${bytesMax} bytes.` }
}

/** Null where neither it nor the input has a name. */
export function errorsFileOf({ from, errors }: { from: string; errors?: string }): string | null {
  return errors ?? (from === '-' ? null : `${from}.errors.ndjson`)
}

/** Without a file, refused lines are messages. A file is opened at once, to say so early where that cannot be, and no empty one is left. */
export async function errorSink(file: string | null): Promise<Sink> {
  if (file === null) return { write: async (text) => note(text.trimEnd()), close: async () => {} }
  const sink = await openSink(file)
  let isEmpty = true
  return {
    write(text) {
      isEmpty = false
      return sink.write(text)
    },
    async close() {
      await sink.close()
      if (isEmpty && statSync(file, { throwIfNoEntry: false })?.isFile()) unlinkSync(file)
    },
  }
}

/** Writing empties a file: the input must not be in it. */
export function refuseSameFile(files: Record<string, string | null>): void {
  const places = Object.values(files)
    .filter((file) => file !== null && file !== '-')
    .map((file, i) => placeOf(`${file}`, i))
  if (new Set(places).size < places.length)
    throw usageError(`${toldList(Object.keys(files))} must be different files.`)
}

/** The same for two names of one file, be they links. What is no file, such as /dev/null, cannot be emptied: it may be named twice. */
function placeOf(file: string, i: number): string {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false })
  if (found === undefined) return resolve(file)
  return found.isFile() ? `${found.dev}:${found.ino}` : `${i}`
}

function toldList(names: readonly string[]): string {
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}

export function closed(sink: Sink, closing: AsyncDisposableStack): Sink {
  closing.defer(() => sink.close())
  return sink
}
