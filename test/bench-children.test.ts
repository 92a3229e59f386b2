import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { eventually, isAlive } from './support/start/processes.ts'

/** A benchmark that prints the process id of its child and then runs `ending`. */
const benchmark = (ending: string): string => `
  import { spawn } from 'node:child_process'
  import { endWithBench } from './bench/children.ts'
  const child = endWithBench(spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']))
  console.log(child.pid)
  ${ending}`

async function start(ending: string) {
  const args = ['--input-type=module', '--eval', benchmark(ending)]
  const parent = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] })
  const exited = once(parent, 'exit')
  const [line] = await once(createInterface({ input: parent.stdout }), 'line')
  return { parent, exited, childPid: Number(line) }
}

test('bench: a child ends with a benchmark that throws', async () => {
  const { exited, childPid } = await start(`throw new Error('no figures')`)
  assert.equal((await exited)[0], 1)
  await eventually('the child has ended', { see: async () => !isAlive(childPid) })
})

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)
  test(`bench: a child ends with a benchmark that gets ${signal}`, async () => {
    const { parent, exited, childPid } = await start(`await new Promise(() => {})`)
    parent.kill(signal)
    assert.equal((await exited)[0], code)
    await eventually('the child has ended', { see: async () => !isAlive(childPid) })
  })
