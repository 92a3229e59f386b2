#!/usr/bin/env node
/** The command `assay`, on whatever Node the machine has. */
import { run } from '../scripts/runtime/run.mjs'

await run('assay', process.argv.slice(2))
