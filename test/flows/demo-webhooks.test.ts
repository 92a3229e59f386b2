/**
 * The demo's webhooks: `assay demo tick` revokes an item of evidence, and the terminal of `serve`
 * shows the verified event.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { beforeRival } from '../support/fault/rival.ts'
import { get } from '../support/start/deployment.ts'
import { eventually, report, startServer, temporaryFolder } from '../support/start/processes.ts'

const env = {
  ASSAY_DATA_DIR: join(temporaryFolder(), 'demo'),
  PUBLIC_URL: 'http://localhost:8080',
}

test('the terminal of the demo shows the verified event within a second of a tick, also after a restart', async () => {
  for (const start of ['the first', 'the second']) {
    const server = await startServer(env, ['--demo'])
    const ticked = await report(['demo', 'tick'], env)
    assert.ok(Array.isArray(ticked.revoked) && ticked.revoked.length === 1)
    const line = `webhook evidence.revoked received, signature verified: evt_`
    const what = `${start} start shows the event`
    const rival = async (): Promise<void> => {
      for (let i = 0; i < 5; i++) await get(server.base, '/readyz')
    }
    await beforeRival(
      { what, withinMs: 1_000, rival },
      eventually(what, {
        see: async () =>
          server.out().includes(line) && server.out().includes(String(ticked.revoked)),
      }),
    )
    server.signal('SIGINT')
    assert.equal(await server.ended, 0)
  }
  const { endpoints } = await report(['webhooks', 'endpoints'], env)
  assert.ok(Array.isArray(endpoints) && endpoints.length === 2, 'the last receiver, one that fails')
  const { endpoints: failing } = await report(['webhooks', 'failing'], env)
  assert.ok(Array.isArray(failing) && failing.length === 1, 'the endpoint of the story fails')
})
