/** The checks of `assay doctor` that need no database: runtime, folders, key files and port. */
import { existsSync } from 'node:fs'
import { access, constants, readdir, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import type { Config, SecretFile } from '../config/config.ts'
import { readSigners } from '../credentials/key-files.ts'
import { KeyRefused, type Signer } from '../credentials/signing-key.ts'
import type { SharedCheck } from '../health/processes.ts'
import { findRunningServer } from '../main/server-mark.ts'
import { ed25519Library } from '../platform/crypto/ed25519.ts'
import { connectionsWithin, receiversWithin } from '../platform/open-files.ts'
import { EngineRefused, loadEngine } from '../scoring/scores/engine.ts'
import { about, type Finding } from './doctor-finding.ts'

export function checkNodeVersion(version: string): Finding {
  const { ok, fail } = about('node')
  const major = Number(version.split('.')[0]?.replace('v', ''))
  return major >= 24 ? ok(version) : fail(`${version} is too old: Node 24 or newer is needed.`)
}

/**
 * The data folder, or its parent if it does not exist yet, must be writable and closed to other
 * users.
 */
export async function checkDataFolder(folder: string): Promise<Finding> {
  const { ok, warn, fail } = about('data folder')
  try {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT')
      return fail(`${folder} cannot be written: give it to the user who runs assay.`)
    const parent = await findExistingParent(dirname(folder))
    return (await isWritable(parent))
      ? ok(`${folder} will be made`)
      : fail(`${folder} cannot be made in ${parent}: make it, or set ASSAY_DATA_DIR.`)
  }
  const { mode } = await stat(folder)
  return mode & 0o007
    ? warn(`${folder} is open to every user of this machine: chmod o-rwx ${folder}`)
    : ok(folder)
}

/** Node's own library gives the same results and takes twice the time. */
export function checkSignatureLibrary(): Finding {
  const { ok } = about('signatures')
  const { name, whyNotSodium } = ed25519Library()
  const message = `Ed25519 is verified by ${name}`
  return ok(whyNotSodium === undefined ? message : `${message}: ${whyNotSodium}`)
}

/** Checks the engine against its golden vectors, as the server does at its start. */
export async function checkScoringEngine(): Promise<Finding> {
  const { ok, fail } = about('engine' satisfies SharedCheck)
  try {
    const { id, version, binarySha256 } = await loadEngine()
    return ok(`${id} ${version}, SHA-256 ${binarySha256}`)
  } catch (error) {
    if (!(error instanceof EngineRefused)) throw error
    return fail(`no score is computed: ${error.message}. Restore the files of the release.`)
  }
}

/** Also returns the signers. */
export async function checkKeyFiles({
  signingKeysDir: folder,
  dataDir,
}: Pick<Config, 'signingKeysDir' | 'dataDir'>): Promise<{
  finding: Finding
  signers: Map<string, Signer>
}> {
  const { ok, warn, fail } = about('key files')
  try {
    const signers = await readSigners(folder)
    const secrets = [join(dataDir, 'webhook-secrets.keys')].filter(existsSync)
    const open = await openToOthers([...(await pemFiles(folder)), ...secrets])
    const finding =
      open.length > 0
        ? warn(`other users can read ${open.join(', ')}: chmod 600`)
        : ok(`${signers.size} in ${folder}`)
    return { finding, signers }
  } catch (error) {
    if (!(error instanceof KeyRefused)) throw error
    const message = `${error.message}. The service does not start with it: remove or restore it.`
    return { finding: fail(message), signers: new Map() }
  }
}

/** Returns no finding without a file of a secret. */
export async function checkSecretFiles(files: readonly SecretFile[]): Promise<Finding[]> {
  const { ok, warn } = about('secret files')
  if (files.length === 0) return []
  const open = await openToOthers(files.map(({ path }) => path))
  return [
    open.length > 0
      ? warn(`other users can read ${open.join(', ')}: chmod 600`)
      : ok(files.map(({ name }) => `${name}_FILE`).join(', ')),
  ]
}

async function pemFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  return names.filter((name) => name.endsWith('.pem')).map((name) => join(folder, name))
}

async function openToOthers(files: readonly string[]): Promise<string[]> {
  const modes = await Promise.all(files.map((file) => stat(file)))
  return files.filter((_, i) => ((modes[i]?.mode ?? 0) & 0o077) !== 0)
}

export async function checkPort({ host, port, dataDir }: Config): Promise<Finding> {
  const { ok, warn, fail } = about('port')
  const address = `${host}:${port}`
  const code = await listenOnce(host, port)
  if (code === null) return ok(port === 0 ? 'any free one' : `${address} is free`)
  const running = code === 'EADDRINUSE' ? findRunningServer(dataDir, port) : null
  if (running !== null) {
    const { pid, endedLauncherPid } = running
    return endedLauncherPid === null
      ? ok(`${address} is held by the server with process id ${pid}`)
      : warn(
          `${address} is held by the server with process id ${pid}, whose launcher (${endedLauncherPid}) has ended: it still answers, and no terminal shows it. Stop it with \`kill ${pid}\`.`,
        )
  }
  if (code === 'EADDRINUSE')
    return warn(
      `${address} is in use, and not by a server of ${dataDir}: set PORT, unless assay runs there with another data directory.`,
    )
  return fail(`${address} cannot be listened on (${code}): set HOST or PORT.`)
}

/** Returns no finding if the files suffice, or if the system does not tell. */
export function checkOpenFiles(
  { connectionsMax }: Pick<Config, 'connectionsMax'>,
  filesMax: number | null,
): Finding[] {
  const { warn } = about('open files')
  const within = connectionsWithin(filesMax, connectionsMax)
  if (within === connectionsMax) return []
  return [
    warn(
      `a process started here may open ${filesMax}, so it takes ${within} connections, and not CONNECTIONS_MAX (${connectionsMax}), and sends ${receiversWithin(filesMax)} webhooks at once: raise the limit (LimitNOFILE of systemd, \`ulimit -n\`), or lower CONNECTIONS_MAX.`,
    ),
  ]
}

function listenOnce(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error) => resolve(codeOf(error)))
    server.listen({ host, port }, () => server.close(() => resolve(null)))
  })
}

async function findExistingParent(folder: string): Promise<string> {
  let found = folder
  while (dirname(found) !== found && !(await exists(found))) found = dirname(found)
  return found
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

function isWritable(folder: string): Promise<boolean> {
  return access(folder, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
}
