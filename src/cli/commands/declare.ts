/** The declarations of nouns that are not converted to `command.ts` and `context.ts` yet. */
import { act as actionOf } from '../command.ts'
import type { Outcome } from '../output.ts'

export { command } from '../command.ts'
export { settings } from '../context.ts'

export function act(
  flags: { json?: boolean },
  work: () => Promise<Outcome>,
  failureCode: 1 | 2 = 1,
): Promise<void> {
  return actionOf(() => work(), { failureCode })(flags, null)
}

export const accountArgument = ['<account>', 'its id or its name'] as const

export const accountOption = ['--account <account>', 'its id or its name'] as const

export const byOption = ['--by <name>', 'who does it: kept with the change', 'operator'] as const

export const formatOption = [
  '--format <format>',
  'ndjson or csv (default: csv for a file named .csv, else ndjson)',
] as const

export const limitOption = ['--limit <n>', 'at most so many', '50'] as const
