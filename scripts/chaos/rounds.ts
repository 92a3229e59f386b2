/** Runs test files with these numbers of rounds. The environment overrides them. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

const oneAfterTheOther = '--test-concurrency=1'
const database = '--test-global-setup=test/support/start/server.ts'

export async function runRounds(
  files: readonly string[],
  settings: Record<string, string>,
): Promise<void> {
  const args = ['--test', database, oneAfterTheOther, '--test-reporter=spec', ...files]
  const env = { ...settings, ...process.env }
  const [code] = await once(spawn(process.execPath, args, { stdio: 'inherit', env }), 'exit')
  process.exitCode = code === 0 ? 0 : 1
}
