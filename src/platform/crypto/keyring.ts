/**
 * Secret keys of the service by name, from the settings or from a file that the first process
 * creates.
 */
import { randomBytes } from 'node:crypto'
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Keys of 32 bytes by key id. The first key is in use; the others are on their way out. */
export type Keyring = ReadonlyMap<string, Uint8Array>

/** Parses `kid:base64,kid:base64`. Throws with the expected form. */
export function parseKeyring(text: string): Keyring {
  const ring = new Map<string, Uint8Array>()
  for (const item of text.split(',').map((part) => part.trim())) {
    const [, kid = '', encoded = ''] = /^([\w.-]{1,64}):([A-Za-z0-9+/]{43}=)$/.exec(item) ?? []
    const key = Buffer.from(encoded, 'base64')
    if (kid === '' || key.length !== 32 || ring.has(kid))
      throw new Error('kid:key pairs, separated by commas; each key 32 bytes in base64')
    ring.set(kid, key)
  }
  return ring
}

/**
 * Returns the ring of a file, or null if there is no file. Throws with the file's name if it holds
 * anything else.
 */
export async function readKeyringFile(path: string): Promise<Keyring | null> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (text === null) return null
  try {
    return parseKeyring(text.trim())
  } catch (error) {
    throw new Error(`${path} must hold ${(error as Error).message}`, { cause: error })
  }
}

/**
 * Returns the ring of a file. The first call creates the file with mode 0600. If processes start at
 * once, one of them creates it.
 */
export async function keyringFile(path: string): Promise<Keyring> {
  const ring = await readKeyringFile(path)
  if (ring !== null) return ring
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const own = `${path}.${randomBytes(6).toString('hex')}`
  await writeFile(own, `k1:${randomBytes(32).toString('base64')}\n`, { mode: 0o600 })
  await link(own, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  await rm(own)
  const made = await readKeyringFile(path)
  if (made === null) throw new Error(`${path} was made and is gone`)
  return made
}
