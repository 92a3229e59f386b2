/**
 * Roots of Debian, with the access of this machine to the registries, and machines: a root in which
 * systemd is the first process, with an address in a network of its own.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { childrenOf, eventually } from '../../test/support/start/processes.ts'

export const missingDebian =
  process.getuid?.() !== 0 || spawnSync('mmdebstrap', ['--version']).status !== 0
    ? 'needs root and the Debian package mmdebstrap'
    : false

export const run = (program: string, ...args: string[]) =>
  execFileSync(program, args, { stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8' })

/** Makes a root of Debian with packages. */
export function makeDebian(root: string, packages: readonly string[] = []): void {
  const include = packages.map((name) => `--include=${name}`)
  // Its mounts end with it, even if it is killed: what removes the root must not meet /dev or /sys.
  const made = ['mmdebstrap', '--variant=minbase', ...include, 'bookworm', root]
  run('unshare', '--mount', ...made)
  copyFileSync('/etc/resolv.conf', join(root, 'etc/resolv.conf'))
  const apt = run('apt-config', 'dump', '--format=%F "%v";%n', 'Acquire')
  writeFileSync(join(root, 'etc/apt/apt.conf.d/99machine'), apt)
}

/** A shell of the user `admin`, who may use sudo. It ends with the first command that fails. */
export interface Terminal {
  /** Runs commands and returns what they printed. */
  run(commands: string): Promise<string>
}

/** Machines in a network that only they and `outside` are in. All end with the test. */
export interface Network {
  /** Runs a program of this machine at 10.0.0.1. */
  outside(program: string, ...args: string[]): string
  /** Starts systemd in a root. Its /run/uplink is the network of this machine. */
  boot(root: string, address: string): Promise<{ openTerminal(): Terminal }>
}

export async function makeNetwork(t: TestContext): Promise<Network> {
  const holder = spawn('unshare', ['--net', 'sh', '-c', 'echo; exec cat'])
  t.after(() => holder.kill('SIGKILL'))
  await once(holder.stdout, 'data')
  const outside = (...command: string[]) =>
    run('nsenter', `--net=/proc/${holder.pid}/ns/net`, ...command)
  const ip = (line: string) => outside('ip', ...line.split(' '))
  ip('link add br0 type bridge')
  ip('addr add 10.0.0.1/24 dev br0')
  ip('link set br0 up')
  const boot = async (root: string, address: string) => {
    const pid = await startInit(t, root)
    const inside = (...command: string[]) => ['nsenter', `--target=${pid}`, ...entered, ...command]
    const name = basename(root)
    ip(`link add ${name} type veth peer name eth0 netns ${pid}`)
    ip(`link set ${name} master br0 up`)
    for (const line of [`addr add ${address}/24 dev eth0`, 'link set eth0 up', 'link set lo up'])
      run('nsenter', `--net=/proc/${pid}/ns/net`, 'ip', ...line.split(' '))
    await eventually(`${name} has started`, {
      see: async () => {
        const asked = spawnSync('env', inside('systemctl', 'is-system-running'))
        return /running|degraded/.test(String(asked.stdout))
      },
    })
    return { openTerminal: () => openTerminal(t, inside('runuser', '--login', 'admin')) }
  }
  return { outside, boot }
}

const entered = '-m -u -i -n -p -C --'.split(' ')
/** The machine ends with this process, even if it is killed. */
const isolated = '--pdeathsig KILL unshare --mount --uts --ipc --net --pid --fork --kill-child'

/** Returns the id of the first process of a machine. */
async function startInit(t: TestContext, root: string): Promise<number> {
  const name = basename(root)
  const log = join(dirname(root), `${name}.log`)
  const args = ['sh', '-ec', boot, root, log, name, String(process.pid)]
  const init = spawn('setpriv', [...isolated.split(' '), ...args], { stdio: 'ignore' })
  t.after(async () => {
    const ended = once(init, 'exit')
    init.kill('SIGKILL')
    await ended
    run('sh', '-c', removeGroups, `${name}-${process.pid}`)
  })
  const { value } = await eventually(`${name} has a first process`, {
    see: async () => {
      if (init.exitCode !== null) throw new Error(readFileSync(log, 'utf8'))
      return (await childrenOf(init.pid ?? 0))[0]
    },
  })
  return value ?? assert.fail()
}

/** `$0` is the root, `$1` the log, `$2` the name, `$3` a process in the network of this machine. */
const boot = `
  exec > "$1" 2>&1
  hostname "$2"; hostname > "$0/etc/hostname"
  mount --bind "$0" "$0"; cd "$0"
  mount -t cgroup2 cgroup2 mnt
  mkdir "mnt/kit-$2-$3"; echo 0 > "mnt/kit-$2-$3/cgroup.procs"; umount mnt
  mount -t proc proc proc; mount -t sysfs sysfs sys
  for folder in run dev; do mount -t tmpfs -o mode=755 tmpfs $folder; done
  mount -t tmpfs tmpfs tmp
  for device in null zero full random urandom tty; do
    touch dev/$device; mount --bind /dev/$device dev/$device
  done
  ln -s /proc/self/fd dev/fd
  for n in 0:stdin 1:stdout 2:stderr; do ln -s /proc/self/fd/\${n%:*} dev/\${n#*:}; done
  mkdir dev/shm dev/pts; mount -t tmpfs tmpfs dev/shm
  mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts; ln -s pts/ptmx dev/ptmx
  touch run/uplink; mount --bind "/proc/$3/ns/net" run/uplink
  pivot_root . mnt
  exec chroot . unshare --cgroup sh -ec '
    umount -l /mnt; mount -t cgroup2 cgroup2 /sys/fs/cgroup
    mount --make-rshared /
    exec env -i container=kit /lib/systemd/systemd' < dev/null`

/** The processes of the machine end a moment after its first one. */
const removeGroups = `
  groups=$(mktemp -d); mount -t cgroup2 cgroup2 "$groups"
  for i in $(seq 100); do
    find "$groups/kit-$0" -depth -type d -exec rmdir {} + 2> /dev/null && break; sleep 0.1
  done
  umount "$groups"; rmdir "$groups"`

const separator = '\u001e'

function openTerminal(t: TestContext, [program = '', ...args]: readonly string[]): Terminal {
  const shell = spawn(program, args)
  t.after(() => shell.kill('SIGKILL'))
  let output = ''
  for (const stream of [shell.stdout, shell.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  shell.stdin.write('set -eo pipefail\n')
  return {
    async run(commands) {
      output = ''
      shell.stdin.write(`${commands}\nprintf '${separator}'\n`)
      await eventually(`these commands end: ${commands}`, {
        withinMs: 600_000,
        see: async () => {
          if (shell.exitCode !== null) throw new Error(`${commands}\nended with:\n${output}`)
          return output.includes(separator)
        },
      })
      return output.replace(separator, '')
    },
  }
}
