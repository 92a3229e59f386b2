/** The server with x402 payments enabled, as the operator starts it. */
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ended } from '../support/start/command-line.ts'
import { installation } from '../support/start/installation.ts'

const command = await installation()
const keyFile = join(command.folder, 'relayer.key')
const canary = 'canary-of-the-node'
Object.assign(command.env, {
  METERING: 'on',
  X402_FACILITATOR: 'local',
  X402_RPC_URL: `http://127.0.0.1:1/${canary}`,
  X402_RELAYER_KEY_FILE: keyFile,
  X402_PAY_TO: `0x${'a'.repeat(40)}`,
  X402_SECRETS: 'a secret of at least thirty-two characters',
})

test('an invalid relayer key stops the start, and the message reveals neither key nor node', async () => {
  writeFileSync(keyFile, 'a key of another kind')
  const { code, out, err } = await command.run(['serve'])
  assert.equal(code, 1)
  assert.match(out, /"why":"X402_RELAYER_KEY_FILE must name a file/)
  assert.doesNotMatch(out + err, /another kind|canary/)
})

test('doctor: a key that would stop the start is a failure; a silent node is a warning', async () => {
  const broken = await command.run(['doctor'])
  assert.equal(broken.code, 1)
  assert.match(broken.out, /^fail +payments +X402_RELAYER_KEY_FILE must name a file/m)
  writeFileSync(keyFile, `0x${'1'.repeat(64)}\n`)
  const silent = await command.run(['doctor'])
  assert.equal(silent.code, 0)
  assert.match(silent.out, /^warn +payments +the node does not answer/m)
  assert.doesNotMatch(broken.out + silent.out, /another kind|canary/)
})

const noPayments = { X402_FACILITATOR: 'none', X402_PAY_TO: '', X402_RELAYER_KEY_FILE: '' }

test('doctor: metering without a payee is a warning; without metering there is no finding (decision D21)', async () => {
  const doctor = async (env: Record<string, string>) =>
    (await ended(startWith(env, ['doctor']))).out
  assert.match(
    await doctor(noPayments),
    /^warn +payments +callers without a key get 402.*X402_PAY_TO/m,
  )
  assert.match(await doctor({ ...noPayments, METERING: 'off' }), /^ok +payments +none: METERING/m)
  const { X402_PAY_TO: _, ...payee } = noPayments
  assert.match(await doctor(payee), /^warn +payments +no facilitator is set/m)
})

test('enabled but unused payments cost a server less than 30 MB', async () => {
  const without = await peakBytesOf(noPayments)
  const bytes = (await peakBytesOf({})) - without
  assert.ok(bytes < 30e6, `${Math.round(bytes / 1e6)} MB over ${Math.round(without / 1e6)} MB`)
})

function startWith(env: Record<string, string>, args: readonly string[]): ChildProcess {
  const before = { ...command.env }
  Object.assign(command.env, env)
  const child = command.start(args)
  Object.assign(command.env, before)
  return child
}

/** Returns the peak memory of a server from its start until it listens, in bytes. */
async function peakBytesOf(env: Record<string, string>): Promise<number> {
  const child = startWith(env, ['serve'])
  const end = ended(child)
  let output = ''
  child.stdout?.on('data', (text: string) => {
    const isNews = !output.includes('"listening"')
    output += text
    if (isNews && output.includes('"listening"')) child.kill('SIGINT')
  })
  const { out, err, peakBytes } = await end
  assert.match(out, /"listening"/)
  assert.doesNotMatch(out + err, /canary/)
  return peakBytes
}
