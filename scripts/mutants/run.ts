/**
 * `npm run mutants [-- TEXT…]`: seeds each fault of `faults.json`, or those whose name contains one
 * of the texts, into a copy of the project, and runs the tests that must notice it. Prints a table.
 * Ends with 1 if a fault survives, does not fit its file, or is noticed by a test that fails anyway.
 */
import { spawn } from 'node:child_process'
import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { globalSetup, globalTeardown } from '../../test/support/start/server.ts'
import faults from './faults.json' with { type: 'json' }

type Fault = (typeof faults)[number]

const root = join(import.meta.dirname, '../..')
/** In the project's folder, because hard links stay within a file system. */
const copy = join(root, '.runtime/mutants', String(process.pid))
const notCopied = new Set(['.git', '.runtime', '.data'])
/** For the tests of one fault. A fault can make a test wait for ever. */
const timeoutMs = 300_000

/** Links the files, so the copy takes a second. A file that changes becomes a file of its own. */
function link(from: string, to: string): void {
  mkdirSync(to, { recursive: true })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) {
      if (!notCopied.has(entry.name)) link(source, target)
    } else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target)
    else if (entry.isFile()) linkSync(source, target)
  }
}

interface Outcome {
  /** Titles of the failed tests. */
  failed: string[]
  seconds: number
}

async function runTests(tests: readonly string[], isOwnTemplate = false): Promise<Outcome> {
  const began = performance.now()
  // Without this variable, the commands and servers of tests run the sources of the copy.
  const { ASSAY_PROGRAM: _, ...env } = process.env
  const setup = isOwnTemplate ? ['--test-global-setup=test/support/start/server.ts'] : []
  // A failed test may leave a server open, which must not keep its process alive.
  const options = ['--test', '--test-force-exit', '--test-reporter=tap', ...setup]
  const child = spawn(process.execPath, [...process.execArgv, ...options, ...tests], {
    cwd: copy,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
    // A group of its own, so that the end also reaches the processes that it started.
    detached: true,
  })
  const end = () => process.kill(-(child.pid as number), 'SIGKILL')
  process.once('exit', end)
  let isLate = false
  const late = setTimeout(() => {
    isLate = true
    end()
  }, timeoutMs)
  let output = ''
  for await (const chunk of child.stdout.setEncoding('utf8')) output += chunk
  clearTimeout(late)
  process.off('exit', end)
  const failed = [...output.matchAll(/^not ok \d+ - (.+)$/gm)].map(([, title]) => title as string)
  if (isLate) failed.push(`${tests.join(', ')} did not end`)
  const isRun = /^# pass [1-9]/m.test(output) || failed.length > 0
  if (!isRun) throw new Error(`${tests.join(' ')}: no test ran\n${output}`)
  return { failed, seconds: (performance.now() - began) / 1000 }
}

/** Runs the tests with the fault in the copy. */
async function seed({ file, find, replace, tests }: Fault): Promise<Outcome> {
  const original = readFileSync(join(root, file), 'utf8')
  const parts = original.split(find)
  if (parts.length !== 2) throw new Error(`${file} has its text ${parts.length - 1} times`)
  const changed = parts.join(replace)
  // A program that does not parse would fail every test.
  if (file.endsWith('.ts')) stripTypeScriptTypes(changed)
  const path = join(copy, file)
  rmSync(path)
  writeFileSync(path, changed)
  try {
    return await runTests(tests, file.startsWith('migrations/'))
  } finally {
    rmSync(path)
    linkSync(join(root, file), path)
  }
}

const asked = process.argv.slice(2)
const chosen = faults.filter(
  ({ name }) => asked.length === 0 || asked.some((text) => name.includes(text)),
)
if (chosen.length === 0) {
  console.error(`No fault has ${asked.join(' or ')} in its name.`)
  process.exit(2)
}

/** Test files that fail without a fault. They notice nothing. */
const red = new Map<string, string>()
let survivors = 0

function say(fault: Fault, killedBy: string, seconds: number): void {
  console.log(`| ${fault.name} | ${fault.promise} | ${killedBy} | ${seconds.toFixed(1)} s |`)
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
process.once('exit', () => rmSync(copy, { recursive: true, force: true }))
link(root, copy)
process.chdir(copy)
await globalSetup()
try {
  for (const test of new Set(chosen.flatMap(({ tests }) => tests))) {
    const { failed } = await runTests([test])
    if (failed.length > 0) red.set(test, failed.join(', '))
  }
  for (const [test, titles] of red) console.log(`${test} fails without a fault: ${titles}`)
  console.log('| Fault | Promise | Killed by | Time |\n|---|---|---|---|')
  for (const fault of chosen) {
    const { failed, seconds } = await seed(fault)
    const isKilled = failed.length > 0 && !fault.tests.some((test) => red.has(test))
    if (!isKilled) survivors++
    say(fault, isKilled ? (failed[0] as string) : '**survives**', seconds)
  }
} finally {
  await globalTeardown()
}
console.log(`\n${chosen.length} faults, ${chosen.length - survivors} killed, ${survivors} survive`)
if (survivors > 0) process.exitCode = 1
