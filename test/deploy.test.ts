/** The files of deploy/, read by the programs that they are for. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { readContainerfile } from './support/start/containerfile.ts'
import { fencesOf } from './support/start/docs-page.ts'
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

/** The page with the tables of all settings. */
const configured = readFileSync('docs/configure.md', 'utf8')

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

test("the page's command writes a Caddyfile for one node", { skip: missingProxy('caddy') }, () => {
  const page = fencesOf(readFileSync('docs/deploy.md', 'utf8'))
  const { text } = page.find((fence) => fence.text.includes('/Caddyfile')) ?? assert.fail()
  const file = join(temporaryFolder(), 'Caddyfile')
  const command = text
    .slice(0, text.indexOf('sudo systemctl'))
    .replace(/sudo tee \S+/, `tee ${file}`)
  run('sh', ['-c', command])
  assert.match(
    readFileSync(file, 'utf8'),
    /^scores\.your-company\.org \{[^]*|to 127\.0\.0\.1:8080/m,
  )
  assert.doesNotMatch(readFileSync(file, 'utf8'), /10\.0\.0\./)
  run('caddy', ['validate', '--adapter', 'caddyfile', '--config', file])
})

test('each instruction of the Containerfile is known, and the image runs without root', () => {
  const instructions = readContainerfile(readFileSync('deploy/container/Containerfile', 'utf8'))
  const known = 'FROM COPY RUN ENV VOLUME USER EXPOSE HEALTHCHECK ENTRYPOINT CMD'.split(' ')
  assert.deepEqual(
    instructions.filter(({ name }) => !known.includes(name)),
    [],
  )
  const last = instructions.slice(instructions.findLastIndex(({ name }) => name === 'FROM'))
  const argsOf = (name: string) => last.findLast((one) => one.name === name)?.args ?? ''
  assert.match(argsOf('USER'), /^[1-9]\d*:[1-9]\d*$/)
  assert.match(argsOf('HEALTHCHECK'), /CMD \["node", .*\/healthz/)
  for (const name of ['ENTRYPOINT', 'CMD']) assert.ok(Array.isArray(JSON.parse(argsOf(name))), name)
  for (const { name, args } of instructions)
    if (name === 'FROM') assert.match(args, /^docker\.io\/library\/[a-z]+:[\w.-]*\w( AS \w+)?$/)
})

interface Compose {
  services: Record<string, Record<string, unknown>>
  secrets: object
  networks: object
  volumes: object
}

test('the compose file uses only names that it declares, settings that exist, and commands', () => {
  const text = readFileSync('deploy/compose.yaml', 'utf8')
  const compose: Compose = parse(text, { merge: true })
  for (const [
    service,
    { secrets = [], networks = {}, depends_on = {}, environment = {}, command = [], image },
  ] of Object.entries(compose.services)) {
    for (const secret of secrets as string[]) assert.ok(secret in compose.secrets, secret)
    const joined = Array.isArray(networks) ? networks : Object.keys(networks as object)
    for (const network of joined) assert.ok(network in compose.networks, network)
    for (const needed of Object.keys(depends_on as object))
      assert.ok(needed in compose.services, needed)
    if (image !== 'assay') continue
    const settings = Object.entries(environment as Record<string, string>)
    for (const [name] of settings) assert.match(configured, new RegExp(`\`${name}\``), name)
    assert.ok(['serve', 'jobs', 'migrate'].includes((command as string[])[0] ?? ''), service)
  }
  const [, proxy] = /ipv4_address: (\S+) \}/.exec(text) ?? []
  assert.ok(proxy !== undefined && text.includes(`TRUSTED_PROXIES: ${proxy}\n`))
})

test('docs/deploy.md names each folder and file of deploy/', () => {
  const page = readFileSync('docs/deploy.md', 'utf8')
  const section = page.slice(page.indexOf('## The files of deploy/'))
  const named = [...section.matchAll(/`([a-z]+(?:\/|\.yaml))`/g)].map(([, name = '']) => name)
  const present = readdirSync('deploy', { withFileTypes: true })
  assert.deepEqual(
    named.toSorted(),
    present.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).toSorted(),
  )
})
