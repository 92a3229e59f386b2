/** Pure: what search compares of a text, and the beginnings under which the text is found. */
import { foldText } from '../platform/fold-text.ts'

/** In code points: as long as a query may be. Longer texts are compared up to here. */
const termLengthMax = 80

/**
 * Returns the folded text as search compares it. It holds no control character and no U+10FFFF:
 * the index marks terms with these.
 */
export function foldTerm(text: string): string {
  return firstLetters(foldText(text), termLengthMax).trimEnd()
}

const laterWord = /(?<=[^\p{L}\p{M}\p{N}])[\p{L}\p{N}]/gu

/** The rest of a folded text from each word on but the first, where there are two letters at least. */
export function fromLaterWords(folded: string): string[] {
  return [...folded.matchAll(laterWord)]
    .map(({ index }) => folded.slice(index))
    .filter(hasTwoLetters)
}

/** A text folded, as what it is found by: from its beginning, and from each later word. */
export function beginnings(text: string): string[] {
  const folded = foldTerm(text)
  return [...new Set([folded, ...fromLaterWords(folded)])].filter(hasTwoLetters)
}

/** Code points. */
export function hasTwoLetters(text: string): boolean {
  return text.length > 2 || (text.length === 2 && (text.codePointAt(0) as number) <= 0xffff)
}

function firstLetters(text: string, max: number): string {
  if (text.length <= max) return text
  return Array.from(text).slice(0, max).join('')
}
