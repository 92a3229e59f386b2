/** The weight of a page for its reader. */
import { gzipSync } from 'node:zlib'
import { ask } from './ask.ts'

export interface PageWeight {
  /** Bytes in gzip of the page with its style sheet, its scripts and its icon. */
  total: number
  /** Those of the scripts. */
  scripts: number
}

export async function weighPage(base: string, page: string): Promise<PageWeight> {
  const paths = new Set(
    [...page.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path = '']) => path),
  )
  const weight = { total: gzipSync(page).length, scripts: 0 }
  for (const path of paths) {
    const { status, body } = await ask(base, { path })
    if (status !== 200) throw new Error(`${status} ${path}`)
    const bytes = gzipSync(body).length
    weight.total += bytes
    if (path.endsWith('.ts')) weight.scripts += bytes
  }
  return weight
}

export const pageBytesMax = 60 * 1_024
