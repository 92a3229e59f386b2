/** The files of deploy/, read by the programs that they are for. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { BlockList } from 'node:net'
import { basename, join, resolve } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { readContainerfile } from './support/start/containerfile.ts'
import { fencesOf } from './support/start/docs-page.ts'
import { temporaryFolder } from './support/start/processes.ts'
import { checkProxyFile, missingProxy, proxyNames } from './support/start/proxies.ts'

const units = readdirSync('deploy/systemd/system').filter((name) => /\.(service|timer)$/.test(name))
const unitText = (unit: string) => readFileSync(join('deploy/systemd/system', unit), 'utf8')
const systemUnits = '/usr/lib/systemd/system'
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0
const skip = hasSystemd ? false : 'needs systemd-analyze of the Debian package systemd'
const skipUnlessRoot = process.getuid?.() === 0 ? skip : 'needs root, to change owners'

/** A system with the units installed as docs/deploy.md says. */
function systemRoot(): string {
  const root = temporaryFolder()
  for (const folder of ['bin', 'opt/assay/bin', 'etc/systemd/system', 'usr/lib/systemd'])
    mkdirSync(join(root, folder), { recursive: true })
  for (const program of ['bin/sh', 'opt/assay/bin/assay'])
    writeFileSync(join(root, program), '#!/bin/sh\n', { mode: 0o755 })
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
    const faults = run('systemd-analyze', [root, 'verify', unit])
    assert.doesNotMatch(faults, /assay/, unit)
    if (unit.endsWith('.timer')) continue
    const rated = run('systemd-analyze', [root, 'security', '--offline=true', unit])
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
  for (const unit of units) assert.doesNotMatch(unitText(unit), /(DATABASE_URL|SECRETS_KEYRING)=/)
})

test('two units on one machine have different METRICS_PORTs, and docs/monitor.md names each', () => {
  const portOf = (unit: string) => /^Environment=METRICS_PORT=(\d+)$/m.exec(unitText(unit))?.[1]
  assert.notEqual(portOf('assay-server.service'), portOf('assay-jobs.service'))
  const page = readFileSync('docs/monitor.md', 'utf8')
  const serving = units.filter((unit) => unitText(unit).includes('/bin/assay '))
  for (const unit of serving) assert.ok(page.includes(`10.0.0.11:${portOf(unit)}'`), unit)
})

test('systemd starts a unit again for as long as its database is away', () => {
  const [, seconds] = /^RestartSec=(\d+)$/m.exec(unitText('assay-.service.d/10-shared.conf')) ?? []
  // By default it gives a unit up after five starts within ten seconds.
  assert.ok(Number(seconds) * 4 > 10)
})

test('`systemctl edit` of a unit changes what all units share', () => {
  // systemd reads the files beside a unit in the order of their names.
  const shared = readdirSync('deploy/systemd/system/assay-.service.d')
  assert.deepEqual([...shared, 'override.conf'].toSorted(), [...shared, 'override.conf'])
})

