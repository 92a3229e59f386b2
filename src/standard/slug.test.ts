import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../test/support/oracle/fc.ts'
import { isSlug, slugOfPath } from './slug.ts'

test('slug: `slug`, `slug.jsonld` and `hss:slug` name one skill', () => {
  for (const id of ['typescript', 'typescript.jsonld', 'hss:typescript'])
    assert.equal(slugOfPath(id), 'typescript', id)
  assert.equal(slugOfPath('c'), 'c')
  assert.equal(slugOfPath('a'.repeat(64)), 'a'.repeat(64))
})

test('slug: a text that cannot be a slug gives null', () => {
  const impossible = [
    '',
    '-a',
    'a-',
    'a--b',
    'TypeScript',
    'type script',
    'type_script',
    'typescript/',
    '../typescript',
    'typescript\0',
    'typescript\n',
    'typé',
    'a'.repeat(65),
    'hss:',
    '.jsonld',
    'hss:typescript.jsonld',
    'hss:hss:typescript',
    'HSS:typescript',
    'typescript.json',
    'typescript.jsonld.jsonld',
    '__proto__',
  ]
  for (const id of impossible) assert.equal(slugOfPath(id), null, JSON.stringify(id))
})

test('slug: lowercase letters and digits in groups joined by single hyphens, and nothing else', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', 'z', '0', '9', '-', 'A', '.'),
    maxLength: 70,
  })
  fc.assert(fc.property(text, (slug) => isSlug(slug) === byTheBook(slug)))
})

function byTheBook(slug: string): boolean {
  return slug.length <= 64 && slug.split('-').every((group) => /^[a-z0-9]+$/.test(group))
}
