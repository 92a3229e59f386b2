/**
 * The scoring core as one file, so that one SHA-256 names exactly what computed a score, and every engine that ever issued one can be kept
 * and run again. Made of the sources alone: types taken out, imports within the room taken out, files in the order they need each other.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { sha256Hex } from '../platform/crypto/bytes.ts'
import { engineId, engineVersion } from '../scoring-core/parameters.ts'

/** `directory` is the room `scoring-core`, wherever it lies. The same sources give the same text. */
export function coreBundle(directory: string): string {
  const names = readdirSync(directory).filter(
    (name) => name.endsWith('.ts') && !name.endsWith('.test.ts'),
  )
  const sources = new Map(
    names.sort().map((name) => [name, readFileSync(join(directory, name), 'utf8')]),
  )
  const parts = inOrder(sources).map(
    (name) => `// ${name}\n${withoutTypes(sources.get(name) ?? '')}`,
  )
  return `// ${engineId} ${engineVersion}: made from src/scoring-core by \`npm run generate\`. Never edited, never deleted once released.\n\n${parts.join('\n')}`
}

/** `hsc-1.0.0-<first 12 digits of the SHA-256>.mjs` */
export function bundleName(text: string): string {
  return `${engineId}-${engineVersion}-${sha256Hex(text).slice(0, 12)}.mjs`
}

const importOfRoom = /^import\s[^']*'\.\/([^']+)'\n/gm

function withoutTypes(source: string): string {
  return stripTypeScriptTypes(source)
    .replace(importOfRoom, '')
    .replace(/[ \t]+$/gm, '')
    .replace(/\n{3,}/g, '\n\n')
}

/** Each file after those it imports; otherwise by name. */
function inOrder(sources: ReadonlyMap<string, string>): string[] {
  const ordered = new Set<string>()
  const add = (name: string): void => {
    if (ordered.has(name)) return
    const source = sources.get(name)
    if (source === undefined)
      throw new Error(`the scoring core imports ${name}, which is not there`)
    for (const [, imported = ''] of source.matchAll(importOfRoom)) add(imported)
    ordered.add(name)
  }
  for (const name of sources.keys()) add(name)
  return [...ordered]
}
