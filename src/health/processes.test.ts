import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JobRecord } from '../platform/job-runner.ts'
import { countAbilities, type Heartbeat, jobsFault, processesOf } from './processes.ts'

const now = new Date('2026-11-25T12:00:00Z')
const ago = (seconds: number) => new Date(now.getTime() - seconds * 1_000)

function heartbeat(over: Partial<Heartbeat> = {}): Heartbeat {
  return {
    processId: '019a0000-0000-7000-8000-000000000000',
    node: 'one',
    pid: 1,
    release: '1.0.0',
    startedAt: ago(86_400),
    seenAt: ago(5),
    endedAt: null,
    serves: false,
    signs: false,
    opensSecrets: false,
    jobs: null,
    ...over,
  }
}

function job(over: Partial<JobRecord> = {}): JobRecord {
  return { everyMs: 1_000, ranAt: ago(1), succeededAt: ago(1), error: null, ...over }
}

test('a process that was not seen for a minute is dead, and one that ended lives no more', () => {
  const { live } = processesOf(
    [
      heartbeat({ node: 'lives', seenAt: ago(59) }),
      heartbeat({ node: 'dead', seenAt: ago(61) }),
      heartbeat({ node: 'ended', endedAt: ago(1) }),
    ],
    now,
  )
  assert.deepEqual(
    live.map(({ node }) => node),
    ['lives'],
  )
})

test('a dead jobs process is named with the time it was last seen, and its jobs stay known', () => {
  const processes = processesOf(
    [
      heartbeat({ serves: true }),
      heartbeat({ seenAt: ago(300), jobs: { fan: job({ succeededAt: ago(301) }) } }),
    ],
    now,
  )
  assert.equal(
    jobsFault(processes),
    `no process runs background jobs since ${ago(300).toISOString()}`,
  )
  assert.deepEqual(
    processes.jobs.map(({ name, succeededAt, isLate }) => ({ name, succeededAt, isLate })),
    [{ name: 'fan', succeededAt: ago(301), isLate: true }],
  )
  assert.equal(jobsFault(processesOf([], now)), 'no process runs background jobs')
})

test('a job is late after three pauses and a minute without success in any process', () => {
  const lateness = (succeededAt: Date | null, everyMs: number, startedAt = ago(86_400)) =>
    processesOf([heartbeat({ startedAt, jobs: { one: job({ succeededAt, everyMs }) } })], now)
      .jobs[0]?.isLate
  assert.equal(lateness(ago(65), 1_000), false)
  assert.equal(lateness(ago(75), 1_000), true)
  assert.equal(lateness(ago(10_000), 3_600_000), false)
  assert.equal(lateness(ago(11_000), 3_600_000), true)
  assert.equal(lateness(null, 1_000), true)
  assert.equal(lateness(null, 1_000, ago(30)), false, 'the process has just started')
  const two = processesOf(
    [
      heartbeat({ jobs: { one: job({ succeededAt: ago(5), ranAt: ago(5) }) } }),
      heartbeat({ jobs: { one: job({ succeededAt: ago(500), ranAt: ago(1), error: 'no key' }) } }),
    ],
    now,
  )
  assert.deepEqual(two.jobs, [
    {
      name: 'one',
      everyMs: 1_000,
      ranAt: ago(1),
      succeededAt: ago(5),
      error: 'no key',
      isLate: false,
    },
  ])
  assert.equal(jobsFault(two), null)
})

test('a job that no live process runs any more is forgotten', () => {
  const { jobs } = processesOf(
    [
      heartbeat({ jobs: { kept: job() } }),
      heartbeat({ endedAt: ago(60), seenAt: ago(60), jobs: { kept: job(), removed: job() } }),
    ],
    now,
  )
  assert.deepEqual(
    jobs.map(({ name }) => name),
    ['kept'],
  )
})

test('each ability is counted, also if no process has it', () => {
  const counts = countAbilities([
    heartbeat({ serves: true, signs: true, opensSecrets: true }),
    heartbeat({ jobs: {}, opensSecrets: true }),
  ])
  assert.deepEqual(counts, { serve: 1, jobs: 1, jobs_with_key: 0, jobs_with_keyring: 1 })
})
