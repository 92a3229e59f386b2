/**
 * Runs a command of the program in the process of the test. A process of its own takes 0.2 s of
 * processor time, nearly all of it to load the program. Each command has its own arguments,
 * environment, streams and exit code, also beside other commands at the same time.
 */
import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { inTime } from '../fault/in-time.ts'
import { program } from './program.ts'

interface CommandStart {
  args: readonly string[]
  env: Record<string, string>
  /** Standard input. */
  input?: string
  /** The working directory. */
  folder?: string
}

export interface CommandEnd {
  code: number
  out: string
  err: string
}

interface Command {
  argv: string[]
  env: Record<string, string>
  stdin: Readable
  stdout: Writable
  stderr: Writable
  exitCode: number
  sockets: Socket[]
}

const ownFolder = process.cwd()
const current = new AsyncLocalStorage<Command>()
let running = 0
let loads = 0
let isShared = false

export async function runInProcess({
  args,
  env,
  input = '',
  folder,
}: CommandStart): Promise<CommandEnd> {
  shareProcess()
  const [out, err]: [string[], string[]] = [[], []]
  const command: Command = {
    argv: [process.execPath, program, ...args],
    env: { ...env },
    stdin: Readable.from(input === '' ? [] : [Buffer.from(input)]),
    stdout: writerTo(out),
    stderr: writerTo(err),
    exitCode: 0,
    sockets: [],
  }
  enter(folder)
  // The first file of the program runs again under each name; what it imports is loaded once.
  const file = `${pathToFileURL(program).href}?command=${++loads}`
  try {
    await current.run(command, () => import(file))
  } finally {
    leave()
  }
  await inTime(`assay ${args.join(' ')} closes its connections`, closed(command.sockets))
  return { code: command.exitCode, out: out.join(''), err: err.join('') }
}

/** The exit code of a command that could not be run here; none of ours ends with it. */
const notRun = 70

/**
 * Writes a program for shells to `path`: it hands arguments, environment, standard input and
 * working directory to this process, which runs the command, and ends with its output and code. It
 * reads its whole input first, and no signal reaches the command.
 */
export async function writeCommandInProcess(path: string): Promise<void> {
  const server = createServer(
    ({ url: folder = '' }, response) =>
      void runFromFiles(folder).then((code) => response.end(String(code))),
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  server.unref()
  const { port } = server.address() as AddressInfo
  const script = `#!/bin/sh
own=$(mktemp -d) || exit ${notRun}
for one; do printf '%s\\0' "$one"; done >"$own/args"
env -0 "PWD=$(pwd -P)" >"$own/env"
cat >"$own/in"
code=$(curl -s "http://127.0.0.1:${port}$own") || exit ${notRun}
cat "$own/out"
cat "$own/err" >&2
rm -r "$own"
exit "$code"
`
  writeFileSync(path, script, { mode: 0o755 })
}

/** Runs the command in the files of a folder, and writes its output there. Returns its code. */
async function runFromFiles(folder: string): Promise<number> {
  const listIn = (name: string): string[] =>
    readFileSync(join(folder, name), 'utf8').split('\0').slice(0, -1)
  const pairs = listIn('env').map((pair) => /^([^=]*)=(.*)$/s.exec(pair)?.slice(1) ?? [])
  const env: Record<string, string> = Object.fromEntries(pairs)
  const input = readFileSync(join(folder, 'in'), 'utf8')
  const { code, out, err } = await runInProcess({
    args: listIn('args'),
    env,
    input,
    folder: env.PWD ?? '',
  }).catch((error: Error) => ({ code: notRun, out: '', err: `${error.stack}\n` }))
  writeFileSync(join(folder, 'out'), out)
  writeFileSync(join(folder, 'err'), err)
  return code
}

/** As a process, the command would end only after its connections. */
async function closed(sockets: readonly Socket[]): Promise<void> {
  for (const socket of sockets)
    if (!socket.closed) await new Promise((done) => socket.once('close', done))
}

/** All commands share the working directory. */
function enter(folder = ownFolder): void {
  assert.ok(running === 0 || folder === process.cwd(), 'commands run in two folders at once')
  if (running++ === 0) process.chdir(folder)
}

function leave(): void {
  if (--running === 0) process.chdir(ownFolder)
}

function writerTo(parts: string[]): Writable {
  return new Writable({
    decodeStrings: false,
    write(part: string | Buffer, _encoding, done) {
      parts.push(part.toString())
      done()
    },
  })
}

/** From now on `process` shows the code of a command what belongs to that command. */
function shareProcess(): void {
  if (isShared) return
  isShared = true
  for (const name of ['argv', 'env', 'stdin', 'stdout', 'stderr'] as const) {
    const real = Object.getOwnPropertyDescriptor(process, name)
    Object.defineProperty(process, name, {
      get: () => current.getStore()?.[name] ?? real?.get?.call(process) ?? real?.value,
    })
  }
  // The exit code of a process cannot be redefined.
  globalThis.process = new Proxy(process, {
    get(target, name) {
      const command = name === 'exitCode' ? current.getStore() : undefined
      return command === undefined ? Reflect.get(target, name) : command.exitCode
    },
    set(target, name, value) {
      const command = name === 'exitCode' ? current.getStore() : undefined
      if (command === undefined) return Reflect.set(target, name, value)
      command.exitCode = value
      return true
    },
  })
  subscribe('net.client.socket', (message) => {
    const { socket } = message as { socket: Socket }
    current.getStore()?.sockets.push(socket)
  })
}