test('the timer of backups copies into the folders of docs/backups.md, and may write to them alone', () => {
  const unit = unitText('assay-backup.service')
  const page = readFileSync('docs/backups.md', 'utf8')
  const folders = [...page.matchAll(/^ *(?:BACKUP|SECRETS)=(\S+)/gm)].map(([, folder]) => folder)
  assert.ok(unit.includes(`deploy/backup/base-backup ${folders.join(' ')}'\n`))
  assert.ok(unit.includes(`\nReadWritePaths=${folders.map((folder) => `-${folder}`).join(' ')}\n`))
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

test('the section for Patroni can be appended to the file of HAProxy', {
  skip: missingProxy('haproxy'),
}, () => {
  const section = readFileSync('deploy/patroni/haproxy.cfg', 'utf8').split(/^(?=listen )/m)[1] ?? ''
  const both = readFileSync('deploy/haproxy/haproxy.cfg', 'utf8') + section
  const file = join(temporaryFolder(), 'haproxy.cfg')
  writeFileSync(file, both.replace(/^ {2}(user|group) .*\n/gm, '').replace(/ ssl crt .*/, ''))
  run('/usr/sbin/haproxy', ['-c', '-f', file])
  // The defaults of that file are those of HTTP: PostgreSQL would get a connection that ends idle.
  for (const own of ['mode tcp', 'timeout client 30m', 'timeout server 30m'])
    assert.ok(section.includes(`  ${own}\n`), own)
})

test("the page's command writes a Caddyfile for one node", { skip: missingProxy('caddy') }, () => {
  const page = fencesOf(readFileSync('docs/deploy.md', 'utf8'))
  const { text } = page.find((fence) => fence.text.includes('/Caddyfile')) ?? assert.fail()
  const file = join(temporaryFolder(), 'Caddyfile')
  const command = text
    .slice(text.indexOf('sed '), text.indexOf('sudo systemctl'))
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
  networks: Record<string, { internal?: boolean; ipam?: { config: [{ ip_range: string }] } }>
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

test('in the compose file, the service in which docs/containers.md makes keys alone can write them', () => {
  const { services }: Compose = parse(readFileSync('deploy/compose.yaml', 'utf8'), { merge: true })
  const writers = Object.entries(services).flatMap(([service, { volumes = [] }]) =>
    (volumes as string[]).some((volume) => volume.endsWith(':/run/keys')) ? [service] : [],
  )
  const page = readFileSync('docs/containers.md', 'utf8')
  assert.deepEqual(
    writers,
    [...page.matchAll(/compose run --rm (\S+) keys create/g)].map(([, service]) => service),
  )
})

test('in the compose file, servers and jobs call out, and reach the proxy at its address alone', () => {
  const { services, networks }: Compose = parse(readFileSync('deploy/compose.yaml', 'utf8'), {
    merge: true,
  })
  const { proxy = {}, database: _, migrate: _alone, ...callers } = services
  const { inside, ...others } = proxy.networks as Record<string, { ipv4_address?: string }>
  const [range = '', bits] = networks.inside?.ipam?.config[0].ip_range.split('/') ?? []
  const given = new BlockList()
  given.addSubnet(range, Number(bits))
  assert.ok(!given.check(inside?.ipv4_address ?? ''))
  for (const { networks: joined } of Object.values(callers)) {
    const ways = (joined as string[]).filter((name) => networks[name]?.internal !== true)
    assert.ok(ways.length > 0)
    for (const way of ways) assert.ok(!(way in others))
  }
})

const linux = { skip: process.platform === 'linux' ? false : 'the scripts are for Linux' }

/** A database that is stopped, a folder for its copies, and one for the keyring, all with a space. */
function stoppedService() {
  const place = join(temporaryFolder(), 'a place')
  const data = join(place, 'data')
  const folders = { backup: join(place, 'backup'), secrets: join(place, 'secrets') }
  for (const folder of [join(data, 'postgres'), join(folders.backup, 'wal'), folders.secrets])
    mkdirSync(folder, { recursive: true })
  writeFileSync(join(data, 'postgres/PG_VERSION'), '18\n')
  writeFileSync(join(data, 'postgres/postgresql.auto.conf'), '')
  const script = (name: string, args: readonly string[], env: Record<string, string> = {}) => {
    const { status, stdout, stderr } = spawnSync(resolve('deploy/backup', name), args, {
      cwd: place,
      encoding: 'utf8',
      env: { PATH: process.env.PATH, ASSAY_DATA_DIR: data, ...env },
    })
    return { code: status, out: stdout.trim(), err: stderr }
  }
  const copies = () => readdirSync(folders.backup).filter((name) => name.startsWith('base-2'))
  return { place, data, ...folders, script, copies }
}

test(
  'a base backup refuses a number of copies that is not one, before it touches a copy',
  linux,
  () => {
    const { backup, script, copies } = stoppedService()
    mkdirSync(join(backup, 'base-20260101T000000Z'))
    for (const number of ['0', '-1', 'abc', '2 ', '1.5', '99999999999999999999']) {
      const { code, err } = script('base-backup', [backup], { BACKUPS_KEPT: number })
      assert.equal(code, 1, number)
      assert.match(err, /BACKUPS_KEPT is ".*": send a number from 1 on/)
    }
    assert.deepEqual(copies(), ['base-20260101T000000Z'])
    const { out } = script('base-backup', [backup], { BACKUPS_KEPT: '1' })
    assert.deepEqual(copies(), [basename(out)])
  },
)

test(
  'a base backup keeps the copy of a database without a keyring, and names the keyring',
  linux,
  () => {
    const { data, backup, secrets, script, copies } = stoppedService()
    assert.match(script('base-backup', [backup, `${secrets}/none`]).err, /none is missing/)
    assert.deepEqual(copies(), [])
    const without = script('base-backup', [backup, secrets])
    assert.equal(without.code, 0)
    assert.match(without.err, /webhook-secrets\.keys is missing: copy SECRETS_KEYRING/)
    assert.equal(readFileSync(join(without.out, 'postgres/PG_VERSION'), 'utf8'), '18\n')
    writeFileSync(join(data, 'webhook-secrets.keys'), 'k1:…')
    renameSync(without.out, join(backup, 'base-20260101T000000Z'))
    assert.equal(script('base-backup', [backup, secrets]).code, 0)
    assert.deepEqual(readdirSync(secrets), ['webhook-secrets.keys'])
  },
)

test('a base backup removes what a killed one left, and never runs beside another', linux, () => {
  const { backup, script } = stoppedService()
  const left = ['base-new.part', 'base-20260101T000000Z.part'].map((name) => join(backup, name))
  for (const folder of left) mkdirSync(join(folder, 'postgres'), { recursive: true })
  const held = ['--exclusive', join(backup, '.lock')]
  const second = spawnSync('flock', [...held, resolve('deploy/backup/base-backup'), backup])
  assert.match(String(second.stderr), /another base-backup writes to/)
  assert.deepEqual(left.map(existsSync), [true, true])
  assert.equal(script('base-backup', [backup]).code, 0)
  assert.deepEqual(left.map(existsSync), [false, false])
})

test('a base backup names a database that crashed', {
  skip: spawnSync('psql', ['--version']).status === 0 ? false : 'needs psql',
}, () => {
  const { data, backup, script } = stoppedService()
  const lines = ['1', data, '0', '5432', join(data, 'postgres'), '']
  writeFileSync(join(data, 'postgres/postmaster.pid'), lines.join('\n'))
  assert.match(script('base-backup', [backup]).err, /does not answer at .*postgres: start/)
})

test('a base backup shows the password of DATABASE_URL to no other user', linux, () => {
  const { place, backup, script } = stoppedService()
  const program = '#!/bin/sh\nmkdir "$4" && printf "%s\\n" "$*" "$PGPASSWORD" > "$4/seen"\n'
  writeFileSync(join(place, 'pg_basebackup'), program, { mode: 0o755 })
  const PATH = `${place}:${process.env.PATH}`
  const url = 'postgres://assay:a%20%C3%A9\\n:?@db.example.org/assay?sslmode=verify-full'
  const file = join(place, 'database-url')
  writeFileSync(file, `${url}\n`)
  const { code, out, err } = script('base-backup', [backup], { PATH, DATABASE_URL_FILE: file })
  assert.equal(code, 0, err)
  const [seen = '', password] = readFileSync(join(out, 'postgres/seen'), 'utf8').split('\n')
  assert.ok(seen.startsWith('-d postgres://assay@db.example.org/assay?sslmode=verify-full -D '))
  assert.equal(password, 'a \u00e9\\n:?')
  const parameter = 'postgres://db.example.org/assay?password=hush'
  const refused = script('base-backup', [backup], { PATH, DATABASE_URL: parameter })
  assert.match(refused.err, /write the password of DATABASE_URL before its @/)
})

test('a restore takes a time after the end of its copy, with its zone', linux, () => {
  const { place, backup, script } = stoppedService()
  const copy = script('base-backup', [backup]).out
  const restore = (time: string) => script('restore', [copy, join(place, 'new'), time])
  for (const time of ['2127-11-26', '2127-11-26Z', '2127-11-26 12:00', '2127-11-26T12:00:00'])
    assert.match(restore(time).err, /lacks its zone or its time of day/, time)
  const [, end = ''] = /base-(.*)Z$/.exec(copy) ?? []
  const at = end.replace(/(....)(..)(..T..)(..)(..)/, '$1-$2-$3:$4:$5Z')
  assert.match(restore(at).err, /was made later than/)
  assert.match(restore('yesterday-ish').err, /is not a time/)
  const { code, err } = restore('2127-11-26T12:00:00.5Z')
  assert.equal(code, 0, err)
  const settings = readFileSync(join(place, 'new/postgresql.auto.conf'), 'utf8')
  assert.match(settings, /^recovery_target_time = '2127-11-26 12:00:00\.500000\+00'$/m)
})

test('the archive takes a file again with the same content, and never another one', linux, () => {
  const { place, backup, script } = stoppedService()
  const segment = join(place, 'a segment')
  writeFileSync(segment, 'one')
  const archive = () => script('archive-wal', [segment, '0'.repeat(24), join(backup, 'wal')])
  assert.equal(archive().code, 0)
  assert.equal(archive().code, 0)
  writeFileSync(segment, 'two')
  assert.equal(archive().code, 1)
  assert.equal(readFileSync(join(backup, 'wal', '0'.repeat(24)), 'utf8'), 'one')
  assert.match(script('archive-wal', [segment, 'x', join(place, 'none')]).err, /none is missing/)
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
