/**
 * The peer of our webhooks: one pg-boss job for each event and endpoint, sent with undici and
 * signed in the same way. A child process of `bench/webhooks.ts`: `publish` and `steadily` write
 * the jobs, `work` sends them, `rest` stops that.
 */
import { PgBoss } from 'pg-boss'
import { Agent } from 'undici'
import { canonicalJson } from '../../../src/platform/json/canonical-json.ts'
import { attemptHeaders } from '../../../src/webhooks/delivery/attempt-request.ts'
import { eventId, eventIdRandomBytes } from '../../../src/webhooks/events/schema.ts'
import { fanOut, someEvent, steadily } from '../../webhooks-setup.ts'

const queue = 'deliveries'
const totalMs = 15_000

process.once('disconnect', () => process.exit(0))
process.once('message', (order) => void start(order))

async function start({ url, ca, receiver, bad }) {
  const boss = new PgBoss({ connectionString: url, max: 10, useListenNotify: true })
  boss.on('error', () => {})
  await boss.start()
  await boss.createQueue(queue, {
    notify: true,
    retryLimit: 9,
    retryDelay: 5,
    retryBackoff: true,
  })
  const agent = new Agent({ connections: null, allowH2: false, connect: { ca } })
  const secret = `whsec_${'a'.repeat(43)}`

  async function send({ id: jobId, data: { id, type, body, to } }) {
    const attempt = { id: jobId, eventId: id, eventType: type, body, attempt: 1, position: 1 }
    const { origin, pathname } = new URL(to)
    const answer = await agent.request({
      origin,
      path: pathname,
      method: 'POST',
      body,
      headers: attemptHeaders({ ...attempt, isTest: false }, { current: secret }, new Date()),
      signal: AbortSignal.timeout(totalMs),
    })
    await answer.body.dump()
    if (answer.statusCode >= 300) throw new Error(`status ${answer.statusCode}`)
  }

  /** Each job of a batch succeeds or fails by itself. */
  const sendAll = (jobs) =>
    Promise.all(
      jobs.map((job) =>
        send(job).then(
          () => ({ id: job.id, status: 'completed' }),
          (error) => ({ id: job.id, status: 'failed', output: { message: error.message } }),
        ),
      ),
    )

  function jobsOf(i) {
    const { type, data } = someEvent(i)
    const at = new Date()
    const id = eventId(at, crypto.getRandomValues(new Uint8Array(eventIdRandomBytes)))
    const body = canonicalJson({ createdAt: at.toISOString(), data, id, type })
    const urls = [
      ...Array.from({ length: fanOut }, (_, n) => `${receiver}/hook/${type}/${n}`),
      ...(bad ?? []),
    ]
    return { id, jobs: urls.map((to) => ({ data: { id, type, body, to } })) }
  }

  const orders = {
    async publish({ count }) {
      for (let done = 0; done < count; done += 50) {
        const batch = Array.from({ length: Math.min(50, count - done) }, (_, i) => jobsOf(done + i))
        await boss.insert(
          queue,
          batch.flatMap(({ jobs }) => jobs),
        )
      }
    },
    async steadily({ pace }) {
      const committed = await steadily(pace, async (i) => {
        const { id, jobs } = jobsOf(i)
        await boss.insert(queue, jobs)
        return id
      })
      return [...committed]
    },
    async work({ batchSize, localConcurrency }) {
      const paces = { pollingIntervalSeconds: 0.5, burstWhenBatchFull: batchSize > 1 }
      const options = { batchSize, localConcurrency, perJobResults: true, ...paces }
      await boss.work(queue, options, sendAll)
    },
    async rest() {
      await boss.offWork(queue, { wait: true })
    },
    async cost() {
      const { user, system } = process.cpuUsage()
      return user + system
    },
  }
  const obey = async (order) => process.send({ answer: await orders[order.name](order) })
  process.on('message', (order) => void obey(order))
  process.send('ready')
}
