/**
 * `npm run generate`: writes every generated file. With `--check` it writes nothing, names those
 * that are stale, and ends with 1.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { generatedFiles } from './generated-files.ts'

const root = join(import.meta.dirname, '../..')
const check = process.argv.includes('--check')
let stale = 0

for (const { path, text } of generatedFiles) {
  const made = await text(root)
  const file = join(root, path)
  if (made === textOf(file)) continue
  stale++
  if (check) {
    console.error(`${path} is stale: run \`npm run generate\` and commit it.`)
    continue
  }
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, made)
  console.log(`wrote ${path}`)
}
if (stale === 0) console.log('Every generated file is up to date.')
if (check && stale > 0) process.exitCode = 1

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
