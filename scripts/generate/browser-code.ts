/**
 * Makes the scripts of the pages from TypeScript when files are generated. In the server, the
 * compiler would take 25 MB of memory.
 */
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'

const assets = 'src/web/assets'

/** The verify page's modules, each behind those that it imports. */
const verifyModules = [
  'packages/sdk/src/bytes.ts',
  'packages/sdk/src/canonical-json.ts',
  'packages/sdk/src/strict-json.ts',
  'packages/sdk/src/keys.ts',
  'packages/sdk/src/proof.ts',
  'packages/sdk/src/structure.ts',
  'packages/sdk/src/status-list.ts',
  'packages/sdk/src/verify.ts',
  `${assets}/badge-file.ts`,
  `${assets}/verdict-rows.ts`,
  `${assets}/verify-page.ts`,
]

/** The modules of every page. */
const pageModules = [`${assets}/find.ts`, `${assets}/islands.ts`]

/** The scripts as generated files: their paths and contents. */
export const browserScripts = [
  ...['theme', 'skill-search', 'camera'].map((name) => ({
    path: `${assets}/browser/${name}.js`,
    text: (root: string) => browserCode(root, `${assets}/${name}.ts`),
  })),
  { path: `${assets}/browser/islands.js`, text: (root: string) => joined(root, pageModules) },
  { path: `${assets}/browser/verify-page.js`, text: (root: string) => joined(root, verifyModules) },
]

/**
 * Joins modules into one, without their imports and exports: ten files would be a fifth larger in
 * gzip, and ten requests. A name that two of them declare is an error of syntax.
 */
function joined(root: string, paths: readonly string[]): string {
  return paths
    .map((path) => browserCode(root, path))
    .join('\n')
    .replace(/^(?:import|export) \{[^}]*\} from '[^']+'$/gm, '')
    .replace(/^export /gm, '')
}

/** Returns a module for browsers, without types. */
function browserCode(root: string, path: string): string {
  return compact(stripTypeScriptTypes(readFileSync(join(root, path), 'utf8')))
}

/**
 * Removes comments that are whole lines, indentation and empty lines: a third of the bytes in gzip.
 * A module has no text of several lines.
 */
function compact(code: string): string {
  return code
    .replace(/^\s*\/\*\*[\s\S]*?\*\//gm, '')
    .replace(/^\s*\/\/.*$/gm, '')
    .replace(/^\s+|[^\S\n]+$/gm, '')
}
