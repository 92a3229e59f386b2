/** Keys of our own, by name: from the settings, else from a file that the first process makes. */
import { randomBytes } from 'node:crypto'
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** 32 bytes each, by kid. The first is the one in use, the others are on their way out. */
export type Keyring = ReadonlyMap<string, Uint8Array>

/** Reads `kid:base64,kid:base64`. Throws with what is expected. */
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

/** The ring in a file, or null where there is no such file. Throws, with the file's name, where it holds something else. */
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

/** The ring in a file, made at the first call, for the owner's eyes alone. Of processes that start at once, one makes it. */
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
