/**
 * The flags of Node. The sources are TypeScript, so `every` process runs without the warning about
 * it. Stacks name lines of the bundled program: maps to the sources would take 70 MB in a
 * server and 30 ms in a command. NODE_OPTIONS=--enable-source-maps shows the sources.
 *
 * `serve` is for the service. V8 learns while the service starts that the objects of a function
 * stay, and then puts also those of requests among the old objects, which keep everything that they
 * refer to until a full collection. One start in ten served public documents at 0.6 of the rate of
 * the others; without this rule (pretenuring) all starts are equal. The server collects
 * garbage once, before it listens.
 *
 * `flatMemory` is for commands that run as long as their input. V8 lets the garbage of a long run
 * grow by a hundred megabytes between collections. These flags keep the young generation at its
 * first size, and collect the old generation each time it has doubled instead of quadrupled: a jobs
 * process with 100,000 waiting deliveries holds 205 MB at most, and 254 MB without them. A server
 * does without, because collections would take its time.
 */
import { readFileSync } from 'node:fs'

/** Node 18 cannot import JSON. */
const text = readFileSync(new URL('node-flags.json', import.meta.url), 'utf8')

export const flags = JSON.parse(text)
