/** Pure: folds texts for comparison, and splits them at words. */
import { foldText } from '../../platform/fold-text.ts'

/** In code points: the maximum length of a query. Longer texts are compared up to here. */
const termLengthMax = 80

const separators = /[\p{Pd}./\s]+/gu
const joint = /[\p{Pd}./]/u
const joints = /[\p{Pd}./]+/gu

/**
 * Returns the folded text as search compares it. Hyphens, dots and slashes count as spaces. It
 * holds no control character and no U+10FFFF: the index marks terms with these.
 */
export function foldTerm(text: string): string {
  return termOf(foldText(text).replace(separators, ' '))
}

/**
 * Returns the folded text, and if hyphens, dots or slashes join its words, the text with these
 * words written as one: `node js` and `nodejs`.
 */
export function foldForms(text: string): string[] {
  const folded = foldText(text)
  if (!joint.test(folded)) return folded === '' ? [] : [termOf(folded)]
  const forms = [folded.replace(separators, ' '), folded.replace(joints, '')].map(termOf)
  return [...new Set(forms)].filter((form) => form !== '')
}

function termOf(spaced: string): string {
  return firstLetters(spaced.trimStart(), termLengthMax).trimEnd()
}

/** Marks that several scripts share. The voicing marks of Japanese make other letters. */
const accents = /[[\p{Mn}&&\p{Script=Inherited}]--[\u3099\u309a]]/gv
const bareLetters: Readonly<Record<string, string>> = {
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ħ: 'h',
  ŧ: 't',
  æ: 'ae',
  œ: 'oe',
}

/** Returns the folded text without accents. */
export function foldAccents(text: string): string {
  const folded = foldText(text)
  if (/^[\0-\x7f]*$/.test(folded)) return folded
  const bare = folded.normalize('NFD').replace(accents, '').normalize('NFC')
  return foldText(bare.replace(/[øłđħŧæœ]/gu, (letter) => bareLetters[letter] as string))
}

const wordsMax = 4

/**
 * Returns the folded query with its words in every order, as it was written first. A query of more
 * than four words is searched as it was written.
 */
export function wordOrders(folded: string): string[] {
  const words = folded.split(' ')
  if (words.length > wordsMax) return [folded]
  return [...new Set(permutations(words).map((order) => order.join(' ')))]
}

function permutations(words: readonly string[]): string[][] {
  if (words.length <= 1) return [[...words]]
  return words.flatMap((first, i) =>
    permutations(words.toSpliced(i, 1)).map((rest) => [first, ...rest]),
  )
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
  const texts = foldForms(text).flatMap((folded) => [folded, ...fromLaterWords(folded)])
  return [...new Set(texts)].filter(hasTwoLetters)
}

/** Counts code points. */
export function hasTwoLetters(text: string): boolean {
  return text.length > 2 || (text.length === 2 && (text.codePointAt(0) as number) <= 0xffff)
}

function firstLetters(text: string, max: number): string {
  if (text.length <= max) return text
  return Array.from(text).slice(0, max).join('')
}
