/** Explains to the operator why a port could not be opened, and names the settings to change. */

interface ListenAddress {
  host: string
  port: number
  /** Names of the settings of host and port. */
  settings: { host: string; port: string }
}

/** Returns a handler for `catch`. Rethrows a known error as a sentence, other errors unchanged. */
export function explainListenError(address: ListenAddress): (error: unknown) => never {
  const { host, port, settings } = address
  const sentences: Record<string, string> = {
    EADDRINUSE: `Port ${port} of ${host} is in use. Stop the process that uses it, or set ${settings.port} to another port.`,
    EACCES: `Port ${port} needs rights that this user does not have. Set ${settings.port} to 1024 or more.`,
    EADDRNOTAVAIL: `${host} is no address of this machine. Set ${settings.host} to one that is.`,
    ENOTFOUND: `${host} is no address of this machine. Set ${settings.host} to one that is.`,
  }
  return (error) => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    const sentence = sentences[code]
    throw sentence === undefined ? error : new Error(sentence, { cause: error })
  }
}
