/**
 * `npm run chaos [-- NAME…]`: crashes and races in many rounds, of every module or of the named
 * ones, and `npm run kit`. `short` is every part with few rounds, for which five minutes are
 * enough.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const parts = ['credits', 'webhooks', 'clients', 'replicas', 'failover', 'soak']
const known = [...parts, 'kit', 'short']

const few = {
  CHAOS_SERVER_KILLS: '2',
  CHAOS_POSTGRES_KILLS: '1',
  CHAOS_RACES: '5',
  CHAOS_REVOCATIONS: '20',
  CHAOS_JOBS_KILLS: '1',
  CHAOS_DELIVERING_POSTGRES_KILLS: '1',
  CHAOS_LOAD_SECONDS: '3',
  CHAOS_FEED_EVENTS: '2000',
  CHAOS_CLIENT_CALLS: '1000',
  CHAOS_FAULTS: '2',
  CHAOS_HIDES: '200',
  CHAOS_SOAK_MINUTES: '1',
}

const named = process.argv.slice(2)
const unknown = named.filter((name) => !known.includes(name))
if (unknown.length > 0) {
  process.stderr.write(`No chaos called ${unknown.join(', ')}. There are: ${known.join(', ')}.\n`)
  process.exit(2)
}
const isShort = named.includes('short')
// Most of a failover is waiting, so in the short form the others run meanwhile.
const lanes = isShort
  ? [['failover'], parts.filter((name) => name !== 'failover')]
  : [named.length > 0 ? named : [...parts, 'kit']]
const env = { ...(isShort && few), ...process.env }
await Promise.all(
  lanes.map(async (names) => {
    for (const name of names) await run(name)
  }),
)

async function run(name: string): Promise<void> {
  const file = join(import.meta.dirname, name === 'kit' ? '../kit/run.ts' : `${name}.ts`)
  const began = performance.now()
  const [code] = await once(spawn(process.execPath, [file], { stdio: 'inherit', env }), 'exit')
  if (code !== 0) process.exitCode = 1
  process.stdout.write(`${name}: ${((performance.now() - began) / 1_000).toFixed(0)} s\n`)
}
