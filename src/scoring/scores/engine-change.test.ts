import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { sha256Hex } from '../../platform/crypto/bytes.ts'
import { engineChange } from './engine.ts'

const root = join(import.meta.dirname, '../../..')
const [name = ''] = readdirSync(join(root, 'engines'))
const text = readFileSync(join(root, 'engines', name), 'utf8')
const scratch = mkdtempSync(join(tmpdir(), 'assay-engine-change-'))
after(() => rmSync(scratch, { recursive: true, force: true }))

/** Creates a project with its own engine and, for each given version, a changed copy of it. */
function projectWith(past: Record<string, (engine: string) => string>): string {
  const project = mkdtempSync(join(scratch, 'p'))
  cpSync(join(root, 'engines'), join(project, 'engines'), { recursive: true })
  cpSync(join(root, 'vectors'), join(project, 'vectors'), { recursive: true })
  for (const [version, change] of Object.entries(past)) {
    const bundle = change(text.replace(/engineVersion = '[\d.]+'/, `engineVersion = '${version}'`))
    const digits = sha256Hex(bundle).slice(0, 12)
    writeFileSync(join(project, `engines/hsc-${version}-${digits}.mjs`), bundle)
  }
  return project
}

const alike = (engine: string): string => `${engine}// a comment\n`
const otherwise = (engine: string): string => engine.replace('reach: 200', 'reach: 150')

test('the change of the first engine is `none`', async () => {
  assert.deepEqual(await engineChange(projectWith({})), { previousVersion: null, change: 'none' })
})

test('an engine is compatible if the one before computes the same scores, and otherwise score changing', async () => {
  assert.deepEqual(await engineChange(projectWith({ '0.9.0': alike })), {
    previousVersion: '0.9.0',
    change: 'compatible',
  })
  assert.deepEqual(await engineChange(projectWith({ '0.9.0': otherwise })), {
    previousVersion: '0.9.0',
    change: 'score_changing',
  })
})

test('the previous engine is the highest version below, compared as numbers', async () => {
  const project = projectWith({ '0.10.0': alike, '0.9.5': otherwise, '99.0.0': otherwise })
  assert.deepEqual(await engineChange(project), { previousVersion: '0.10.0', change: 'compatible' })
  const minor = projectWith({ '0.8.5': otherwise, '0.9.0': alike })
  assert.deepEqual(await engineChange(minor), { previousVersion: '0.9.0', change: 'compatible' })
})

test('a previous engine with altered bytes is refused', async () => {
  const project = projectWith({ '0.9.0': alike })
  const past = readdirSync(join(project, 'engines')).find((one) => one.includes('0.9.0')) ?? ''
  writeFileSync(join(project, 'engines', past), `${text} `)
  await assert.rejects(engineChange(project), { name: 'EngineRefused', fault: 'altered' })
})
