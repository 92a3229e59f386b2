import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { openLog } from './log.ts'

const log = join(import.meta.dirname, 'log.ts')

test('a line that is logged right before the process ends is written, also to a pipe', async () => {
  const program = `
    import { openLog } from ${JSON.stringify(log)}
    const log = openLog({ level: 'info' })
    const line = { method: 'GET', route: '/', status: 200, us: 1, requestId: 'r', client: 'c' }
    for (let i = 0; i < 300; i++) log.request(line)
    log.error('last words', new Error('gone', { cause: new Error('why') }))
    process.exit(3)`
  const run = promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])
  const ended = await run.catch((error: { code: number; stdout: string }) => error)
  assert.ok('code' in ended && ended.code === 3)
  const lines = ended.stdout.trim().split('\n')
  assert.equal(lines.length, 301)
  // The write at exit may overtake one that is under way: each line has its time.
  const last = lines.find((text) => text.includes('last words')) ?? ''
  const { message, cause } = JSON.parse(last).error
  assert.deepEqual([message, cause.message], ['gone', 'why'])
})

test('each line names its node, process and release, and a request also the id of its caller', () => {
  let written = ''
  const origin = { node: 'a"b', process: 7, release: '1.2.3' }
  const log = openLog({ level: 'info', origin, to: { write: (text) => (written += text) } })
  const line = { method: 'GET', route: '/', status: 200, us: 1, requestId: 'r', client: 'c' }
  log.request({ ...line, error: undefined, callerRequestId: 'from-caller' })
  log.request({ ...line, error: undefined })
  log.warn('a warning')
  log.flush()
  const [named, unnamed, warning] = written
    .trim()
    .split('\n')
    .map((text) => JSON.parse(text))
  for (const { node, process, release } of [named, unnamed, warning])
    assert.deepEqual({ node, process, release }, origin)
  assert.deepEqual([named.callerRequestId, named.requestId], ['from-caller', 'r'])
  assert.equal('callerRequestId' in unnamed, false)
})

test('256 lines are written at once; 255 wait', () => {
  const written: string[] = []
  const log = openLog({ level: 'info', to: { write: (lines) => written.push(lines) } })
  const line = { method: 'GET', route: '/', status: 200, us: 1, requestId: 'r', client: 'c' }
  const request = (): void => log.request({ ...line, error: undefined })
  for (let i = 1; i < 256; i++) request()
  assert.equal(written.length, 0)
  request()
  assert.equal(written.length, 1)
  assert.equal(written[0]?.trim().split('\n').length, 256)
  request()
  assert.equal(written.length, 1, 'the next ones wait again')
  log.flush()
  assert.equal(written.length, 2)
})
