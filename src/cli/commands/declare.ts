/** How a command of the command line is declared: its words, the options that many share, and what runs it. */
import type { Command } from 'commander'
import { type Config, readConfig } from '../../config/config.ts'
import { setTimeoutMultiplier } from '../../platform/deadlines.ts'
import type { Outcome } from '../output.ts'
import { run } from '../run.ts'

export function command(parent: Command, name: string, description: string): Command {
  return parent
    .command(name)
    .description(description)
    .option('--json', 'one JSON object on standard output')
}

/** Runs what a command's file exports, and prints what it finds. `failure` is the status at the end of one that could not be run. */
export function act(
  flags: { json?: boolean },
  command: () => Promise<Outcome>,
  failure: 1 | 2 = 1,
): Promise<void> {
  return run(command, { json: flags.json ?? false, failure })
}

/** Reads the settings and sets the timeout multiplier of this process. Throws `ConfigError`. */
export function settings(): Config {
  const config = readConfig(process.env)
  setTimeoutMultiplier(config.timeoutMultiplier)
  return config
}

export const accountArgument = ['<account>', 'its id or its name'] as const

export const accountOption = ['--account <account>', 'its id or its name'] as const

export const byOption = ['--by <name>', 'who does it: kept with the change', 'operator'] as const

export const formatOption = [
  '--format <format>',
  'ndjson or csv (default: csv for a file named .csv, else ndjson)',
] as const

export const limitOption = ['--limit <n>', 'at most so many', '50'] as const
