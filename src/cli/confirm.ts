/** Asks the operator before a command goes on. */
import { createInterface } from 'node:readline/promises'

/** Returns whether the operator typed yes, or null if there is no terminal to ask on. */
export async function askYes(question: string): Promise<boolean | null> {
  if (!process.stdin.isTTY) return null
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question(question)
  terminal.close()
  return answer.trim() === 'yes'
}
