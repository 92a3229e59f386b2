import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client } from '../../../packages/sdk/src/client.ts'
import { exampleOfOperation, operationsIn, resolved } from './api.ts'
import { clientMethods, exampleIn } from './examples.ts'

const root = join(import.meta.dirname, '../../..')
const [contract = ''] = globSync('openapi/2*.json', { cwd: root })
const document = resolved(JSON.parse(readFileSync(join(root, contract), 'utf8')))
const publicUrl = 'https://scores.example.org'
const calls = operationsIn(document).map((listed) => exampleOfOperation(publicUrl, listed))

test('examples: every operation is a program in TypeScript', () => {
  assert.ok(calls.length > 40, `${calls.length} operations`)
  for (const call of calls)
    assert.doesNotThrow(() => stripTypeScriptTypes(exampleIn('typescript', call)), call.operationId)
})

test('examples: every operation is a program in Python', (t) => {
  const programs = JSON.stringify(calls.map((call) => exampleIn('python', call)))
  const check = 'import ast, json, sys\nfor one in json.load(sys.stdin): ast.parse(one)'
  const { status, stderr, error } = spawnSync('python3', ['-c', check], { input: programs })
  if (error !== undefined) return t.skip('skipped: no Python')
  assert.equal(status, 0, String(stderr))
})

test('examples: the client has each method that an example calls', () => {
  const client = new Client({ baseUrl: publicUrl })
  for (const [operationId, method] of Object.entries(clientMethods)) {
    assert.ok(
      calls.some((call) => call.operationId === operationId),
      operationId,
    )
    const found = method
      .split('.')
      .reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], client)
    assert.equal(typeof found, 'function', method)
  }
})
