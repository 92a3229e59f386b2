/**
 * Checks the code without running it. Prints one line for each tool, and the findings of those that
 * fail.
 */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')

const tools = [
  { name: 'format', args: [program('@biomejs/biome', 'biome'), 'check', '.'] },
  { name: 'lint', args: [program('oxlint'), '--deny-warnings'] },
  { name: 'types', args: [program('typescript', 'tsc'), '-p', '.'] },
  {
    name: 'types of browser modules',
    args: [program('typescript', 'tsc'), '-p', 'src/web/assets'],
  },
  { name: 'unused code', args: [program('knip')] },
  { name: 'vocabulary', args: [join(root, 'packages/vocabulary/src/vocabulary.ts'), 'lint'] },
  { name: 'contract', args: [join(root, 'scripts/check-contract.mjs')] },
  { name: 'generated files', args: [join(root, 'scripts/generate/generate.ts'), '--check'] },
]

/** Two at a time: each tool uses more than one core by itself. */
const atOnce = 2

const began = performance.now()
const waiting = [...tools]
const failed = []
await Promise.all(
  Array.from({ length: atOnce }, async () => {
    for (let tool = waiting.shift(); tool !== undefined; tool = waiting.shift()) {
      const result = await runTool(tool)
      console.log(`${result.passed ? '✔' : '✖'} ${tool.name} (${result.seconds} s)`)
      if (!result.passed) failed.push({ ...tool, output: result.output })
    }
  }),
)
for (const { name, output } of failed) console.log(`\n✖ ${name}\n${output.trim()}`)
const seconds = secondsSince(began)
console.log(
  failed.length === 0
    ? `check: all ${tools.length} passed (${seconds} s)`
    : `\ncheck: ${failed.length} of ${tools.length} failed (${seconds} s)`,
)
process.exitCode = failed.length === 0 ? 0 : 1

/**
 * Returns the JavaScript file of a package's command, so that it runs on this Node without a shell.
 */
function program(packageName, command = packageName) {
  const folder = join(root, 'node_modules', packageName)
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return join(folder, typeof bin === 'string' ? bin : bin[command])
}

function runTool({ args }) {
  const start = performance.now()
  return new Promise((resolve) => {
    const flags = ['--disable-warning=ExperimentalWarning']
    const tool = spawn(process.execPath, [...flags, ...args], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined },
    })
    let output = ''
    const keep = (chunk) => {
      output += chunk
    }
    tool.stdout.setEncoding('utf8').on('data', keep)
    tool.stderr.setEncoding('utf8').on('data', keep)
    tool.once('error', (error) => keep(error.message))
    tool.once('close', (code) =>
      resolve({ passed: code === 0, seconds: secondsSince(start), output }),
    )
  })
}

function secondsSince(start) {
  return ((performance.now() - start) / 1000).toFixed(1)
}
