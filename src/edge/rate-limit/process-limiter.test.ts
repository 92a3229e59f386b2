import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inProcessRateLimiter } from './process-limiter.ts'

const policy = { name: 'verify', perMinute: 60, perDay: 1_000 }
const address = (key: string) => ({ buckets: [{ key, factor: 1 }] })
const network = (key: string) => ({
  buckets: [
    { key, factor: 1 },
    { key: 'wide', factor: 10 },
  ],
})

async function grants(take: () => Promise<{ allowed: boolean }>, calls: number): Promise<number> {
  let count = 0
  for (let i = 0; i < calls; i++) if ((await take()).allowed) count++
  return count
}

test('a single node grants the whole limit, one of two nodes half of it, one of a thousand one call', async () => {
  for (const [nodes, share] of [
    [1, 60],
    [2, 30],
    [1_000, 1],
  ] as const) {
    const limiter = inProcessRateLimiter({ nodes, now: () => 0 })
    assert.equal(await grants(() => limiter.take(address('a'), policy), 100), share)
    assert.equal(await grants(() => limiter.take(address('b'), policy), 100), share)
  }
})

test('a denied call names the time at which a retry succeeds, and calls meanwhile do not move it', async () => {
  let now = 5
  const limiter = inProcessRateLimiter({ nodes: 1, now: () => now })
  await grants(() => limiter.take(address('a'), policy), 60)
  now = 30_005
  const refused = await limiter.take(address('a'), policy)
  assert.deepEqual(refused, {
    allowed: false,
    retryAfterSeconds: 30,
    minute: { limit: 60, remaining: 0, resetSeconds: 30 },
    day: { limit: 1_000, remaining: 940, resetSeconds: 86_370 },
  })
  await grants(() => limiter.take(address('a'), policy), 500)
  now = 60_005
  assert.equal((await limiter.take(address('a'), policy)).allowed, true)
})

test('a call that the wider network denies is not counted for the narrower one', async () => {
  let now = 0
  const limiter = inProcessRateLimiter({ nodes: 1, now: () => now })
  for (let i = 0; i < 10; i++)
    assert.equal(await grants(() => limiter.take(network(`n${i}`), policy), 60), 60)
  now = 30_000
  assert.equal(await grants(() => limiter.take(network('late'), policy), 10), 0)
  now = 60_000
  const verdict = await limiter.take(network('late'), policy)
  assert.equal(verdict.allowed, true)
  assert.equal(verdict.minute.remaining, 59)
})

test('policies are counted separately', async () => {
  const limiter = inProcessRateLimiter({ nodes: 1, now: () => 0 })
  await grants(() => limiter.take(address('a'), policy), 61)
  assert.equal((await limiter.take(address('a'), { ...policy, name: 'other' })).allowed, true)
})

test('with too many callers the one that called longest ago is forgotten, not one that keeps calling', async () => {
  const limiter = inProcessRateLimiter({ nodes: 1, entriesMax: 100, now: () => 0 })
  const one = { ...policy, perMinute: 1 }
  for (let i = 0; i < 1_000; i++) {
    const hammering = await limiter.take(address('hammering'), one)
    assert.equal(hammering.allowed, i === 0)
    assert.equal((await limiter.take(address(`other ${i}`), one)).allowed, true)
  }
  assert.equal((await limiter.take(address('other 0'), one)).allowed, true)
})
