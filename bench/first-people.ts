/**
 * People with evidence for a benchmark, and the commands that import them into its database. The
 * benchmark removes `folder` in the end.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, createWriteStream, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import flags from '../scripts/runtime/node-flags.json' with { type: 'json' }
import { releasedVocabulary } from '../src/main/scoring.ts'
import { loadReleasedVocabulary } from '../src/standard/releases.ts'
import { publicLine } from '../test/support/build/workers.ts'
import { program } from '../test/support/start/program.ts'
import { endWithBench } from './children.ts'
import { populationOf } from './search-workers.ts'
import { databaseSeconds, publicUrl } from './serving.ts'

export const folder = mkdtempSync(join(tmpdir(), 'assay-bench-'))
// The user that runs the database server must be able to enter.
chmodSync(folder, 0o755)
export const dataDir = join(folder, 'data')
export const personOf = populationOf(loadReleasedVocabulary().records)
const skills = Object.entries(releasedVocabulary())

/** Workers that search finds, with three consents and an identity check. */
export function* peopleLines(from: number, to: number) {
  for (let n = from; n < to; n++) yield publicLine({ externalId: `hr-${n}`, ...personOf(n) })
}

export function* sourceLines() {
  for (let n = 0; n < 40; n++)
    yield { id: `source-${n}`, name: `Source ${n}`, kind: 'accredited', group: `group-${n}` }
}

/** Results of one skill by different sources. */
export function* evidenceLines(from: number, to: number, items: number) {
  const observedOn = new Date(Date.now() - 30 * 86_400_000).toISOString().slice(0, 10)
  for (let n = from; n < to; n++) {
    const [skillId = '', { weightPermille } = { weightPermille: {} }] =
      skills[n % skills.length] ?? []
    const types = Object.keys(weightPermille)
    for (let i = 0; i < items; i++)
      yield {
        workerExternalId: `hr-${n}`,
        sourceId: `source-${(n + i * 7) % 40}`,
        externalId: `result-${n}-${i}`,
        skillId,
        type: types[i % types.length],
        value: 300 + ((n * 97 + i * 53) % 600),
        observedOn,
      }
  }
}

export interface Run {
  seconds: number
  /** Processor time of the command in microseconds. */
  command: number
  /** Processor time of the database in microseconds. */
  database: number
}

export async function assay(...args: string[]): Promise<Run> {
  const tell = `data:text/javascript,process.on('exit',()=>process.send(process.resourceUsage()))`
  const env = { PATH: process.env.PATH, ASSAY_DATA_DIR: dataDir, PUBLIC_URL: publicUrl }
  const before = databaseSeconds(dataDir)
  const startedAt = performance.now()
  const child = endWithBench(
    spawn(process.execPath, [...flags.flatMemory, '--import', tell, program, ...args], {
      env,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    }),
  )
  const [[usage], [code]] = await Promise.all([once(child, 'message'), once(child, 'exit')])
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}`)
  const seconds = (performance.now() - startedAt) / 1_000
  const database = (databaseSeconds(dataDir) - before) * 1e6
  return { seconds, command: usage.userCPUTime + usage.systemCPUTime, database }
}

export async function importLines(
  noun: string,
  verb: string,
  lines: Iterable<object>,
): Promise<Run> {
  const file = join(folder, `${noun}.ndjson`)
  const out = createWriteStream(file)
  for (const line of lines) if (!out.write(`${JSON.stringify(line)}\n`)) await once(out, 'drain')
  out.end()
  await once(out, 'finish')
  return assay(noun, verb, '--from', file)
}
