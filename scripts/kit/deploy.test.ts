/**
 * The commands of the page "Deploy" and of the pages that it sends to, by copy and paste on two clean
 * machines of Debian: two nodes behind a proxy, with TLS, background jobs, backups and alerts. The
 * pages are the program; `fills` has all that is different here.
 */
import assert from 'node:assert/strict'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import manifest from '../../package.json' with { type: 'json' }
import { type Fence, fencesOf } from '../../test/support/start/docs-page.ts'
import { eventually, temporaryFolder } from '../../test/support/start/processes.ts'
import { makeDebian, makeNetwork, missingDebian, run, type Terminal } from './debian.ts'

const host = 'scores.your-company.org'
const password = 'a-password'

/** What an operator fills in, and what this machine differs in. Each one is used. */
const fills: [from: RegExp, to: string][] = [
  // As the page says.
  [/\bbin\/assay\b/g, 'assay'],
  [/assay-[\d.]+\.tgz/g, `assay-${manifest.version}.tgz`],
  [/…(@\S*=verify-full)/g, `${password}$1&sslrootcert=/etc/ssl/db-ca.pem`],
  // No authority on the internet gives this host a certificate.
  [
    / deploy\/caddy\/Caddyfile/g,
    " <(sed 's|^scores.*{|&\\n\\ttls /etc/ssl/assay/fullchain.pem /etc/ssl/assay/privkey.pem|' deploy/caddy/Caddyfile)",
  ],
  // Packages are fetched through the network of this machine.
  [/sudo (apt-get|npm install)/g, 'sudo nsenter --net=/run/uplink $1'],
]
const used = new Set<RegExp>()

/** Of the pages. Other units of Debian fail for want of their hardware. */
const units = "'assay*' 'caddy*' 'postgresql*' 'prometheus*'"

const folder = temporaryFolder()

function filled(text: string): string {
  return fills.reduce((left, [from, to]) => {
    // The version that the page prints may be the present one.
    if (left.search(from) >= 0) used.add(from)
    return left.replace(from, to)
  }, text)
}

interface Command extends Fence {
  /** `docs/PAGE.md, SECTION`. */
  place: string
}

/** Returns the commands of a page in their order, or of one section. */
function commandsOf(page: string, section?: string): Command[] {
  const text = readFileSync(`docs/${page}.md`, 'utf8')
  const commands = fencesOf(text)
    .filter(({ info }) => /^sh production( second)?$/.test(info))
    .map((fence) => {
      const before = text.split('\n').slice(0, fence.line)
      const heading = before.findLast((line) => line.startsWith('## '))?.slice(3)
      return { ...fence, place: `docs/${page}.md, ${heading}` }
    })
  const found = commands.filter(
    ({ place }) => section === undefined || place.endsWith(`, ${section}`),
  )
  assert.ok(found.length > 0, `docs/${page}.md has no commands in the section "${section}"`)
  return found
}

interface Machine {
  openTerminal(): Terminal
  /** For commands with sudo. */
  own: Terminal
  /** Of the user `assay`, once the page has opened it. */
  user?: Terminal
  /** The server that runs in the shell of `assay`. */
  serves?: boolean
}

async function runCommand(machine: Machine, { text, place, line }: Command): Promise<void> {
  const commands = filled(text)
  console.log(`${place}, line ${line}`)
  if (commands.startsWith('sudo -u assay bash\n')) {
    const folder = (await machine.own.run('pwd')).trim()
    machine.user = machine.openTerminal()
    await machine.user.run(`cd ${folder}\n${commands.replace('\n', '\nset -eo pipefail\n')}`)
    return
  }
  const { own, user = own, serves = false } = machine
  const terminal = commands.includes('sudo ') ? own : user
  machine.serves = commands === 'assay serve\n'
  if (machine.serves) await terminal.run('assay serve > /dev/null &')
  else if (!serves) await terminal.run(commands)
  else {
    // A person waits until it serves, and ends it with Ctrl+C.
    await terminal.run(`until\n${commands} do sleep 0.2; done 2> /dev/null`)
    await terminal.run('kill $! && wait $!')
  }
}

