/** Pure: folds texts for comparison, and splits them at words. */
import { foldText } from '../platform/fold-text.ts'

/** In code points: the maximum length of a query. Longer texts are compared up to here. */
const termLengthMax = 80

/**
 * Returns the folded text as search compares it. It holds no control character and no U+10FFFF:
 * the index marks terms with these.
 */
export function foldTerm(text: string): string {
  return firstLetters(foldText(text), termLengthMax).trimEnd()
}

const laterWord = /(?<=[^\p{L}\p{M}\p{N}])[\p{L}\p{N}]/gu

/**
 * Returns the rest of a folded text from each word after the first, if the rest has two letters.
 */
export function fromLaterWords(folded: string): string[] {
  return [...folded.matchAll(laterWord)]
    .map(({ index }) => folded.slice(index))
    .filter(hasTwoLetters)
}

/**
 * Folds a text and returns it from its first and from each later word, so that a prefix of one of
 * the results matches the text.
 */
export function textsFromWords(text: string): string[] {
  const folded = foldTerm(text)
  return [...new Set([folded, ...fromLaterWords(folded)])].filter(hasTwoLetters)
}

/** Counts code points. */
export function hasTwoLetters(text: string): boolean {
  return text.length > 2 || (text.length === 2 && (text.codePointAt(0) as number) <= 0xffff)
}

function firstLetters(text: string, max: number): string {
  if (text.length <= max) return text
  return Array.from(text).slice(0, max).join('')
}
