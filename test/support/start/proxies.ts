/**
 * nginx, Caddy and HAProxy from Debian's packages with their files of deploy/. Only what an operator
 * replaces in a file is replaced: the certificate, the ports and the addresses of the nodes.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { ownedFolder, runAs, startGuarded } from './debian-postgres.ts'
import { editedFile } from './edited-file.ts'
import { eventually, freePort } from './processes.ts'
import { testAuthority } from './receiver.ts'

export const hostName = 'scores.example.org'

interface Ports {
  http: number
  https: number
}

interface Kind {
  program: string
  file: string
  /** The file that includes ours, if the program does not read ours first. */
  main?: string
  /** The lines of an operator, each in place of what stands in the file. */
  edits(place: string, ports: Ports): [from: string | RegExp, to: string][]
  check: string[]
  run: string[]
}

const kinds: Record<string, Kind> = {
  nginx: {
    program: '/usr/sbin/nginx',
    file: 'deploy/nginx/assay.conf',
    // The default folders of temporary files do not exist until root has started nginx once.
    main: `pid nginx.pid; error_log stderr; events {} http { access_log off; include file;
      client_body_temp_path t; proxy_temp_path t; fastcgi_temp_path t; uwsgi_temp_path t;
      scgi_temp_path t; }`,
    edits: (place, { http, https }) => [
      [/^ *listen \[::\].*\n/gm, ''],
      ['listen 80;', `listen 127.0.0.1:${http};`],
      ['listen 443 ', `listen 127.0.0.1:${https} `],
      [/\S+fullchain.pem/g, `${place}/cert`],
      [/\S+privkey.pem/g, `${place}/key`],
    ],
    check: ['-t', '-e', 'stderr', '-p', '.', '-c'],
    run: ['-g', 'daemon off;', '-e', 'stderr', '-p', '.', '-c'],
  },
  caddy: {
    program: '/usr/bin/caddy',
    file: 'deploy/caddy/Caddyfile',
    edits: (place, { http, https }) => [
      [/^{$/gm, `{\nadmin off\nhttp_port ${http}\nhttps_port ${https}`],
      [/^(scores.*) {$/gm, `$1 {\n  tls ${place}/cert ${place}/key`],
    ],
    check: ['validate', '--adapter', 'caddyfile', '--config'],
    run: ['run', '--adapter', 'caddyfile', '--config'],
  },
  haproxy: {
    program: '/usr/sbin/haproxy',
    file: 'deploy/haproxy/haproxy.cfg',
    edits: (place, { http, https }) => [
      [/^ {2}(user|group) .*\n/gm, ''],
      [/bind :80\S+ v6only/g, `bind 127.0.0.1:${http}`],
      [/bind :443\S+ v6only/g, `bind 127.0.0.1:${https}`],
      [/crt \S+/g, `crt ${place}/both`],
    ],
    check: ['-c', '-f'],
    run: ['-W', '-db', '-f'],
  },
}

export const proxyNames = Object.keys(kinds)

/** Returns the reason to skip the tests of a proxy, or false. */
export function missingProxy(name: string): string | false {
  const { program } = kindOf(name)
  return !existsSync(program) && `no ${program}: install the package ${name}`
}

export interface Proxy {
  /** Port for HTTPS, on 127.0.0.1. */
  port: number
  httpPort: number
  log(): string
  stop(): Promise<void>
}

/** Starts a proxy in front of one or two nodes. Stop it with `after(() => proxy.stop())`. */
export async function startProxy(
  name: string,
  folder: string,
  nodes: readonly string[],
): Promise<Proxy> {
  const place = join(folder, `${name}-${nodes.length}`)
  const ports = { http: await freePort(), https: await freePort() }
  const file = writeFiles(name, { place, ports, nodes })
  const { program, run } = kindOf(name)
  const { stop } = startGuarded(place, [program, ...run, file])
  const log = () => readFileSync(join(place, 'log'), 'utf8')
  await eventually(`${name} listens`, {
    withinMs: 20_000,
    see: () => accepts(ports.https),
  }).catch(async (error) => {
    await stop()
    throw new Error(log(), { cause: error })
  })
  return { port: ports.https, httpPort: ports.http, log, stop }
}

/** Lets the program read its file. Throws with what it says against it. */
export function checkProxyFile(name: string, folder: string, nodes: readonly string[]): void {
  const place = join(folder, name)
  const file = writeFiles(name, { place, ports: { http: 8001, https: 8002 }, nodes })
  const { program, check } = kindOf(name)
  execFileSync(program, [...check, file], {
    ...runAs(),
    cwd: place,
    env: { HOME: place },
    stdio: 'pipe',
  })
}

/** Writes the files of a proxy and returns the one that it is started with. */
function writeFiles(
  name: string,
  { place, ports, nodes }: { place: string; ports: Ports; nodes: readonly string[] },
): string {
  ownedFolder(place)
  const { file, main, edits } = kindOf(name)
  const [one = '', two] = nodes
  const second: [string | RegExp, string] =
    two === undefined ? [/^.*10\.0\.0\.12:8080.*\n/gm, ''] : ['10.0.0.12:8080', two]
  const all = [...edits(place, ports), ['10.0.0.11:8080', one], second] as const
  const text = editedFile(file, all)
  const { cert, key } = testAuthority().certify(hostName)
  const files = { cert, key, both: cert + key, file: text, main: main ?? '' }
  for (const [part, content] of Object.entries(files)) writeFileSync(join(place, part), content)
  return join(place, main === undefined ? 'file' : 'main')
}

function kindOf(name: string): Kind {
  const kind = kinds[name]
  if (kind === undefined) throw new Error(`no proxy ${name}`)
  return kind
}

/** Returns whether a program listens on this port of 127.0.0.1. */
export function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
