/** Every decision number in a comment must have a page in docs/decisions/. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

const citation = /\bdecisions? (D\d+(?:(?:, | and | to )D\d+)*)/g
const pages = globSync('D*.md', { cwd: 'docs/decisions' })
const numbers = new Set(pages.map((page) => Number(/^D(\d+)-/.exec(page)?.[1])))

test('every cited decision has a page', () => {
  const files = globSync(['{src,test,bench,scripts,migrations}/**/*.{ts,mjs,sql}', 'docs/*.md'])
  let cited = 0
  for (const file of files.filter((name) => !name.includes('node_modules')))
    for (const [, list = ''] of readFileSync(file, 'utf8').matchAll(citation))
      for (const [, number] of list.matchAll(/D(\d+)/g)) {
        assert.ok(numbers.has(Number(number)), `${file} cites D${number}: no page has that number`)
        cited++
      }
  assert.ok(cited > 50, `${cited} citations found`)
})

test('the list of decisions names every page, and each page has the four parts', () => {
  const list = readFileSync('docs/decisions/README.md', 'utf8')
  for (const page of pages) {
    assert.ok(list.includes(`(${page})`), `docs/decisions/README.md does not list ${page}`)
    const text = readFileSync(`docs/decisions/${page}`, 'utf8')
    for (const part of ['Context', 'Decision', 'Consequences', 'Alternatives'])
      assert.ok(text.includes(`**${part}.** `), `${page} has no ${part}`)
  }
})
