import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from '../../../test/support/oracle/fc.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { sql } from './db.ts'
import { bytesArray, tokenArray } from './sql-arrays.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())

test('PostgreSQL reads the same tokens back, the text "null" included; a token that needs an escape is refused', async () => {
  const parts = fc.constantFrom('a', 'Z', '7', '_', '-', 'NULL', ',', '"', '\\', '{', '}', ' ', 'é')
  const texts = fc.array(
    fc.array(parts, { maxLength: 4 }).map((chosen) => chosen.join('')),
    { maxLength: 5 },
  )
  await fc.assert(
    fc.asyncProperty(texts, async (values) => {
      let array: string
      try {
        array = tokenArray(values)
      } catch {
        assert.ok(values.some((value) => !/^[\w-]*$/.test(value)))
        return
      }
      const [row] = await db.rows<{ values: string[] }>(sql`select ${array}::text[] as values`)
      assert.deepEqual(row?.values, values)
    }),
  )
})

test('whole numbers and the empty list are accepted', () => {
  assert.equal(tokenArray([1, -2, 3]), '{"1","-2","3"}')
  assert.equal(tokenArray([]), '{}')
  for (const values of [[1.5], ['a,b'], ['a","b'], ['\\']])
    assert.throws(() => tokenArray(values), TypeError)
})

test('bytes are written as hex', async () => {
  const bytes = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(bytes, async (values) => {
      const given = values.map((value) => Buffer.from(value))
      const array = bytesArray(given.map((value) => value.toString('hex')))
      const [row] = await db.rows<{ values: string[] }>(sql`
        select array(select encode(b, 'hex') from unnest(${array}::bytea[]) with ordinality as u(b, place)
          order by place) as values`)
      assert.deepEqual(
        row?.values,
        given.map((value) => value.toString('hex')),
      )
    }),
  )
  assert.throws(() => bytesArray(['zz']), TypeError)
  assert.throws(() => bytesArray(['00","x']), TypeError)
})
