/** The files of deploy/, read by the programs that they are for. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from './support/start/processes.ts'
import { checkProxyFile, missingProxy, proxyNames } from './support/start/proxies.ts'

const units = ['assay-server', 'assay-jobs', 'assay-single'] as const
const systemUnits = '/usr/lib/systemd/system'
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0
const skip = hasSystemd ? false : 'needs systemd-analyze of the Debian package systemd'
const skipUnlessRoot = process.getuid?.() === 0 ? skip : 'needs root, to change owners'

/** A system with the units installed as docs/deploy.md says. */
function systemRoot(): string {
  const root = temporaryFolder()
  for (const folder of ['opt/assay/bin', 'etc/systemd/system', 'usr/lib/systemd'])
    mkdirSync(join(root, folder), { recursive: true })
  writeFileSync(join(root, 'opt/assay/bin/assay'), '#!/bin/sh\n')
  chmodSync(join(root, 'opt/assay/bin/assay'), 0o755)
  cpSync(systemUnits, join(root, systemUnits), { recursive: true, verbatimSymlinks: true })
  cpSync('deploy/systemd/system', join(root, 'etc/systemd/system'), { recursive: true })
  for (const name of ['sysusers.d', 'tmpfiles.d'])
    cpSync(join('deploy/systemd', name), join(root, 'usr/lib', name), { recursive: true })
  for (const name of ['passwd', 'group']) writeFileSync(join(root, 'etc', name), '')
  return root
}

function run(program: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  assert.equal(status, 0, `${program} ${args.join(' ')}: ${stdout}${stderr}`)
  return `${stdout}${stderr}`
}

test('each systemd unit is valid, and exposes at most 2.5', { skip }, () => {
  const root = `--root=${systemRoot()}`
  for (const unit of units) {
    const faults = run('systemd-analyze', [root, 'verify', `${unit}.service`])
    assert.doesNotMatch(faults, /assay/, unit)
    const rated = run('systemd-analyze', [root, 'security', '--offline=true', `${unit}.service`])
    const [, exposure = ''] = /exposure level for .*: (\d+\.\d)/.exec(rated) ?? []
    assert.ok(exposure !== '' && Number(exposure) <= 2.5, `${unit}: ${exposure}`)
  }
})

test('the fragments make the user and the folder of the settings, and hide the secrets', {
  skip: skipUnlessRoot,
}, () => {
  const root = systemRoot()
  run('systemd-sysusers', [`--root=${root}`, 'assay.conf'])
  assert.match(readFileSync(join(root, 'etc/passwd'), 'utf8'), /^assay:x:\d+:\d+:.*\/nologin$/m)
  mkdirSync(join(root, 'etc/assay'))
  for (const name of ['assay.env', 'database-url', 'secrets-keyring'])
    writeFileSync(join(root, 'etc/assay', name), '', { mode: 0o644 })
  run('systemd-tmpfiles', [`--root=${root}`, '--create', 'assay.conf'])
  const modeOf = (name: string) => statSync(join(root, 'etc/assay', name)).mode & 0o777
  assert.deepEqual(
    ['', 'assay.env', 'database-url', 'secrets-keyring'].map(modeOf),
    [0o750, 0o640, 0o600, 0o600],
  )
})

test('no unit puts a secret into the environment', () => {
  for (const unit of units) {
    const text = readFileSync(`deploy/systemd/system/${unit}.service`, 'utf8')
    assert.doesNotMatch(text, /(DATABASE_URL|SECRETS_KEYRING)=/)
  }
})

const hasPromtool = spawnSync('promtool', ['--version']).status === 0
const rulesFile = 'deploy/prometheus/assay.rules.yaml'

test('each alert fires on its fault, and no alert fires while the service works', {
  skip: hasPromtool ? false : 'needs promtool of the Debian package prometheus',
}, () => {
  run('promtool', ['test', 'rules', 'deploy/prometheus/assay.rules.test.yaml'])
})

test('docs/monitor.md names each alert, and links what its runbook is', () => {
  const rules = readFileSync(rulesFile, 'utf8')
  const alerts = [...rules.matchAll(/alert: (\w+)[^]*?runbook_url: \S*\/docs\/(\S+)/g)]
  assert.equal(alerts.length, rules.split('alert:').length - 1)
  const page = readFileSync('docs/monitor.md', 'utf8')
  const rows = [...page.matchAll(/^\| `(Assay\w+)` .*\]\((.*)\) \|$/gm)]
  // test/docs.test.ts holds that the page and the heading of each link exist.
  assert.deepEqual(
    rows.map(([, name, link = '']) => [name, link.replace(/^#/, 'monitor#').replace('.md', '')]),
    alerts.map(([, name, runbook]) => [name, runbook]),
  )
})

for (const name of proxyNames)
  test(`${name} accepts its file for two nodes and for one`, { skip: missingProxy(name) }, () => {
    for (const nodes of [['192.0.2.1:8080', '192.0.2.2:8080'], ['192.0.2.1:8080']])
      checkProxyFile(name, temporaryFolder(), nodes)
  })
