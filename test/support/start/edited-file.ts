import { readFileSync } from 'node:fs'

/** Returns the text of a file with what an operator replaces in it. Throws if it is not there. */
export function editedFile(
  file: string,
  edits: readonly (readonly [from: string | RegExp, to: string])[],
): string {
  return edits.reduce(
    (text, [from, to]) => {
      if (text.split(from).length === 1) throw new Error(`${file} has no ${from}`)
      return text.replaceAll(from, to)
    },
    readFileSync(file, 'utf8'),
  )
}
