/**
 * Style sheets, scripts and images of the pages. They are served under a folder whose name is the
 * digest of them all, so a browser never asks for one again and a page never gets one of another
 * release.
 */
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { sha256Hex } from '../platform/crypto/bytes.ts'
import { type PublicDocumentOptions, publicDocument } from '../platform/http/document.ts'
import { type Endpoint, endpoint } from '../platform/http/endpoint.ts'

type Content = Pick<PublicDocumentOptions, 'body' | 'contentType'>

const contents = {
  'assay.css': {
    body: `${read('tokens.css')}\n${read('components.css')}`,
    contentType: 'text/css; charset=utf-8',
  },
  'favicon.svg': { body: read('favicon.svg'), contentType: 'image/svg+xml' },
  'theme.ts': script('theme.ts'),
  'islands.ts': script('islands.ts'),
} satisfies Record<string, Content>

const digest = sha256Hex(JSON.stringify(contents)).slice(0, 16)

export type AssetName = keyof typeof contents

/** Returns the path of an asset. */
export function assetPath(name: AssetName): string {
  return `/assets/${digest}/${name}`
}

const yearSeconds = 31_536_000

export function assetEndpoints(): Endpoint[] {
  return (Object.keys(contents) as AssetName[]).map((name) => {
    const content = contents[name]
    const document = publicDocument({
      ...content,
      maxAgeSeconds: yearSeconds,
      cacheDirectives: 'immutable',
    })
    return endpoint({
      operationId: `asset ${name}`,
      method: 'GET',
      path: assetPath(name),
      area: 'pages',
      summary: 'An asset of the pages',
      policy: { kind: 'open' },
      document: true,
      priority: 'public',
      responses: {},
      answer: () => ({ document }),
    })
  })
}

function read(name: string): string {
  return readFileSync(join(import.meta.dirname, 'assets', name), 'utf8')
}

/** A module for browsers: Node blanks the types, so the lines stay. Comments and blanks compress well. */
function script(name: string): Content {
  return { body: stripTypeScriptTypes(read(name)), contentType: 'text/javascript; charset=utf-8' }
}
