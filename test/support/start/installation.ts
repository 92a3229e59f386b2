/** The command line with a folder and a database of its own. Both are removed after the tests. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after } from 'node:test'
import { commandLine } from './command-line.ts'
import { type TestDatabase, testDatabase } from './database.ts'

export async function installation(made?: TestDatabase) {
  const database = made ?? (await testDatabase())
  const line = commandLine(database.url)
  after(async () => {
    line.remove()
    await database.drop()
  })
  return {
    ...line,
    ...database,
    /** Returns the path of a file in the folder, and writes the lines into it, if there are any. */
    file(name: string, lines?: readonly unknown[]): string {
      const path = join(line.folder, name)
      if (lines !== undefined) writeFileSync(path, ndjson(lines))
      return path
    },
    /** Runs a command with `--json`. Returns its report and exit code. */
    async report(...args: readonly string[]) {
      const { code, out, err } = await line.run([...args, '--json'])
      assert.ok(out.startsWith('{'), `${args.join(' ')}: ${err}`)
      return { code, ...JSON.parse(out) }
    },
  }
}

/** Returns one line for each value: a text as it is, everything else as JSON. */
export function ndjson(lines: readonly unknown[]): string {
  return lines.map((one) => `${typeof one === 'string' ? one : JSON.stringify(one)}\n`).join('')
}
