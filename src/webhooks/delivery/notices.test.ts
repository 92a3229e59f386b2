/** Notices to the operator about failing endpoints, and how often they come. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import {
  began,
  createEndpoint,
  failing,
  forgetWebhooks,
  happen,
  receiver,
  startDelivering,
} from '../../../test/support/build/webhooks.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { sql } from '../../platform/db/db.ts'
import { openLog } from '../../platform/observability/log.ts'
import { createMetrics } from '../../platform/observability/metrics.ts'
import { checkFailingEndpoints } from '../endpoints/enable.ts'
import { type GaveUp, type Notices, openNotices } from './notices.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())
beforeEach(() => forgetWebhooks(db))

/** Collects notices as the jobs process gives them. */
function operator(record: Notices['record'] = () => Promise.resolve()) {
  let lines = ''
  const log = openLog({ level: 'info', to: { write: (text) => void (lines += text) } })
  const metrics = createMetrics()
  const recorded: GaveUp[] = []
  const notices = openNotices({
    log,
    metrics,
    record: async (tx, gaveUp) => {
      await record(tx, gaveUp)
      recorded.push(gaveUp)
    },
  })
  return {
    notices,
    recorded,
    logLines() {
      log.flush()
      return lines
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line))
        .map(({ level, msg, endpointId, hours }) => ({ level, msg, endpointId, hours }))
    },
    async counted() {
      const text = await metrics.text()
      return [...text.matchAll(/^webhook_notices_total\{notice="(\w+)"\} (\d+)$/gm)].map(
        ([, notice, count]) => `${notice} ${count}`,
      )
    },
  }
}

/** Creates an endpoint that fails every delivery. */
async function failingEndpoint(): Promise<string> {
  const { url } = await receiver(failing)
  const { id } = await createEndpoint(db, url)
  return id
}

const isActive = async (id: string) => {
  const [row] = await db.rows<{ active: boolean }>(
    sql`select disabled_at is null as active from webhook_endpoints where id = ${id}`,
  )
  return row?.active
}

test('an endpoint without a success for one, three and five days gives one notice each, with any number of processes', async () => {
  const id = await failingEndpoint()
  const { notices, recorded, logLines, counted } = operator()
  const deliverer = startDelivering(db, { notices })
  await happen(db, 'score.updated', { count: 3 })
  for (let hour = 0; hour < 121; hour++) {
    await deliverer.deliver()
    await Promise.all([1, 2, 3].map(() => checkFailingEndpoints(db, notices, deliverer.now())))
    deliverer.moveBy(3_600)
  }
  const fails = { level: 'warn', msg: 'a webhook endpoint fails', endpointId: id }
  assert.deepEqual(logLines(), [
    { ...fails, hours: 24 },
    { ...fails, hours: 72 },
    {
      level: 'warn',
      msg: 'a webhook endpoint is disabled: five days without a success',
      endpointId: id,
      hours: undefined,
    },
  ])
  assert.deepEqual(await counted(), ['failing_24h 1', 'failing_72h 1', 'disabled_failing 1'])
  const at = new Date(began.getTime() + 120 * 3_600_000)
  assert.deepEqual(recorded, [{ endpointIds: [id], reason: 'failing', at }])
})

test('410 to many deliveries at once gives one notice, recorded with the disabling', async () => {
  const { url } = await receiver((response) => response.writeHead(410).end())
  const { id } = await createEndpoint(db, url)
  const { notices, recorded, logLines, counted } = operator()
  const deliverer = startDelivering(db, { notices })
  await happen(db, 'score.updated', { count: 20 })
  await deliverer.deliver()
  assert.deepEqual(recorded, [{ endpointIds: [id], reason: 'gone', at: began }])
  assert.deepEqual(
    logLines().map(({ msg }) => msg),
    ['a webhook endpoint is disabled: its receiver answered 410'],
  )
  assert.deepEqual(await counted(), ['disabled_gone 1'])
})

test('if a notice cannot be recorded, the endpoint stays active and no notice is given', async () => {
  const id = await failingEndpoint()
  const { notices, logLines } = operator(() => Promise.reject(new Error('no audit log')))
  const deliverer = startDelivering(db)
  await happen(db, 'score.updated', { count: 3 })
  for (let hour = 0; hour < 121; hour++) {
    await deliverer.deliver()
    deliverer.moveBy(3_600)
  }
  await assert.rejects(checkFailingEndpoints(db, notices, deliverer.now()), /no audit log/)
  assert.equal(await isActive(id), true)
  assert.deepEqual(logLines(), [])
})
