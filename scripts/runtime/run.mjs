/** Runs a command of the project under Node 24 with the same terminal, signals and exit code. */
import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureBundledPackages } from './bundled-packages.mjs'
import { flags } from './flags.mjs'
import { compileCache, ensureFolder, ensureInstalled } from './install.mjs'
import { memoryFolder } from './memory-folder.mjs'
import { ensureProgram } from './program.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '../..')

const x402Client = 'test/clients/x402-fetch'
const mcp = 'packages/mcp'
const sdkTools = 'test/clients/sdk'
const clientsOfTests = [
  x402Client,
  mcp,
  'test/clients/mcp-inspector',
  'test/clients/node',
  sdkTools,
]
const x402Peer = 'bench/peers/x402-express'
/** Folders that a benchmark needs. */
const foldersOfBenches = { x402: x402Peer, sdk: sdkTools }

const useBundles = `--import=${join(root, 'scripts/runtime/use-bundled-packages.mjs')}`

/**
 * `args`: the arguments of Node, made from those that were given and the file of the program.
 * `folders`: folders with their own packages, installed on demand. `cwd`: base of relative paths in
 * the arguments, if it is not the project's folder. `runsTests`: it loads packages from bundles, and
 * its temporary files are in memory.
 */
const commands = {
  start: { args: (more, program) => [...flags.serve, program, 'serve', '--demo', ...more] },
  assay: {
    args: (more, program) => [
      ...(more[0] === 'serve' ? flags.serve : flags.flatMemory),
      program,
      ...more,
    ],
    cwd: process.cwd(),
  },
  generate: { args: (more) => [join(root, 'scripts/generate/generate.ts'), ...more] },
  check: { args: (more) => [join(root, 'scripts/check.mjs'), ...more], folders: () => [mcp] },
  vocabulary: {
    args: (more) => [join(root, 'packages/vocabulary/src/vocabulary.ts'), ...more],
    cwd: process.cwd(),
  },
  prepack: { args: () => [join(root, 'scripts/release/pack.mjs')] },
  postpack: { args: () => [join(root, 'scripts/release/pack.mjs'), 'after'] },
  release: {
    args: (more) => [join(root, 'scripts/release/release.ts'), ...more],
    folders: () => [mcp],
  },
  chaos: { args: (more) => [join(root, 'scripts/chaos/run.ts'), ...more] },
  kit: { args: (more) => [join(root, 'scripts/kit/run.ts'), ...more] },
  mutants: {
    args: (more) => [useBundles, join(root, 'scripts/mutants/run.ts'), ...more],
    runsTests: true,
  },
  bench: {
    args: (more) => [join(root, 'bench/run.ts'), ...more],
    folders: (more) => {
      const names = more.filter((arg) => !arg.startsWith('-'))
      const needed = names.length === 0 ? Object.keys(foldersOfBenches) : names
      return needed.flatMap((name) => foldersOfBenches[name] ?? [])
    },
  },
  'demo:x402': {
    args: (more) => [join(root, 'scripts/demo-x402.ts'), ...more],
    folders: () => [x402Client],
  },
  test: { args: testArguments, folders: () => clientsOfTests, runsTests: true },
}

const allTests = ['src/**/*.test.ts', 'packages/**/*.test.ts', 'test/**/*.test.ts']

function testArguments(more) {
  const files = more.some((arg) => !arg.startsWith('-')) ? [] : allTests
  const setup = `--test-global-setup=${join(root, 'test/support/start/server.ts')}`
  const reporter = `--test-reporter=${join(root, 'scripts/runtime/test-reporter.mjs')}`
  return ['--test', useBundles, setup, '--test-concurrency=3', reporter, ...more, ...files]
}

export async function run(name, more) {
  const command = Object.hasOwn(commands, name ?? '') ? commands[name] : undefined
  if (command === undefined) {
    console.error(`usage: node scripts/bootstrap.mjs <${Object.keys(commands).join('|')}> [args…]`)
    process.exit(2)
  }
  try {
    const node = await ensureInstalled(root)
    for (const folder of command.folders?.(more) ?? []) await ensureFolder(root, folder, node)
    const program = await ensureProgram(root)
    const args = [...flags.every, ...command.args(more, program)]
    const launcher = { ASSAY_LAUNCHER_PID: String(process.pid), ASSAY_PROGRAM: program }
    const ofTests = command.runsTests
      ? { ASSAY_BUNDLED_PACKAGES: await ensureBundledPackages(root), ...memoryFolder() }
      : {}
    const cache = { NODE_COMPILE_CACHE: compileCache(root) }
    const env = { ...cache, ...process.env, ...launcher, ...ofTests }
    const cwd = command.cwd ?? root
    if (canBecome()) become(node, args, { cwd, env })
    passOn(spawn(node, args, { stdio: 'inherit', cwd, env }))
  } catch (error) {
    console.error(error.message)
    process.exit(1)
  }
}

/**
 * The launcher becomes the program where its Node can: from 22.15 on, and not on Windows. No second
 * process takes 60 MB, and every signal reaches the program. Under npm it stays and watches.
 */
function canBecome() {
  const isUnderNpm = process.env.npm_lifecycle_event !== undefined
  return process.execve !== undefined && process.platform !== 'win32' && !isUnderNpm
}

function become(node, args, { cwd, env }) {
  process.chdir(cwd)
  process.execve(node, [node, ...args], env)
}

/** npm sends a signal to the shell that runs us; the shell ends and does not pass it on. */
function whenCallerOfNpmEnds(end) {
  if (process.env.npm_lifecycle_event === undefined) return
  const caller = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === caller) return
    clearInterval(watch)
    end()
  }, 250)
  watch.unref()
}

function passOn(child) {
  // In a terminal, Ctrl-C reaches the whole process group, so the child has it already. Without a
  // terminal the signal may be sent to this process alone.
  const isTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY
  let isInterrupted = isTerminal
  let isSignalled = false
  process.on('SIGINT', () => {
    if (!isInterrupted) child.kill('SIGINT')
    isInterrupted = true
    isSignalled = true
  })
  for (const signal of ['SIGTERM', 'SIGHUP'])
    process.on(signal, () => {
      child.kill(signal)
      isSignalled = true
    })
  whenCallerOfNpmEnds(() => isSignalled || child.kill('SIGTERM'))
  child.once('error', (error) => {
    console.error(error.message)
    process.exit(1)
  })
  child.once('exit', (code, signal) => {
    if (signal === null) process.exit(code)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}
