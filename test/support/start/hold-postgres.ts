/**
 * A process that uses the embedded server of a data directory until its standard input ends. Usage:
 * `node hold-postgres.ts DATA_DIR`.
 */
import { startEmbeddedPostgres } from '../../../src/database/embedded/embedded-postgres.ts'

const dataDir = process.argv[2]
if (dataDir === undefined) throw new Error('usage: hold-postgres.ts DATA_DIR')
const server = await startEmbeddedPostgres({ dataDir, durable: false, log: () => {} })
process.stdout.write(`${JSON.stringify({ url: server.url, isStarter: server.isStarter })}\n`)
for await (const _ of process.stdin);
await server.stop()
