/** Reads the fences of a page of the docs. */

export interface Fence {
  /** The words after the backticks. */
  info: string
  text: string
  /** Line of the page at which the fence begins. */
  line: number
}

/** Returns the fences, each without the indentation of its list, as a reader copies it. */
export function fencesOf(page: string): Fence[] {
  return [...page.matchAll(/^( *)```(\S[^\n]*)\n(.*?)^\1```$/gms)].map((match) => {
    const [, indent, info = '', indented = ''] = match
    const text = indented.replaceAll(new RegExp(`^${indent}`, 'gm'), '')
    return { info, text, line: page.slice(0, match.index).split('\n').length }
  })
}

/** Returns the file name in the first line of a program. */
export function nameOf(text: string): string | undefined {
  return /^(?:\/\/|#) (\S+\.(?:ts|py))\n/.exec(text)?.[1]
}
