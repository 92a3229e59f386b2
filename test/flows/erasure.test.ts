/** Exporting and erasing a worker, as an operator does it. */
import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { publicLine } from '../support/build/workers.ts'
import { installation } from '../support/start/installation.ts'

async function withWorker() {
  const line = await installation()
  const worker = publicLine({ username: 'ada', bio: 'CANARY' })
  const imported = await line.run(['workers', 'import', '--from', '-'], JSON.stringify(worker))
  assert.equal(imported.code, 0, imported.err)
  return line
}

test('workers export: writes a file that only the operator can read, or standard output', async () => {
  const { run, folder } = await withWorker()
  const out = join(folder, 'ada.json')
  assert.equal((await run(['workers', 'export', '@ada', '--out', out])).code, 0)
  assert.equal(statSync(out).mode & 0o777, 0o600)
  assert.equal(JSON.parse(readFileSync(out, 'utf8')).profile.bio, 'CANARY')
  const again = await run(['workers', 'export', 'ada', '--out', out])
  assert.deepEqual([again.code, again.out], [2, ''])
  assert.match(again.err, /exists already/)
  const printed = await run(['workers', 'export', 'ada'])
  assert.equal(JSON.parse(printed.out).profile.username, 'ada')
  assert.equal((await run(['workers', 'export', 'nobody'])).code, 1)
})

test('workers erase: requires --yes, erases the worker, and writes an audit entry without a name', async () => {
  const { run } = await withWorker()
  const erase = ['workers', 'erase', 'ada', '--reason', 'worker_request']
  const refused = await run(erase)
  assert.deepEqual([refused.code, refused.out], [2, ''])
  assert.match(refused.err, /never given again\. Add --yes to do it/)
  const dry = await run([...erase, '--dry-run'])
  assert.match(dry.out, /^Dry run: nothing was changed[^]*ada is erased: 0 items of evidence/)
  assert.equal((await run(['workers', 'show', 'ada'])).code, 0)
  for (const wrong of [
    ['workers', 'erase', 'ada'],
    ['workers', 'erase', 'ada', '--reason', 'boredom', '--yes'],
  ])
    assert.equal((await run(wrong)).code, 2)
  const erased = await run([...erase, '--by', 'Ada CANARY', '--json', '--yes'])
  assert.equal(erased.code, 0, erased.err)
  assert.partialDeepStrictEqual(JSON.parse(erased.out), { ok: true, evidenceErased: 0 })
  assert.equal((await run(['workers', 'show', 'ada'])).code, 1)
  assert.equal((await run([...erase, '--yes'])).code, 1)
  const log = await run(['audit', 'list', '--json'])
  assert.match(log.out, /workers\.erased/)
  assert.doesNotMatch(log.out, /CANARY|"ada"/)
  assert.equal((await run(['audit', 'verify'])).code, 0)
})
