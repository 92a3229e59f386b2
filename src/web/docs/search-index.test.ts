import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { dashboardEntries } from '../layout.ts'
import { readDocsLibrary } from './library.ts'
import { openDocsSearch } from './search-index.ts'

const root = join(import.meta.dirname, '../../..')
const [contract = ''] = globSync('openapi/2*.json', { cwd: root })
const openApi = JSON.parse(readFileSync(join(root, contract), 'utf8'))
const find = await openDocsSearch(readDocsLibrary(root), openApi, dashboardEntries)

/** The paths in the order of the page, without `/docs/`. */
function pathsFor(query: string): string[] {
  return find(query)
    .flatMap(({ hits }) => hits)
    .map(({ path }) => path.replace(/^\/docs\//, ''))
}

/** Each query with the pages that answer it. */
const queries: Readonly<Record<string, RegExp>> = {
  webhok: /^(webhooks|receive-webhooks)$/,
  'leaked key': /^signing-keys#revoke-a-stolen-key$|^accounts#rotate-a-key$/,
  '429': /^errors\/rate_limited$/,
  'Retry-After': /^errors#all-errors$|^api-keys#handle-errors$|^overload/,
  createWebhookEndpoint: /^api\/createWebhookEndpoint$/,
  PORT: /^configure#serving$/,
  ESCO: /^skill-methods#crosswalk$/,
  'rotate secret': /^manage-webhooks#rotate-a-signing-secret$/,
  backup: /^backups/,
  insufficient_scope: /^errors\/insufficient_scope$/,
  idempotency: /^terms#idempotency-key$|^webhooks#repeat-a-creation-safely$/,
  'signature python': /^(verify-offline#verify-in-python|receive-webhooks#verify-the-signature)$/,
  'how do I deploy': /^deploy$/,
  typescript: /^sdk$/,
  refund: /^manage-credits/,
  x402: /^pay-with-x402$/,
  offline: /^verify-offline$/,
  'rate limit': /^api-keys|^errors\/rate_limited$|^overload$/,
  erase: /^privacy/,
  dispute: /^disputes/,
  MCP: /^mcp$/,
}

for (const [query, page] of Object.entries(queries))
  test(`search: “${query}” has its page within the first three`, () => {
    const first = pathsFor(query).slice(0, 3)
    assert.ok(
      first.some((path) => page.test(path)),
      `${query} finds ${first.join(', ')}`,
    )
  })

test('search: an operation, a page of the dashboard and a status are found by name', () => {
  for (const { operationId, path } of [
    { operationId: 'requestUnlockReview', path: 'api/requestUnlockReview' },
    { operationId: 'requestunlockreview', path: 'api/requestUnlockReview' },
    { operationId: '/api/v1/score-vc/verify', path: 'api/verifyScoreCredential' },
    { operationId: 'audit log', path: '/dashboard/audit' },
  ])
    assert.ok(
      pathsFor(operationId).includes(path),
      `${operationId}: ${pathsFor(operationId).join(', ')}`,
    )
})

test('search: the matched words are marked, and marks hold no more than words', () => {
  const [hit] = find('revocation list')[0]?.hits ?? []
  const marked = hit?.excerpt.filter(({ isMatch }) => isMatch).map(({ text }) => text) ?? []
  assert.ok(marked.length > 0)
  for (const word of marked) assert.match(word, /^[\p{L}\p{N}._:/#+-]+$/u)
})

test('search: 80 characters of any script find something or nothing, in 20 ms', () => {
  const hostile = ['\u202e', '𝕳', '﷽', 'é', '\u0301', 'ß', '%', '"', 'a ', 'ab ', '٣', '👩‍🚀', 'а']
  for (const part of hostile) {
    // The compiler and the collector of garbage add to some of the times, never to all.
    const times = Array.from({ length: 5 }, () => {
      const start = process.cpuUsage()
      assert.ok(Array.isArray(find(part.repeat(80).slice(0, 80))))
      return process.cpuUsage(start).user
    })
    assert.ok(Math.min(...times) < 20_000, part)
  }
})
