import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { contract } from './contract.ts'

test('the contract has every endpoint of every module, and each operation id once', async () => {
  const declared: string[] = []
  for (const file of globSync('src/*/**/contract.ts')) {
    const exported: Record<string, object> = await import(resolve(file))
    for (const [name, value] of Object.entries(exported))
      if (name.endsWith('Contract')) declared.push(...Object.keys(value))
  }
  assert.deepEqual(declared.sort(), Object.keys(contract).sort())
})
