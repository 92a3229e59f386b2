/** Reads certificates that the operator trusts in addition to those of the machine. */
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'

/**
 * Throws an error that names the setting if the file holds no certificate. Without this check the
 * TLS client silently ignores the file.
 */
export async function readAuthorities(setting: string, file: string): Promise<string> {
  try {
    const text = await readFile(file, 'utf8')
    // Throws if the text is not a certificate.
    new X509Certificate(text).toString()
    return text
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`${setting} must name a file of certificates in PEM (${why})`, { cause })
  }
}
