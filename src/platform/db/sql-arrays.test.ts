import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from '../../../test/support/oracle/fc.ts'
import { testDatabase } from '../../../test/support/start/database.ts'
import { sql } from './db.ts'
import { arrayText, bytesArray } from './sql-arrays.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())

test('PostgreSQL reads the same values back, with every escape of JSON', async () => {
  const marks = 'a n NULL , " \\ { } [ u0001 é 😀'.split(' ')
  const controls = [' ', '\n', '\t', '\b', '\u0001', '\u001f', '\u007f', '\u2028']
  const parts = fc.constantFrom(...marks, ...controls)
  const text = fc.array(parts, { maxLength: 5 }).map((chosen) => chosen.join(''))
  const values = fc.array(
    fc.record({
      text: fc.option(text),
      number: fc.integer(),
      flag: fc.option(fc.boolean()),
      bytes: fc.uint8Array({ maxLength: 9 }).map((bytes) => Buffer.from(bytes)),
      // Years that PostgreSQL does not write like JSON.
      time: fc.date({ min: new Date(-1e14), max: new Date(1e15), noInvalidDate: true }),
    }),
    { maxLength: 4 },
  )
  type Row = {
    text: string | null
    number: number
    flag: boolean | null
    bytes: Buffer
    time: Date
  }
  await fc.assert(
    fc.asyncProperty(values, async (given) => {
      const column = (name: keyof Row) => given.map((one) => one[name])
      const rows = await db.rows<Row>(sql`
        select * from unnest(${column('text')}::text[], ${column('number')}::int[],
          ${column('flag')}::boolean[], ${column('bytes')}::bytea[], ${column('time')}::timestamptz[])
          as given(text, number, flag, bytes, time)`)
      assert.deepEqual(
        rows,
        given.map((one) => ({ ...one })),
      )
    }),
  )
})

test('an array that JSON would write otherwise is left to the driver', () => {
  const odd = [1n, Number.NaN, undefined, new Date(253_402_300_800_000), ['nested'], { a: 1 }]
  for (const value of odd) {
    const values = [value]
    assert.equal(arrayText(values), values)
  }
  assert.equal(arrayText(['a"', null, 1]), '{"a\\"",null,1}')
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
