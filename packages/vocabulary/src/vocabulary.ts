/** `npm run vocabulary`: checks the skill records, and releases them. */
import { resolve } from 'node:path'
import { systemClock, wireTime } from '../../../src/platform/clock.ts'
import { openReleases, releasedDirectory, VocabularyError } from '../../../src/standard/releases.ts'
import { checkVocabulary } from './check.ts'
import { releaseVocabulary } from './release.ts'
import type { Finding } from './source.ts'

const usage = `usage: npm run vocabulary -- lint [DIRECTORY]
       npm run vocabulary -- release VERSION [DIRECTORY]`

interface Result {
  exitCode: 0 | 1 | 2
  lines: readonly string[]
}

/** Performs the command in these words. */
export async function runVocabulary([command, ...words]: readonly string[]): Promise<Result> {
  try {
    if (command === 'lint' && words.length <= 1) {
      const [directory = releasedDirectory] = words
      return resultOf(await checkVocabulary(resolve(directory)), 'No findings.')
    }
    const [version = '', directory = releasedDirectory] = words
    const isVersion = /^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}$/.test(version)
    if (command !== 'release' || !isVersion || words.length > 2)
      return { exitCode: 2, lines: [usage] }
    return resultOf(
      release(resolve(directory), version),
      `Release ${version} is written. Commit its files.`,
    )
  } catch (error) {
    if (!(error instanceof VocabularyError)) throw error
    return { exitCode: 1, lines: error.faults }
  }
}

function release(directory: string, version: string): Finding[] {
  const { index, read } = openReleases(directory)
  const { license } = read(index.at(-1)?.version ?? '').release
  return releaseVocabulary(directory, { version, released_at: wireTime(systemClock()), license })
}

function resultOf(findings: readonly Finding[], otherwise: string): Result {
  if (findings.length === 0) return { exitCode: 0, lines: [otherwise] }
  const lines = findings.map(({ rule, file, message }) => `${rule} ${file}: ${message}`)
  return { exitCode: 1, lines }
}

if (import.meta.main) {
  const { exitCode, lines } = await runVocabulary(process.argv.slice(2))
  console.log(lines.join('\n'))
  process.exitCode = exitCode
}
