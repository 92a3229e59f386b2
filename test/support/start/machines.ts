/**
 * Machines of one network: each has a network namespace with an address, and a small disk. The test
 * needs namespaces of its own, as `ownNetwork` starts it, so nothing of this computer changes.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ownedFolder, runAs } from './debian-postgres.ts'

/** A command that runs another one in a network and with mounts of its own. */
export const ownNetwork = [
  'unshare',
  ...(process.getuid?.() === 0 ? [] : ['--map-current-user', '--keep-caps']),
  '--net',
  '--mount',
]

/** The reason why there can be no machines, or false. */
export function missingNamespaces(): string | false {
  const [program, ...args] = [...ownNetwork, 'ip', 'link', 'set', 'lo', 'up']
  return (
    spawnSync(program, args).status !== 0 &&
    'no network namespaces: they need Linux, iproute2, and root or namespaces of users'
  )
}

export interface Machine {
  name: string
  address: string
  /** The folder of its disk, which belongs to the user of `runAs`. */
  disk: string
  /** Begins a command that runs on this machine. */
  enter: readonly string[]
  /** Cuts its network, or connects it again. */
  setConnected(isConnected: boolean): void
  /** Fills its disk, or makes room again. */
  setFull(isFull: boolean): void
}

export interface Network {
  machines: Machine[]
  /** Ends the machines. No program may run on them. */
  stop(): void
}

const diskBytes = 2 * 1_073_741_824

/** Starts machines with these addresses in 10.0.0.0/24. This process has the address 10.0.0.10. */
export function startMachines(
  folder: string,
  addresses: Readonly<Record<string, string>>,
): Network {
  ip('link', 'set', 'lo', 'up')
  ip('link', 'add', 'switch', 'type', 'bridge')
  ip('address', 'add', '10.0.0.10/24', 'dev', 'switch')
  ip('link', 'set', 'switch', 'up')
  const started = Object.entries(addresses).map(([name, address]) =>
    startMachine(folder, { name, address }),
  )
  return {
    machines: started.map(({ machine }) => machine),
    stop: () => {
      for (const { stop } of started) stop()
    },
  }
}

function startMachine(folder: string, { name, address }: { name: string; address: string }) {
  const disk = join(folder, name)
  ownedFolder(disk)
  const { uid = process.getuid?.(), gid = process.getgid?.() } = runAs()
  run('mount', '-t', 'tmpfs', '-o', `size=${diskBytes},uid=${uid},gid=${gid}`, 'tmpfs', disk)
  // The network exists until the input of this process ends.
  const holder = spawn('unshare', ['--net', 'cat'], { stdio: ['pipe', 'ignore', 'inherit'] })
  const network = `--net=/proc/${holder.pid}/ns/net`
  untilUnshared(holder.pid)
  ip('link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(holder.pid))
  ip('link', 'set', name, 'master', 'switch', 'up')
  for (const args of [
    ['link', 'set', 'lo', 'up'],
    ['address', 'add', `${address}/24`, 'dev', 'eth0'],
    ['link', 'set', 'eth0', 'up'],
  ])
    run('nsenter', network, 'ip', ...args)
  const { uid: user, gid: group } = runAs()
  const asUser = user === undefined ? [] : [`--setuid=${user}`, `--setgid=${group}`]
  const filler = join(disk, 'filler')
  const machine: Machine = {
    name,
    address,
    disk,
    enter: ['nsenter', network, ...asUser],
    setConnected: (isConnected) => ip('link', 'set', name, isConnected ? 'up' : 'down'),
    setFull: (isFull) => {
      // It ends with an error once nothing is left.
      if (isFull) spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=1M'])
      else rmSync(filler, { force: true })
    },
  }
  const stop = () => {
    holder.stdin?.end()
    run('umount', '--lazy', disk)
  }
  return { machine, stop }
}

/** Waits until the process has a network of its own. */
function untilUnshared(pid: number | undefined): void {
  const networkOf = (id: number | string) =>
    existsSync(`/proc/${id}`) ? run('readlink', `/proc/${id}/ns/net`) : ''
  while (networkOf(pid ?? 0) === networkOf('self')) run('sleep', '0.01')
}

function ip(...args: readonly string[]): void {
  run('ip', ...args)
}

function run(program: string, ...args: readonly string[]): string {
  return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
}
