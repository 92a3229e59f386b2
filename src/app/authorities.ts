/** Certificates that the operator trusts beside those of the machine. */
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'

/** Throws, naming the setting, if the file holds no certificate: the client would trust nothing more, and say nothing. */
export async function readAuthorities(setting: string, file: string): Promise<string> {
  try {
    const text = await readFile(file, 'utf8')
    // Throws for what is none.
    new X509Certificate(text).toString()
    return text
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`${setting} must name a file of certificates in PEM (${why})`, { cause })
  }
}