test('the page "Deploy" by copy and paste ends with two nodes, TLS, jobs, backups and alerts', {
  skip: missingDebian,
}, async (t) => {
  let last = performance.now()
  const step = (name: string) => {
    const now = performance.now()
    t.diagnostic(`${((now - last) / 1_000).toFixed(1)} s: ${name}`)
    last = now
  }
  const root = join(folder, 'first')
  const certificates = ['ca-certificates', 'openssl']
  makeDebian(root, ['systemd-sysv', 'dbus', 'sudo', 'iproute2', 'openssh-server', ...certificates])
  run('npm', 'pack', '--pack-destination', join(root, 'srv'))
  run('chroot', root, 'env', '-i', 'sh', '-ec', prepare, host)
  const authorities = process.env['NODE_EXTRA_CA_CERTS']
  if (authorities !== undefined) {
    copyFileSync(authorities, join(root, 'root/authorities.pem'))
    writeFileSync(join(root, 'root/.npmrc'), 'cafile=/root/authorities.pem\n')
  }
  run('cp', '-a', root, join(folder, 'second'))
  step('two clean roots of Debian, and the package of the release')

  const network = await makeNetwork(t)
  const boot = async (name: string, address: string): Promise<Machine> => {
    const { openTerminal } = await network.boot(join(folder, name), address)
    return { openTerminal, own: openTerminal() }
  }
  const first = await boot('first', '10.0.0.11')
  const second = await boot('second', '10.0.0.12')
  step('systemd runs on both, as the first process')

  const follow = async (machine: Machine, commands: readonly Command[]) => {
    for (const [i, command] of commands.entries()) {
      const isSecond = command.info.endsWith(' second')
      if (isSecond && second.user === undefined) {
        await follow(second, commandsOf('install', 'Install for a deployment'))
        await follow(second, commandsOf('deploy', 'Create a user'))
        await follow(second, commandsOf('deploy', 'Start it with the machine').slice(0, 1))
      }
      const at = isSecond ? second : machine
      await runCommand(at, command).catch(async ({ message }: Error) => {
        const log = await at.openTerminal().run('sudo journalctl --lines 40 --no-pager')
        throw new Error(`line ${command.line} of ${command.place}: ${message}\n${log}`)
      })
      if (command.place !== commands[i + 1]?.place) step(command.place)
    }
  }
  await follow(first, commandsOf('install', 'Install for a deployment'))
  await first.own.run(makeDatabase)
  step('a PostgreSQL with an empty database')
  await follow(first, commandsOf('deploy'))
  await follow(first, commandsOf('backups', 'Back up your own PostgreSQL'))
  await follow(first, commandsOf('monitor', 'Alerts'))
  for (const [from] of fills) assert.ok(used.has(from), `no command has ${from}`)

  const key = (await first.user?.run('echo $API_KEY'))?.trim() ?? ''
  const curl = (...args: string[]) => network.outside('curl', '-sS', '--max-time', '10', ...args)
  const trust = ['--cacert', join(root, 'etc/ssl/db-ca.pem'), '--resolve', `${host}:443:10.0.0.11`]
  const throughProxy = (path: string, ...args: string[]) =>
    curl(...trust, '--include', `https://${host}${path}`, ...args)
  const nodes = ['10.0.0.11', '10.0.0.12']
  const countOn = (node: string) =>
    Number(
      /^http_requests_total\{.*search.*200.*\} (\d+)$/m.exec(
        curl(`http://${node}:9464/metrics`),
      )?.[1] ?? 0,
    )
  await eventually('both nodes are ready and see jobs', {
    see: async () =>
      nodes.every((node) =>
        /"status":"ready".*"jobs":"ok"/.test(curl(`http://${node}:9464/readyz`)),
      ),
  })
  const before = nodes.map(countOn)
  for (let left = 8; left > 0; left--) {
    const answer = throughProxy(
      '/api/v1/candidates/search?q=typescript',
      '-H',
      `Authorization: Bearer ${key}`,
    )
    assert.match(answer, /^HTTP\/2 200/)
    assert.match(answer, new RegExp(`service-credits-remaining: ${left}\\r`))
  }
  for (const [i, node] of nodes.entries()) assert.ok(countOn(node) > (before[i] ?? 0), node)
  step('eight paid reads through the proxy; both nodes answer')

  const prometheus = (path: string) => JSON.parse(curl(`http://10.0.0.11:9090/api/v1/${path}`)).data
  await eventually('Prometheus sees each process of both nodes', {
    see: async () => {
      const { activeTargets } = prometheus('targets')
      const up = activeTargets.filter((one: { health: string }) => one.health === 'up')
      return up.length === 4
    },
  })
  const rules: unknown[] = prometheus('rules').groups.flatMap(
    (group: { rules: unknown[] }) => group.rules,
  )
  const written = readFileSync('deploy/prometheus/assay.rules.yaml', 'utf8').match(
    /^ *- (alert|record):/gm,
  )?.length
  assert.equal(rules.length, written)
  step('Prometheus has the rules, and sees each process of both nodes')
  for (const { own } of [first, second]) {
    const failed = await own.run(`systemctl list-units --failed --plain --no-legend ${units}`)
    assert.equal(failed.trim(), '')
    // The end of a unit that runs as `postgres` could remove it.
    assert.doesNotMatch(await own.run('sudo journalctl --no-pager'), /shared memory segment/)
  }
  assert.match(await first.own.run('systemctl is-active assay-backup.timer'), /^active/)
})

