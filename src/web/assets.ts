/**
 * Style sheets, scripts and images of the pages. They are served under a folder whose name is the
 * digest of them all, so a browser never asks for one again and a page never gets one of another
 * release.
 */
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sha256Hex } from '../platform/crypto/bytes.ts'
import {
  type PublicDocument,
  type PublicDocumentOptions,
  publicDocument,
} from '../platform/http/document.ts'
import { type Endpoint, endpoint } from '../platform/http/endpoint.ts'

interface Content extends Pick<PublicDocumentOptions, 'body' | 'contentType'> {
  /** In the folder. A script has its path in the repository, so that its imports lead to files. */
  path: string
}

const root = join(import.meta.dirname, '../..')
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
  'src/web/assets/verdict-rows.ts',
  'src/web/assets/verify-page.ts',
]

const contents = {
  'assay.css': {
    path: 'assay.css',
    body: `${read('tokens.css')}\n${read('components.css')}`,
    contentType: 'text/css; charset=utf-8',
  },
  'favicon.svg': {
    path: 'favicon.svg',
    body: read('favicon.svg'),
    contentType: 'image/svg+xml',
  },
  'theme.ts': script('src/web/assets/theme.ts'),
  'islands.ts': script('src/web/assets/islands.ts'),
  'verify-page.ts': { ...script('src/web/assets/verify-page.ts'), body: joined(verifyModules) },
  'skill-search.ts': script('src/web/assets/skill-search.ts'),
  'camera.ts': script('src/web/assets/camera.ts'),
  'jsqr.ts': {
    path: 'src/web/assets/jsqr.ts',
    body: qrReader(),
    contentType: 'text/javascript; charset=utf-8',
  },
} satisfies Record<string, Content>

const digest = sha256Hex(JSON.stringify(contents)).slice(0, 16)

export type AssetName = keyof typeof contents

/** Returns the path of an asset. */
export function assetPath(name: AssetName): string {
  return `/assets/${digest}/${contents[name].path}`
}

const yearSeconds = 31_536_000

const daySeconds = 86_400

export function assetEndpoints(): Endpoint[] {
  const assets = (Object.keys(contents) as AssetName[]).map((name) => {
    const { path: _, ...content } = contents[name]
    const document = publicDocument({
      ...content,
      maxAgeSeconds: yearSeconds,
      cacheDirectives: 'immutable',
    })
    return assetEndpoint(`asset ${name}`, assetPath(name), document)
  })
  const { path: _, ...icon } = contents['favicon.svg']
  const favicon = publicDocument({ ...icon, maxAgeSeconds: daySeconds })
  // Browsers ask here for the icon of a document that names none, such as JSON.
  return [...assets, assetEndpoint('favicon', '/favicon.ico', favicon)]
}

function assetEndpoint(operationId: string, path: string, document: PublicDocument): Endpoint {
  return endpoint({
    operationId,
    method: 'GET',
    path,
    area: 'pages',
    summary: 'An asset of the pages',
    policy: { kind: 'open' },
    document: true,
    priority: 'public',
    responses: {},
    answer: () => ({ document }),
  })
}

function read(name: string): string {
  return readFileSync(join(import.meta.dirname, 'assets', name), 'utf8')
}

function script(path: string): Content {
  return { path, body: browserCode(path), contentType: 'text/javascript; charset=utf-8' }
}

/**
 * Joins modules into one, without their imports and exports: ten files would be a fifth larger in
 * gzip, and ten requests. A name that two of them declare is an error of syntax.
 */
function joined(paths: readonly string[]): string {
  return paths
    .map(browserCode)
    .join('\n')
    .replace(/^(?:import|export) \{[^}]*\} from '[^']+'$/gm, '')
    .replace(/^export /gm, '')
}

/** Returns a module for browsers, without types. */
function browserCode(path: string): string {
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

/**
 * jsQR as a module. Its table has a wrong number for version 23, so it never reads that version
 * (github.com/cozmo/jsQR issue 251).
 */
function qrReader(): string {
  const text = readFileSync(
    join(dirname(fileURLToPath(import.meta.resolve('jsqr'))), 'jsQR.js'),
    'utf8',
  )
  const parts = text.split('[6, 30, 54, 74, 102]')
  if (parts.length !== 2) throw new Error('jsQR has another table than the one that is corrected')
  return `const module={exports:{}},exports=module.exports;\n${parts.join('[6, 30, 54, 78, 102]')}\nexport default module.exports;\n`
}
