/**
 * Private keys on disk: one PEM file for each key, named by its kid, readable only by its owner. A
 * process reads them at start and again when it meets an unknown kid.
 */
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { KeyRefused, kidOf, rawPublicKey, type Signer, signerOfPem } from './signing-key.ts'

/**
 * Returns the signers of a folder, by kid. Returns none if the folder does not exist. Throws
 * `KeyRefused` with the file name at the first file that is not a sound key.
 */
export async function readSigners(folder: string): Promise<Map<string, Signer>> {
  const signers = new Map<string, Signer>()
  for (const name of await pemFiles(folder)) {
    const file = join(folder, name)
    const signer = await readSigner(file)
    if (signer !== null) signers.set(signer.kid, signer)
  }
  return signers
}

async function pemFiles(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => name.endsWith('.pem')).sort()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw new KeyRefused(`${folder}: the key folder cannot be read`, { cause: error })
  }
}

async function readSigner(file: string): Promise<Signer | null> {
  const pem = await readPem(file)
  try {
    return signerOfPem(pem)
  } catch (error) {
    if (error instanceof KeyRefused)
      throw new KeyRefused(`${file}: ${error.message}`, { cause: error })
    throw error
  }
}

const pemBytesMax = 65_536

/**
 * Reads a PEM file. Rejects a pipe, which would block the start for ever, and a file too large to
 * be a key.
 */
async function readPem(file: string): Promise<string> {
  const stats = await stat(file).catch(unreadable(file))
  if (!stats.isFile()) throw new KeyRefused(`${file}: not a file`)
  if (stats.size > pemBytesMax) throw new KeyRefused(`${file}: too large to be a PEM key`)
  return readFile(file, 'utf8').catch(unreadable(file))
}

/** Returns a handler for `catch` that throws `KeyRefused` with the file name. */
function unreadable(file: string): (error: unknown) => never {
  return (error) => {
    throw new KeyRefused(`${file}: the file cannot be read`, { cause: error })
  }
}

/**
 * Creates a key file in `folder` and returns its kid. After a crash the file is either complete or
 * absent.
 */
export async function makeKeyFile(folder: string): Promise<string> {
  const { privateKey } = generateKeyPairSync('ed25519')
  const kid = kidOf(rawPublicKey(createPublicKey(privateKey)))
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const file = join(folder, `${kid}.pem`)
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' })
  await writeFile(`${file}.new`, pem, { mode: 0o600, flag: 'wx', flush: true })
  await rename(`${file}.new`, file)
  return kid
}
