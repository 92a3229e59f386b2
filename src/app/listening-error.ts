/** Why an address could not be listened on, as a sentence for the operator that names the settings to change. */

interface Place {
  host: string
  port: number
  /** The names of the settings behind them. */
  settings: { host: string; port: string }
}

/** For `catch`: rethrows what is known as one sentence, and anything else as it is. */
export function explainListening(place: Place): (error: unknown) => never {
  const { host, port, settings } = place
  const sentences: Record<string, string> = {
    EADDRINUSE: `Port ${port} of ${host} is in use. Stop what listens there, or set ${settings.port} to another port.`,
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
