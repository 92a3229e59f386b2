/**
 * Audits every kind of public page with Lighthouse, as a phone sees it. Lighthouse is installed on
 * demand from its own lock file, and needs a Chromium.
 */
import { execFile, execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { report } from './measure.ts'

const folder = join(import.meta.dirname, 'peers/lighthouse')
const chromium = process.env.CHROMIUM ?? '/usr/bin/chromium'
const target = { min: 95 }

interface Audit {
  url: string
  /** From 0 to 100, by category. */
  scores: Record<string, number>
  failed: string[]
}

/** Returns false and prints a line if Lighthouse or its browser is missing. */
function installLighthouse(): boolean {
  if (!existsSync(chromium)) {
    process.stderr.write('No Chromium is installed: Lighthouse is left out.\n')
    return false
  }
  if (existsSync(join(folder, 'node_modules'))) return true
  try {
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder })
    return true
  } catch {
    process.stderr.write('Lighthouse cannot be installed here: it is left out.\n')
    return false
  }
}

/** Reports the lowest of the four scores of each page, which `base` serves. */
export async function auditPages(base: string, paths: readonly string[]): Promise<void> {
  if (!installLighthouse()) return
  const urls = paths.map((path) => base + path)
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [join(folder, 'audit.mjs'), chromium, ...urls],
    { cwd: folder },
  )
  const audits = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Audit)
  for (const { url, scores, failed } of audits) {
    const lowest = Math.min(...Object.values(scores))
    const name = `${url.slice(base.length)}: Lighthouse, lowest of four scores`
    report('pages', [{ name, value: lowest, unit: '', target }])
    if (failed.length > 0) process.stderr.write(`  failed audits: ${failed.join(', ')}\n`)
  }
}
