/** Reports as `spec` does, and then the test files that took longest. */
import { relative } from 'node:path'
import { Readable } from 'node:stream'
import { spec } from 'node:test/reporters'

const shown = 10

export default async function* report(events) {
  const times = []
  yield* Readable.from(timed(events, times)).compose(new spec())
  if (times.length < 2) return
  yield '\nslowest test files:\n'
  for (const { file, ms } of times.sort((a, b) => b.ms - a.ms).slice(0, shown))
    yield `${(ms / 1_000).toFixed(1).padStart(7)} s  ${relative('', file)}\n`
}

async function* timed(events, times) {
  for await (const event of events) {
    const { file, duration_ms: ms } = event.data
    if (event.type === 'test:summary' && file !== undefined) times.push({ file, ms })
    yield event
  }
}
