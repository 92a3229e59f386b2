import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from '../../../test/support/oracle/fc.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { sql } from './db.ts'
import { bytesArray } from './sql-arrays.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())

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
