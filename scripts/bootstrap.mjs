/**
 * Entry of `npm start`, `npm test` and the other scripts, in plain JavaScript without dependencies
 * for any Node from 18 on. Ensures that Node 24 and the locked packages are installed, then runs
 * the command with them.
 */
import { run } from './runtime/run.mjs'

const [command, ...args] = process.argv.slice(2)
await run(command, args)
