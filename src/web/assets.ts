/**
 * Style sheets, scripts and images of the pages. They are served under a folder whose name is the
 * digest of them all, so a browser never asks for one again and a page never gets one of another
 * release.
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  type PublicDocument,
  type PublicDocumentOptions,
  publicDocument,
} from '../edge/http/document.ts'
import { type Endpoint, endpoint } from '../edge/http/endpoint.ts'
import { sha256Hex } from '../platform/crypto/bytes.ts'

interface Content extends Pick<PublicDocumentOptions, 'body' | 'contentType'> {
  /** In the folder. A script has its path in the repository, so that its imports lead to files. */
  path: string
}

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
  'theme.ts': script('theme'),
  'islands.ts': script('islands'),
  'verify-page.ts': script('verify-page'),
  'skill-search.ts': script('skill-search'),
  'camera.ts': script('camera'),
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

/** The scripts are made from TypeScript by `npm run generate`. */
function script(name: string): Content {
  const body = read(`browser/${name}.js`)
  return { path: `src/web/assets/${name}.ts`, body, contentType: 'text/javascript; charset=utf-8' }
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
