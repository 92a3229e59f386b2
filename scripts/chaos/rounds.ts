/** Runs test files with these numbers of rounds. The environment overrides them. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

const oneAfterTheOther = '--test-concurrency=1'
const database = '--test-global-setup=test/support/start/server.ts'

/** `within` begins the command. The files then need no database of the test run. */
export async function runRounds(
  files: readonly string[],
  settings: Record<string, string>,
  within: readonly string[] = [],
): Promise<void> {
  const setup = within.length > 0 ? [] : [database]
  const args = ['--test', ...setup, oneAfterTheOther, '--test-reporter=spec', ...files]
  const env = { ...settings, ...process.env }
  const [program = '', ...rest] = [...within, process.execPath, ...args]
  const [code] = await once(spawn(program, rest, { stdio: 'inherit', env }), 'exit')
  process.exitCode = code === 0 ? 0 : 1
}
