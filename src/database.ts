/** Which database a process works with: the operator's, or the embedded one, started or joined. */
import type { Config } from './config.ts'
import { startEmbeddedPostgres } from './platform/embedded-postgres.ts'

export interface Database {
  url: string
  embedded: boolean
  /** Starts the embedded server again where it is gone. */
  revive(): Promise<void>
  /** Leaves the embedded server; the last process to leave it stops it. */
  stop(): Promise<void>
}

export async function openDatabase(
  config: Pick<Config, 'databaseUrl' | 'dataDir'>,
  log: (line: string) => void,
): Promise<Database> {
  const { databaseUrl: url, dataDir } = config
  const nothing = () => Promise.resolve()
  if (url !== undefined) return { url, embedded: false, revive: nothing, stop: nothing }
  const start = () => startEmbeddedPostgres({ dataDir, durable: true, log })
  const server = await start()
  return {
    url: server.url,
    embedded: true,
    async revive() {
      // We use it still: to leave what this start adds stops nothing.
      await (await start()).stop()
    },
    stop: () => server.stop(),
  }
}
