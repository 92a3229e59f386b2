/** Pure: the names by which operators name credentials. */
export type CredentialName =
  | { by: 'id'; id: string }
  | { by: 'token' | 'digest'; bytes: Buffer }
  /** 64 hex characters that may be either. A token and a digest never have the same 256 bits. */
  | { by: 'token or digest'; bytes: Buffer }

const uuidPattern = /^(?:urn:uuid:)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i
const hexPattern = /^[0-9a-f]{64}$/i

/** Reads a UUID, with or without `urn:uuid:`. */
export function nameById(text: string): CredentialName | null {
  const id = uuidPattern.exec(text)?.[1]
  return id === undefined ? null : { by: 'id', id: id.toLowerCase() }
}

/** Reads 64 hex characters. A token may be in a status URL. */
export function nameByHex(
  text: string,
  by: 'token' | 'digest' | 'token or digest',
): CredentialName | null {
  const hex = by === 'token' ? text.slice(text.lastIndexOf('/') + 1) : text
  return hexPattern.test(hex) ? { by, bytes: Buffer.from(hex, 'hex') } : null
}

/** Reads a line with an id, 64 hex characters, or a whole credential. */
export function nameOfLine(line: string): CredentialName | null {
  const text = line.trim()
  if (!text.startsWith('{')) return nameById(text) ?? nameByHex(text, 'token or digest')
  try {
    const credential: unknown = JSON.parse(text)
    return typeof credential === 'object' && credential !== null && 'id' in credential
      ? nameById(String(credential.id))
      : null
  } catch {
    return null
  }
}
