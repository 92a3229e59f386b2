/**
 * Pure: how search compares texts. One form for what people show and for what is asked: compatibility forms (NFKC), case and white
 * space make no difference, nor does what cannot be seen. Look-alikes of other scripts stay what they are.
 */

/** In code points: as long as a query may be. Longer texts are compared up to here. */
const termLengthMax = 80

/** Zero-width and control characters, soft hyphens, variation selectors; so also the marks and the upper end of the index. */
const unseen = /[\p{Default_Ignorable_Code_Point}\u{10ffff}]|(?!\s)\p{Cc}/gu
const plain = /^[!-~]+( [!-~]+)*$/

export function foldText(text: string): string {
  const folded = plain.test(text) ? text.toLowerCase() : foldCase(text)
  return firstLetters(folded, termLengthMax).trimEnd()
}

/** Upper case first, so that ß, ſ and the like meet what they are written as in capitals. */
function foldCase(text: string): string {
  return text
    .normalize('NFKC')
    .replace(unseen, '')
    .toUpperCase()
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .normalize('NFKC')
    .replace(/\s+/gu, ' ')
    .trim()
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
  const folded = foldText(text)
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
