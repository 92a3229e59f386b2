/**
 * Audits pages with Lighthouse as a phone sees them. Prints a line of JSON for each page: the
 * scores of the four categories, and the audits that failed.
 *
 * Arguments: the program file of Chromium, then the URLs.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import lighthouse from 'lighthouse'

const [program, ...urls] = process.argv.slice(2)
const onlyCategories = ['performance', 'accessibility', 'best-practices', 'seo']
const triesMax = 3

for (const url of urls) {
  const lhr = await auditOf(url)
  const scores = Object.fromEntries(
    onlyCategories.map((name) => [name, Math.round(lhr.categories[name].score * 100)]),
  )
  const failed = onlyCategories.flatMap((name) =>
    lhr.categories[name].auditRefs
      .filter(({ id, weight }) => weight > 0 && (lhr.audits[id].score ?? 1) < 0.9)
      .map(({ id }) => id),
  )
  process.stdout.write(`${JSON.stringify({ url, scores, failed })}\n`)
}

/** On a busy machine Chromium loses a recording now and then, and its next ones as well. */
async function auditOf(url) {
  for (let tries = 1; ; tries++) {
    const lhr = await inChromium(async (port) => {
      const flags = { port, output: 'json', logLevel: 'silent', onlyCategories }
      return (await lighthouse(url, flags)).lhr
    })
    if (lhr.runtimeError === undefined) return lhr
    if (tries === triesMax) throw new Error(`${url}: ${lhr.runtimeError.message}`)
  }
}

/** Runs `use` with the debugging port of a fresh Chromium. */
async function inChromium(use) {
  const profile = mkdtempSync(join(tmpdir(), 'assay-chromium-'))
  const chromium = spawn(
    program,
    [
      '--headless=new',
      '--no-sandbox',
      '--disable-gpu',
      '--no-first-run',
      '--disable-background-networking',
      '--remote-debugging-port=0',
      `--user-data-dir=${profile}`,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  try {
    return await use(await debuggingPort(chromium))
  } finally {
    const ended = once(chromium, 'exit')
    chromium.kill()
    await ended
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Chromium writes the port that it chose to stderr. */
async function debuggingPort({ stderr }) {
  for await (const line of createInterface({ input: stderr })) {
    const port = /^DevTools listening on ws:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1]
    if (port !== undefined) {
      // Nothing reads the rest, and a full pipe would stop Chromium.
      stderr.resume()
      return Number(port)
    }
  }
  throw new Error('Chromium ended before it listened.')
}
