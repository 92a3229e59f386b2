import assert from 'node:assert/strict'
import { test } from 'node:test'
import { actionNames, actions } from './actions.ts'

interface Shape {
  type?: string
  pattern?: string
  enum?: unknown[]
  anyOf?: Shape[]
  items?: Shape
  properties?: Record<string, Shape>
  additionalProperties?: boolean
}

/**
 * Returns the places that would accept free text: a string without a pattern, or an open object.
 */
function openings(shape: Shape, path: string): string[] {
  if (shape.enum !== undefined) return []
  if (shape.anyOf !== undefined) return shape.anyOf.flatMap((one) => openings(one, path))
  if (shape.items !== undefined) return openings(shape.items, path)
  if (shape.properties !== undefined) {
    const within = Object.entries(shape.properties).flatMap(([name, one]) =>
      openings(one, `${path}.${name}`),
    )
    return shape.additionalProperties === false ? within : [path, ...within]
  }
  if (shape.type === 'string') return /^\^[^.]*\$$/.test(unescaped(shape.pattern)) ? [] : [path]
  return ['integer', 'boolean', 'null'].includes(shape.type ?? '') ? [] : [path]
}

/**
 * Removes escaped points and points in character classes. A point that is left matches any
 * character.
 */
function unescaped(pattern = ''): string {
  return pattern.replaceAll(/\\\.|\[[^\]^][^\]]*\]/g, '')
}

test('the check finds free text, an open object and an unknown type', () => {
  assert.deepEqual(openings({ type: 'string' }, 'a'), ['a'])
  for (const pattern of ['^.*$', '^[a-z].$', '^[^.]*$'])
    assert.deepEqual(openings({ type: 'string', pattern }, 'a'), ['a'])
  assert.deepEqual(openings({ type: 'string', pattern: '^[\\w.-]{1,64}$' }, 'a'), [])
  assert.deepEqual(openings({ type: 'object', properties: { b: { type: 'string' } } }, 'a'), [
    'a',
    'a.b',
  ])
  assert.deepEqual(openings({ type: 'array', items: { type: 'string' } }, 'a'), ['a'])
  assert.deepEqual(openings({}, 'a'), ['a'])
})

test('no action accepts free text: subjects and details are ids, counts and words of closed lists', () => {
  assert.ok(actionNames.length >= 6)
  for (const name of actionNames) {
    const { subject, details, meaning } = actions[name]
    assert.deepEqual(openings(subject as Shape, `${name} subject`), [])
    assert.deepEqual(openings(details as Shape, name), [])
    assert.match(name, /^[a-z_]+\.[a-z_]+$/)
    assert.match(meaning, /\.$/)
  }
})
