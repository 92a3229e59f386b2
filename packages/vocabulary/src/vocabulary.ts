/** `npm run vocabulary`: checks the skill records, and releases them. */
import { resolve } from 'node:path'
import { systemClock, wireTime } from '../../../src/platform/clock.ts'
import { openReleases } from '../../../src/skill-standard/releases.ts'
import { releasedDirectory, VocabularyError } from '../../../src/skill-standard/vocabulary.ts'
import { checkVocabulary } from './check.ts'
import type { Finding } from './finding.ts'
import { releaseVocabulary } from './release.ts'

const usage = `usage: npm run vocabulary -- lint [DIRECTORY]
       npm run vocabulary -- release VERSION [DIRECTORY]`

async function run([command, ...words]: readonly string[]): Promise<void> {
  if (command === 'lint' && words.length <= 1) {
    const [directory = releasedDirectory] = words
    print(await checkVocabulary(resolve(directory)), 'No findings.')
  } else if (command === 'release' && words.length >= 1 && words.length <= 2) {
    const [version = '', directory = releasedDirectory] = words
    print(release(resolve(directory), version), `Release ${version} is written. Commit its files.`)
  } else fail([usage], 2)
}

function release(directory: string, version: string): Finding[] {
  if (!/^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}$/.test(version))
    fail([`${version} is not a version such as 1.3.0.`, usage], 2)
  const { index, read } = openReleases(directory)
  const { license } = read(index.at(-1)?.version ?? '').release
  return releaseVocabulary(directory, { version, released_at: wireTime(systemClock()), license })
}

function print(findings: readonly Finding[], otherwise: string): void {
  if (findings.length === 0) console.log(otherwise)
  else fail(findings.map(({ rule, file, message }) => `${rule} ${file}: ${message}`))
}

function fail(lines: readonly string[], code = 1): never {
  for (const line of lines) console.error(line)
  process.exit(code)
}

try {
  await run(process.argv.slice(2))
} catch (error) {
  if (!(error instanceof VocabularyError)) throw error
  fail(error.faults)
}
