/**
 * No container engine runs in a test. This part executes the steps of deploy/container/Containerfile
 * in roots of Debian, and starts the service in the last one as an engine would: as the user of the
 * file, with its environment, and with a read-only root.
 */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, cpSync, globSync, mkdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { signalAll } from '../../test/support/fault/signal-all.ts'
import { type Instruction, readContainerfile } from '../../test/support/start/containerfile.ts'
import { eventually, freePort, temporaryFolder } from '../../test/support/start/processes.ts'
import { makeDebian, missingDebian, run } from './debian.ts'

const folder = temporaryFolder()

/** Settings of this machine for npm, which an engine takes from its own. */
const npmSettings = Object.entries(process.env).filter(([name]) =>
  /^(npm_config_registry|https?_proxy|no_proxy|node_extra_ca_certs)$/i.test(name),
)

/** Makes the root of a base image. `node:24` is Debian with Node and npm in /usr/local. */
function baseRoot(image: string, root: string, debian: string): void {
  run('cp', '-a', debian, root)
  if (!image.includes('/node:')) return
  const npm = dirname(dirname(run('sh', '-c', 'readlink -f "$(command -v npm)"').trim()))
  cpSync(npm, join(root, 'usr/local/lib/node_modules/npm'), { recursive: true })
  copyFileSync(process.execPath, join(root, 'usr/local/bin/node'))
  run('ln', '-s', '../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'))
  const { NODE_EXTRA_CA_CERTS: authorities } = process.env
  if (authorities === undefined) return
  mkdirSync(dirname(join(root, authorities)), { recursive: true })
  copyFileSync(authorities, join(root, authorities))
}

interface Stage {
  root: string
  env: Record<string, string>
  user: string
  command: string[]
  health: string[]
}

/** Executes the instructions and returns the last stage. */
function build(instructions: readonly Instruction[], context: string, debian: string): Stage {
  const stages: Record<string, Stage> = {}
  let stage: Stage | undefined
  for (const { name, args } of instructions) {
    const [first = '', second = '', third = ''] = args.split(/\s+/)
    if (name === 'FROM') {
      const root = join(folder, `stage-${Object.keys(stages).length}`)
      baseRoot(first, root, debian)
      stage = {
        root,
        env: { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin' },
        user: '0:0',
        command: [],
        health: [],
      }
      stages[third || 'last'] = stage
      continue
    }
    assert.ok(stage !== undefined)
    const inside = (path: string) => join(stage?.root ?? '', path)
    if (name === 'COPY' && first.startsWith('--from=')) {
      const from = stages[first.slice('--from='.length)] ?? assert.fail(first)
      mkdirSync(dirname(inside(third)), { recursive: true })
      run('cp', '-a', join(from.root, second), inside(third))
    } else if (name === 'COPY')
      for (const file of globSync(first, { cwd: context }))
        copyFileSync(join(context, file), join(inside(second), basename(file)))
    else if (name === 'RUN')
      run(
        'chroot',
        stage.root,
        'env',
        '-i',
        ...[...Object.entries(stage.env), ...npmSettings].map((pair) => pair.join('=')),
        'sh',
        '-ec',
        args,
      )
    else if (name === 'ENV') {
      const [variable = '', value = ''] = args.split('=')
      stage.env[variable] = value
    } else if (name === 'USER') stage.user = args
    else if (name === 'ENTRYPOINT' || name === 'CMD') stage.command.push(...JSON.parse(args))
    else if (name === 'HEALTHCHECK') stage.health = JSON.parse(args.slice(args.indexOf('[')))
  }
  return stage ?? assert.fail('no stage')
}

/** Arguments of `unshare` that run a command in the root of a stage, which cannot be written. */
function inContainer(
  { root, env, user }: Stage,
  port: number,
  command: readonly string[],
): string[] {
  const data = join(folder, 'data')
  const mounts = `mount --bind "$0" "$0"; mount --bind '${data}' "$0/var/lib/assay"
    mount -t proc proc "$0/proc"; mount -t tmpfs tmpfs "$0/tmp"; mount -t tmpfs tmpfs "$0/dev"
    for device in null urandom random; do touch "$0/dev/$device"; mount --bind "/dev/$device" "$0/dev/$device"; done
    mkdir "$0/dev/shm"; mount -t tmpfs tmpfs "$0/dev/shm"
    mount -o remount,bind,ro "$0"`
  const settings = {
    ...env,
    PORT: String(port),
    PUBLIC_URL: 'https://scores.example.org',
    DRAIN_DELAY_SECONDS: '0',
  }
  const as = ['chroot', `--userspec=${user}`, '"$0"', 'env', '-i', '"$@"']
  return [
    '--mount',
    'sh',
    '-ec',
    `${mounts}\nexec ${as.join(' ')}`,
    root,
    ...Object.entries(settings).map((pair) => pair.join('=')),
    ...command,
  ]
}

test('the steps of the Containerfile make a root in which the service starts, read-only and without root', {
  skip: missingDebian,
}, async (t) => {
  const began = performance.now()
  const seconds = () => `${((performance.now() - began) / 1_000).toFixed(0)} s`
  run('npm', 'pack', '--pack-destination', folder)
  const debian = join(folder, 'debian')
  makeDebian(debian)
  t.diagnostic(`Debian after ${seconds()}`)
  const text = readFileSync('deploy/container/Containerfile', 'utf8')
  const stage = build(readContainerfile(text), folder, debian)
  t.diagnostic(`image after ${seconds()}, ${run('du', '-sm', stage.root).split('\t')[0]} MB`)
  cpSync(join(stage.root, 'var/lib/assay'), join(folder, 'data'), { recursive: true })
  run('chown', stage.user, join(folder, 'data'))
  const port = await freePort()
  const server = spawn('unshare', inContainer(stage, port, stage.command), { detached: true })
  after(() => signalAll([-(server.pid ?? 0)], 'SIGKILL'))
  let output = ''
  for (const stream of [server.stdout, server.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => (output += part))
  await eventually('the service is ready', {
    withinMs: 60_000,
    see: async () => {
      assert.equal(server.exitCode, null, output)
      return (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null))?.ok
    },
  })
  t.diagnostic(`ready after ${seconds()}`)
  const health = stage.health.map((arg) => arg.replace('8080', String(port)))
  const check = () => spawnSync('unshare', inContainer(stage, port, health)).status
  assert.equal(check(), 0)
  server.kill('SIGTERM')
  assert.equal((await once(server, 'exit'))[0], 0, output)
  assert.notEqual(check(), 0)
})
