import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { closedObject } from './closed-object.ts'
import { firstFault } from './shape-fault.ts'

const shape = Compile(
  closedObject({
    name: Type.String({ maxLength: 3, description: 'must be at most 3 characters' }),
    age: Type.Optional(Type.Integer({ description: 'Years.' })),
    pets: Type.Optional(
      Type.Array(closedObject({ name: Type.String() }), {
        maxItems: 2,
        description: 'must be at most 2 pets',
      }),
    ),
    colours: Type.Optional(
      Type.Array(Type.Enum(['red', 'blue']), { description: 'must be one or two colours' }),
    ),
  }),
)

test('a fault names its field by path, and the expected form if the schema describes it', () => {
  const faultOf = (value: unknown) => Object.values(firstFault(shape, value))
  assert.deepEqual(faultOf({}), ['name', 'is missing'])
  assert.deepEqual(faultOf({ name: 'abcd' }), ['name', 'must be at most 3 characters'])
  assert.deepEqual(faultOf({ name: 1 }), ['name', 'must be at most 3 characters'])
  assert.deepEqual(faultOf({ name: 'a', other: 1 }), ['other', 'is not a known field'])
  assert.deepEqual(faultOf({ name: 'a', pets: [{}] }), ['pets.0.name', 'is missing'])
  assert.deepEqual(faultOf({ name: 'a', pets: [{ name: 'b', legs: 4 }] }), [
    'pets.0.legs',
    'is not a known field',
  ])
  assert.deepEqual(faultOf({ name: 'a', pets: 3 }), ['pets', 'must be at most 2 pets'])
  assert.deepEqual(faultOf({ name: 'a', colours: 3 }), ['colours', 'must be one or two colours'])
  assert.deepEqual(faultOf({ name: 'a', colours: ['red', 'green'] }), [
    'colours.1',
    'must be one of red, blue',
  ])
})

test('a value that may have one of several forms is described as a whole', () => {
  const either = Type.Union(
    [
      closedObject({ kind: Type.Literal('a'), name: Type.String({ maxLength: 3 }) }),
      closedObject({ kind: Type.Literal('b'), id: Type.Integer() }),
    ],
    { description: 'must be a name or an id' },
  )
  const of = Compile(closedObject({ age: Type.Integer(), either }))
  for (const wrong of [{ kind: 'b', id: 'x' }, { kind: 'b', id: 1, x: 1 }, { kind: 'c' }, {}, 3])
    assert.deepEqual(firstFault(of, { age: 1, either: wrong }), {
      field: 'either',
      reason: 'must be a name or an id',
    })
  assert.equal(firstFault(of, { age: 'x', either: {} }).field, 'age')
  assert.equal(firstFault(of, { age: 1 }).field, 'either')
})

test('a schema without a description: the validator words the fault; the value as a whole has no field', () => {
  assert.deepEqual(firstFault(shape, { name: 'a', age: 1.5 }), {
    field: 'age',
    reason: 'must be a whole number',
  })
  for (const whole of [null, [], 'text', 3]) assert.equal(firstFault(shape, whole).field, null)
})
