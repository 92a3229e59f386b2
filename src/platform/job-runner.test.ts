import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { DatabaseError } from 'pg'
import { UnavailableError } from './errors.ts'
import { createWakeUp, type Job, type JobRecords, runJobs } from './job-runner.ts'
import { openLog } from './observability/log.ts'

function capture() {
  const lines: {
    msg: string
    job: string
    why?: string
    error?: { message: string; stack: string }
  }[] = []
  const write = (text: string): void => {
    for (const line of text.trim().split('\n')) lines.push(JSON.parse(line))
  }
  const log = openLog({ level: 'info', to: { write } })
  return { lines, log }
}

test('a job that keeps failing is logged once a minute, and its record names the error', async () => {
  const { lines, log } = capture()
  const ending = new AbortController()
  const records: JobRecords = new Map()
  let runs = 0
  const job: Job = {
    name: 'fails',
    everyMs: 0,
    async run() {
      runs++
      if (runs === 122) ending.abort()
      if (runs <= 121) throw new Error(`failure ${runs}`)
    },
  }
  // Each run takes a second.
  const elapsedMs = () => runs * 1_000
  await runJobs([job], { log, signal: ending.signal, records, elapsedMs })
  log.flush()
  assert.deepEqual(
    lines.map(({ msg, error }) => `${msg} ${error?.message ?? ''}`),
    [
      'a job fails failure 1',
      'a job fails failure 61',
      'a job fails failure 121',
      'a job works again ',
    ],
  )
  const record = records.get('fails')
  assert.equal(record?.error, null)
  assert.ok(record.ranAt !== null && record.succeededAt !== null)
})

test('a job that fails because a dependency does not answer is one short line, but a timeout has its stack', async () => {
  const lineOf = async (cause?: Error) => {
    const { lines, log } = capture()
    const ending = new AbortController()
    async function run() {
      ending.abort()
      throw new UnavailableError('no database connection', { cause })
    }
    await runJobs([{ name: 'fails', everyMs: 0, run }], { log, signal: ending.signal })
    log.flush()
    const [line = assert.fail('a line is logged')] = lines
    assert.deepEqual([line.msg, line.job], ['a job fails', 'fails'])
    return line
  }
  const refused = await lineOf(new AggregateError([new Error('refused')]))
  assert.deepEqual(
    [refused.error, refused.why],
    [undefined, 'no database connection: Error: refused'],
  )
  assert.equal((await lineOf()).why, 'no database connection')
  for (const code of ['57014', '55P03']) {
    const late = Object.assign(new DatabaseError('canceling statement', 0, 'error'), { code })
    assert.match((await lineOf(late)).error?.stack ?? '', /job-runner\.test/)
  }
})

test('an hourly job that fails waits a minute, then twice as long each time, and an hour at most', async () => {
  const { log } = capture()
  const ending = new AbortController()
  const waits: number[] = []
  const wakeUp = {
    notify() {},
    async wait(ms: number) {
      waits.push(ms)
      if (waits.length === 9) ending.abort()
    },
  }
  async function run() {
    if (waits.length !== 7) throw new Error('the database restarts')
  }
  const job = { name: 'hourly', everyMs: 3_600_000, wakeUp, run }
  await runJobs([job], { log, signal: ending.signal })
  const minutes = waits.map((ms) => ms / 60_000)
  assert.deepEqual(minutes, [1, 2, 4, 8, 16, 32, 60, 60, 1])
})

test('jobs do not start together: the most frequent ones start first', async () => {
  const { log } = capture()
  const ending = new AbortController()
  const started: { name: string; at: number }[] = []
  const job = (name: string, everyMs: number): Job => ({
    name,
    everyMs,
    async run() {
      started.push({ name, at: performance.now() })
      if (started.length === 3) ending.abort()
    },
  })
  const jobs = [job('hourly', 3_600_000), job('quick', 10_000), job('minutely', 60_000)]
  const beganAt = performance.now()
  await runJobs(jobs, { log, signal: ending.signal })
  assert.deepEqual(
    started.map(({ name }) => name),
    ['quick', 'minutely', 'hourly'],
  )
  // On a busy machine a job starts late, and the next one soon after it, but none starts early.
  for (const [place, { at }] of started.entries())
    assert.ok(at - beganAt > place * 40 - 2, JSON.stringify({ beganAt, started }))
})

const long = 3_600_000

test('a notification ends the wait that is under way', async () => {
  const wakeUp = createWakeUp()
  const paused = wakeUp.wait(long)
  wakeUp.notify()
  await paused
})

test('a notification without a wait ends the next wait, and only that one', async () => {
  const wakeUp = createWakeUp()
  wakeUp.notify()
  wakeUp.notify()
  await wakeUp.wait(long)
  const ending = new AbortController()
  const second = wakeUp.wait(long, ending.signal).then(() => 'ended')
  assert.equal(await Promise.race([second, nextTurn('paused')]), 'paused')
  ending.abort()
  assert.equal(await second, 'ended')
})

test('a wait ends by itself and on its signal', async () => {
  const wakeUp = createWakeUp()
  await wakeUp.wait(1)
  await wakeUp.wait(long, AbortSignal.abort())
})

test('a signal that outlives many waits keeps no listener of them', async () => {
  const { signal } = new AbortController()
  const wakeUp = createWakeUp()
  for (let i = 0; i < 20; i++) {
    const paused = wakeUp.wait(long, signal)
    wakeUp.notify()
    await paused
  }
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})