/** Runs in the root. `$0` is the host name of the service. */
const prepare = `
  export PATH=/usr/sbin:/usr/bin:/sbin:/bin
  useradd --create-home --shell /bin/bash --groups sudo admin
  echo '%sudo ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/kit
  cat > /etc/hosts <<END
127.0.0.1 localhost
10.0.0.11 first first.example.org db.example.org $0
10.0.0.12 second
END
  mv /srv/*.tgz /home/admin
  mkdir -p /root/.ssh; chmod 700 /root/.ssh
  ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519
  cp /root/.ssh/id_ed25519.pub /root/.ssh/authorized_keys
  echo 'StrictHostKeyChecking accept-new' > /root/.ssh/config
  cd /etc/ssl; mkdir assay
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority \
    -keyout /root/authority.key -out db-ca.pem
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$0" \
    -addext "subjectAltName=DNS:$0,DNS:db.example.org" -keyout assay/privkey.pem |
    openssl x509 -req -CA db-ca.pem -CAkey /root/authority.key -days 2 -copy_extensions copy -out assay/fullchain.pem
  chmod 644 assay/privkey.pem
  cp db-ca.pem /usr/local/share/ca-certificates/authority.crt; update-ca-certificates`

/** What an operator has before: a PostgreSQL with TLS, and an empty database. */
const makeDatabase = `
sudo nsenter --net=/run/uplink apt-get install --yes postgresql
sudo install -o postgres -m 600 /etc/ssl/assay/privkey.pem /etc/ssl/db.key
sudo tee /etc/postgresql/15/main/conf.d/kit.conf <<END
listen_addresses = '*'
ssl_cert_file = '/etc/ssl/assay/fullchain.pem'
ssl_key_file = '/etc/ssl/db.key'
END
echo 'hostssl assay assay 10.0.0.0/24 scram-sha-256' | sudo tee -a /etc/postgresql/15/main/pg_hba.conf
sudo systemctl restart postgresql
sudo -u postgres psql -c "create role assay login password '${password}'"
sudo -u postgres createdb --owner assay assay`
