/**
 * Pure: the one form in which texts that people write are compared. Compatibility forms (NFKC),
 * case, white space and characters that cannot be seen make no difference. Look-alikes of other
 * scripts stay different.
 */

/**
 * Zero-width and control characters, soft hyphens, variation selectors, and the highest code point.
 */
const unseen = /[\p{Default_Ignorable_Code_Point}\u{10ffff}]|(?!\s)\p{Cc}/gu
const plain = /^[!-~]+( [!-~]+)*$/

/**
 * Returns the folded text. Folding it again changes nothing, so stored and asked texts always meet.
 */
export function foldText(text: string): string {
  return plain.test(text) ? text.toLowerCase() : foldCase(text)
}

/**
 * Lower case comes first: upper case leaves `ẞ` as it is and turns `ß` into `SS`, so `ẞ` must be
 * `ß` by then. Upper case comes next, so that ß, ſ and the like meet their spelling in capitals.
 */
function foldCase(text: string): string {
  return text
    .normalize('NFKC')
    .replace(unseen, '')
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .normalize('NFKC')
    .replace(/\s+/gu, ' ')
    .trim()
}
