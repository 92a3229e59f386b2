/** The packed package, installed alone in an empty folder, as its users get it. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../test/support/start/processes.ts'

const root = join(import.meta.dirname, '../../..')
const env = {
  ...process.env,
  PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
  npm_config_update_notifier: 'false',
}

function run(program: string, args: readonly string[], cwd: string): string {
  return execFileSync(program, args, {
    cwd,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

test('the packed client installs alone, runs, and type-checks under strict settings', () => {
  const folder = temporaryFolder()
  run('npm', ['pack', '--pack-destination', folder], join(root, 'packages/sdk'))
  const [file = ''] = readdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}')
  run('npm', ['install', '--offline', '--no-audit', '--no-fund', `./${file}`], folder)
  assert.deepEqual(readdirSync(join(folder, 'node_modules/@assay')), ['client'])
  assert.deepEqual(
    readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.')),
    ['@assay'],
    'it brings nothing else',
  )
  const shipped = readdirSync(join(folder, 'node_modules/@assay/client/dist'))
  assert.ok(!shipped.some((name) => name.includes('.test.')), shipped.join(' '))

  const command = join(folder, 'node_modules/.bin/assay-client')
  assert.match(run(command, ['--help'], folder), /^assay-client: /)

  const program = `
    import { Client, type Reason, verifyWebhook } from '@assay/client'
    import { verifyCredential } from '@assay/client/verify'
    const reason: Reason = 'expired'
    const options = { keyDocument: {}, statusLists: [] }
    const refusal = await verifyCredential('{}', options).catch((error: Error) => error.name)
    const client = new Client({ baseUrl: 'https://scores.example.org' })
    console.log(reason, refusal, typeof client.candidates.search, await verifyWebhook('', {}, 'x'))`
  writeFileSync(join(folder, 'use.ts'), program)
  const strict = [
    '--strict',
    '--noEmit',
    '--exactOptionalPropertyTypes',
    '--noUncheckedIndexedAccess',
  ]
  const web = [
    '--target',
    'es2022',
    '--module',
    'nodenext',
    '--lib',
    'es2024,dom,dom.asynciterable',
  ]
  run(join(root, 'node_modules/.bin/tsc'), [...strict, ...web, '--types', '', 'use.ts'], folder)
  assert.match(
    run(process.execPath, ['use.ts'], folder),
    /^expired KeyDocumentError function false\n$/,
  )
})
