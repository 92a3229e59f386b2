/**
 * Builds the engine: the scoring core as one file. One SHA-256 then names exactly the code that
 * computed a score, and every released engine can be kept and run again. The file is made of the
 * sources alone, in the order of their imports, without types and imports.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { sha256Hex } from '../../platform/crypto/bytes.ts'
import { engineId, engineVersion } from '../core/parameters.ts'

/**
 * Builds the bundle of `src/scoring/core` in `directory`. The same sources give the same
 * text in any directory.
 */
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
  return `// ${engineId} ${engineVersion}: made from src/scoring/core by \`npm run generate\`. Never edited, never deleted once released.\n\n${parts.join('\n')}`
}

/** Returns `hsc-<version>-<first 12 digits of the SHA-256>.mjs`. */
export function bundleName(text: string): string {
  return `${engineId}-${engineVersion}-${sha256Hex(text).slice(0, 12)}.mjs`
}

const importOfModule = /^import\s[^']*'\.\/([^']+)'\n/gm

function withoutTypes(source: string): string {
  return stripTypeScriptTypes(source)
    .replace(importOfModule, '')
    .replace(/[ \t]+$/gm, '')
    .replace(/\n{3,}/g, '\n\n')
}

/** Orders files so that each follows the files it imports, and otherwise by name. */
function inOrder(sources: ReadonlyMap<string, string>): string[] {
  const ordered = new Set<string>()
  const add = (name: string): void => {
    if (ordered.has(name)) return
    const source = sources.get(name)
    if (source === undefined)
      throw new Error(`the scoring core imports ${name}, which is not there`)
    for (const [, imported = ''] of source.matchAll(importOfModule)) add(imported)
    ordered.add(name)
  }
  for (const name of sources.keys()) add(name)
  return [...ordered]
}
