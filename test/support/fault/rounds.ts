/** How often a test that needs many rounds runs them: a few by default, as many as `npm run chaos` says in its settings. */
export function roundsOf(setting: string, few: number): number {
  const text = process.env[setting]
  if (text === undefined) return few
  const rounds = Number(text)
  if (!Number.isSafeInteger(rounds) || rounds < 1)
    throw new Error(`${setting}: not a count: ${text}`)
  return rounds
}
