/**
 * Pure: writes control characters and line separators as `\u{…}`, because a hostile text may try to
 * hide a part of itself from the reader of a log.
 */
export function visible(text: string): string {
  return text.replace(/[\p{C}\u2028\u2029]/gu, (one) => `\\u{${one.codePointAt(0)?.toString(16)}}`)
}
