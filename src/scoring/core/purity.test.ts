/**
 * The scoring core must not contain anything whose result could depend on the machine, the
 * JavaScript engine, the clock or the locale.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { bandOf as publishedBandOf } from '../../standard/bands.ts'
import { bandOf } from './parameters.ts'

const sources = globSync('*.ts', { cwd: import.meta.dirname })
  .filter((name) => !name.endsWith('.test.ts'))
  .sort()

const banned: readonly { what: string; found: RegExp }[] = [
  { what: 'Math', found: /\bMath\b/ },
  { what: '**', found: /\*\*/ },
  { what: 'a clock', found: /\b(Date|Temporal|performance|process)\b/ },
  { what: 'a locale', found: /\bIntl\b|[lL]ocale/ },
  { what: 'a fraction', found: /\b\d[\d_]*\.\d|\B\.\d|\b\d[\d_]*\.(?![\w.])|\b\d[\d_]*e[+-]?\d/i },
  { what: 'parsing or printing of fractions', found: /parseFloat|toFixed|toPrecision/ },
  { what: 'chance', found: /random|crypto/i },
  { what: 'a module from outside', found: /(from|import)\s*\(?\s*['"](?!\.\/)/ },
  { what: 'a module loaded later', found: /\bimport\s*\(|\brequire\b/ },
  { what: 'what is there in some places only', found: /\b(globalThis|Buffer|console)\b/ },
]

function faultsOf(source: string): string[] {
  const code = source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1')
  const withoutVersions = code.replace(/'\d+\.\d+\.\d+'/g, "''")
  return banned.filter(({ found }) => found.test(withoutVersions)).map(({ what }) => what)
}

test('the core uses no Math, no power, no clock, no locale, no fraction and no import from outside', () => {
  assert.ok(sources.includes('score.ts') && sources.length >= 9, sources.join(' '))
  for (const name of sources) {
    const source = readFileSync(join(import.meta.dirname, name), 'utf8')
    assert.deepEqual(faultsOf(source), [], name)
    for (const [, imported] of source.matchAll(/from '\.\/([^']+)'/g))
      assert.ok(sources.includes(basename(imported ?? '')), `${name} imports ${imported}`)
  }
})

test('the check finds each of them', () => {
  const samples: readonly [code: string, what: string][] = [
    ['const a = Math.floor(b)', 'Math'],
    ['const a = 2 ** 20', '**'],
    ['const a = new Date()', 'a clock'],
    ['a.localeCompare(b)', 'a locale'],
    ['const a = 0.5', 'a fraction'],
    ['const a = .5', 'a fraction'],
    ['const a = 5.', 'a fraction'],
    ['const a = 1e-6', 'a fraction'],
    ['const a = 1_0e6', 'a fraction'],
    ['const a = parseFloat(b)', 'parsing or printing of fractions'],
    ['const a = crypto.randomUUID()', 'chance'],
    ["import { a } from '../../platform/crypto/bytes.ts'", 'a module from outside'],
    ["import { a } from 'node:crypto'", 'a module from outside'],
    ["const a = await import('./score.ts')", 'a module loaded later'],
    ['console.log(1)', 'what is there in some places only'],
  ]
  for (const [code, what] of samples) assert.ok(faultsOf(code).includes(what), code)
  assert.deepEqual(faultsOf('/** Math 0.5 ** Date */ const a = [1_000, 2] // 0.5\na.b(1)'), [])
})

test('the bands equal the published ones for every score', () => {
  for (let score = 0; score <= 1_000; score++) assert.equal(bandOf(score), publishedBandOf(score))
})
