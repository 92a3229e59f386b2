/**
 * Audits pages with Lighthouse as a phone sees them, in one Chromium. Prints a line of JSON for
 * each page: the scores of the four categories, and the audits that failed.
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
  const port = await debuggingPort()
  for (const url of urls) {
    const { lhr } = await lighthouse(url, {
      port,
      output: 'json',
      logLevel: 'error',
      onlyCategories,
    })
    if (lhr.runtimeError !== undefined) throw new Error(`${url}: ${lhr.runtimeError.message}`)
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
} finally {
  const ended = once(chromium, 'exit')
  chromium.kill()
  await ended
  rmSync(profile, { recursive: true, force: true })
}

/** Chromium writes the port that it chose to stderr. */
async function debuggingPort() {
  for await (const line of createInterface({ input: chromium.stderr })) {
    const port = /^DevTools listening on ws:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1]
    if (port !== undefined) {
      chromium.stderr.resume()
      return Number(port)
    }
  }
  throw new Error('Chromium ended before it listened.')
}
