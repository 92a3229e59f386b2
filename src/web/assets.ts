/**
 * Style sheet and images of the pages. The name of their folder is a digest of their content, so
 * browsers keep them without asking again.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sha256Hex } from '../platform/crypto/bytes.ts'
import { publicDocument } from '../platform/http/document.ts'
import { type Endpoint, endpoint } from '../platform/http/endpoint.ts'

const read = (name: string): string =>
  readFileSync(join(import.meta.dirname, 'assets', name), 'utf8')

const stylesheet = `${read('tokens.css')}\n${read('components.css')}`
const favicon = read('favicon.svg')
const folder = `/assets/${sha256Hex(`${stylesheet}\n${favicon}`).slice(0, 16)}`

export const stylesheetPath = `${folder}/assay.css`
export const faviconPath = `${folder}/favicon.svg`

const yearSeconds = 31_536_000

export function assetEndpoints(): Endpoint[] {
  return [
    asset('stylesheet', stylesheetPath, {
      body: stylesheet,
      contentType: 'text/css; charset=utf-8',
    }),
    asset('favicon', faviconPath, { body: favicon, contentType: 'image/svg+xml' }),
  ]
}

function asset(
  operationId: string,
  path: string,
  content: {
    body: string
    contentType: 'text/css; charset=utf-8' | 'image/svg+xml'
  },
): Endpoint {
  const document = publicDocument({
    ...content,
    maxAgeSeconds: yearSeconds,
    cacheDirectives: 'immutable',
  })
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
