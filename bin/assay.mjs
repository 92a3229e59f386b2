#!/usr/bin/env node
/** The command `assay`, for any Node from 18 on. */
import { run } from '../scripts/runtime/run.mjs'

await run('assay', process.argv.slice(2))
