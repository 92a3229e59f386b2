/**
 * `npm run chaos [-- NAME…]`: crashes and races in many rounds, of every module or of the named
 * ones, and `npm run kit`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const known = ['credits', 'webhooks', 'clients', 'kit']

const named = process.argv.slice(2)
const unknown = named.filter((name) => !known.includes(name))
if (unknown.length > 0) {
  process.stderr.write(`No chaos called ${unknown.join(', ')}. There are: ${known.join(', ')}.\n`)
  process.exit(2)
}
for (const name of named.length > 0 ? named : known) {
  const file = name === 'kit' ? '../kit/run.ts' : `${name}.ts`
  const child = spawn(process.execPath, [join(import.meta.dirname, file)], { stdio: 'inherit' })
  const [code] = await once(child, 'exit')
  if (code !== 0) process.exitCode = 1
}
