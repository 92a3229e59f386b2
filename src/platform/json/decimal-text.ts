/** Pure: whether the text of a JSON number keeps its digits as a double. */

/**
 * Returns true if the double of a JSON number is written with other digits than `text`, as for
 * `1e-400` or `0.10000000000000001`: a reader with exact decimals would read another value. Numbers
 * too large for a double are not judged here.
 */
export function losesDigits(text: string): boolean {
  const number = Number(text)
  const kept = String(number)
  return kept !== text && Number.isFinite(number) && normalForm(text) !== normalForm(kept)
}

/** The same text for equal decimals: sign, digits without outer zeros, power of ten. */
function normalForm(text: string): string {
  const [, sign, whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? []
  const digits = whole + fraction
  let start = 0
  while (digits[start] === '0') start++
  // A loop, because `/0+$/` takes quadratic time on a hostile text.
  let end = digits.length
  while (end > start && digits[end - 1] === '0') end--
  if (start === end) return '0'
  const power = Number(exponent) - fraction.length + digits.length - end
  return `${sign}${digits.slice(start, end)}e${power}`
}
