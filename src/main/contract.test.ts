import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { readConfig } from '../config/config.ts'
import { contract } from './contract.ts'
import { openApiOf } from './handlers.ts'

test('the contract has every endpoint of every module, and each operation id once', async () => {
  const declared: string[] = []
  for (const file of globSync('src/*/**/contract.ts')) {
    const exported: Record<string, object> = await import(resolve(file))
    for (const [name, value] of Object.entries(exported))
      if (name.endsWith('Contract')) declared.push(...Object.keys(value))
  }
  assert.deepEqual(declared.sort(), Object.keys(contract).sort())
})

test('the served contract states the price of each meter in this deployment; with METERING=off it is 0', () => {
  const pricesOf = (env: Record<string, string>) => {
    const { paths } = openApiOf(readConfig(env)) as {
      paths: Record<string, Record<string, object>>
    }
    const keys = Object.values(paths)
      .flatMap((item) => Object.values(item))
      .map((operation) => Object(operation)['x-api-key'])
    return Object.fromEntries(
      keys.filter((key) => key?.meter).map(({ meter, credits }) => [meter, credits]),
    )
  }
  const prices = { CREDITS_PER_SCORE_LOOKUP: '2', CREDITS_PER_CANDIDATE_SEARCH: '5' }
  assert.deepEqual(pricesOf(prices), { candidate_lookup: 1, candidate_search: 5, score_lookup: 2 })
  const free = { candidate_lookup: 0, candidate_search: 0, score_lookup: 0 }
  assert.deepEqual(pricesOf({ ...prices, METERING: 'off' }), free)
})
