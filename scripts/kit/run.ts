/**
 * `npm run kit [-- NAME…]`: the files of deploy/ and of a release in use, every part or the named
 * ones. Each test file of this folder is a part.
 */
import { globSync } from 'node:fs'
import { basename, join } from 'node:path'
import { runRounds } from '../chaos/rounds.ts'

const suffix = '.test.ts'
const parts = globSync(`*${suffix}`, { cwd: import.meta.dirname }).map((file) =>
  basename(file, suffix),
)
const named = process.argv.slice(2)
const unknown = named.filter((name) => !parts.includes(name))
if (unknown.length > 0) {
  process.stderr.write(
    `No part of the kit is called ${unknown.join(', ')}. There are: ${parts.join(', ')}.\n`,
  )
  process.exit(2)
}
const run = named.length > 0 ? named : parts.toSorted()
await runRounds(
  run.map((name) => join(import.meta.dirname, name + suffix)),
  {},
)
