/**
 * Returns the number of rounds of a test: `few` by default, or the number that `npm run chaos`
 * sets.
 */
export function roundsOf(setting: string, few: number): number {
  const text = process.env[setting]
  if (text === undefined) return few
  const rounds = Number(text)
  if (!Number.isSafeInteger(rounds) || rounds < 1)
    throw new Error(`${setting}: not a count: ${text}`)
  return rounds
}
