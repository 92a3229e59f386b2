/** A node as a process of its own: says where it listens, and serves until it is killed. */
import { startNode } from './node.ts'

const [url] = process.argv.slice(2)
if (url === undefined) throw new Error('which database?')
const { base } = await startNode(url)
process.stdout.write(`${base}\n`)
