/**
 * `npm run bench [-- NAME…] [--json]`: runs every benchmark or the named ones, each in its own
 * process.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpus } from 'node:os'
import { join } from 'node:path'

const benches = [
  'verify-module',
  'status-lists',
  'scoring-core',
  'scoring-properties',
  'evidence-import',
  'sessions',
  'pages',
  'recompute',
  'growth',
  'first-load',
  'search',
  'hidden',
  'replicas',
  'credits',
  'webhooks',
  'x402',
  'sdk',
  'http',
  'overload',
]

const options = process.argv.slice(2).filter((argument) => argument.startsWith('--'))
const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const unknown = named.filter((name) => !benches.includes(name))
if (unknown.length > 0) {
  process.stderr.write(`No benchmark ${unknown.join(', ')}. There are: ${benches.join(', ')}.\n`)
  process.exit(2)
}

const processors = cpus()
const machine = {
  processor: processors[0]?.model ?? 'unknown',
  cores: processors.length,
  node: process.version,
  openssl: process.versions.openssl,
}
process.stdout.write(
  options.includes('--json')
    ? `${JSON.stringify({ machine })}\n`
    : `${machine.processor}, ${machine.cores} cores, Node ${machine.node}, OpenSSL ${machine.openssl}\n`,
)

for (const name of named.length > 0 ? named : benches) {
  const file = join(import.meta.dirname, `${name}.ts`)
  const child = spawn(process.execPath, [file, ...options], { stdio: 'inherit' })
  const [code] = await once(child, 'exit')
  if (code !== 0) process.exitCode = 1
}
