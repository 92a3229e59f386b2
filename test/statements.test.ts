/** Every SQL statement in the code is understood by the database as the migrations leave it. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { Client, DatabaseError } from 'pg'
import { testDatabase } from './support/start/database.ts'

interface Written {
  /** `file:line`. */
  where: string
  text: string
}

const database = await testDatabase()
const client = new Client({ connectionString: database.url })
await client.connect()
after(async () => {
  await client.end()
  await database.drop()
})

const sources = globSync('src/**/*.ts').filter((file) => !file.endsWith('.test.ts'))
const statements = sources.flatMap((file) => statementsOf(file, readFileSync(file, 'utf8')))

test('the check finds the statements: templates, parameters, and templates inside parameters', () => {
  const found = statementsOf('x.ts', 'a\nsql`select ${f({ a: `}` })}, ${b}`; sql`select 1`')
  assert.deepEqual(found, [
    { where: 'x.ts:2', text: 'select $1, $2' },
    { where: 'x.ts:2', text: 'select 1' },
  ])
  const tags = sources.flatMap(
    (file) => readFileSync(file, 'utf8').match(/(?<![\w`\\])sql`/g) ?? [],
  )
  assert.equal(statements.length, tags.length)
  assert.ok(statements.length >= 10, `${statements.length} statements found`)
})

test('a statement that names what the schema has not is caught', async () => {
  assert.match(
    String(await prepare({ where: '', text: 'select nothing from signing_keys' })),
    /nothing/,
  )
})

test('every statement can be prepared on the migrated schema', async () => {
  const wrong: string[] = []
  for (const statement of statements) {
    const error = await prepare(statement)
    if (error !== null) wrong.push(`${statement.where}: ${error}\n${statement.text}`)
  }
  assert.deepEqual(wrong, [])
})

/** Returns what the database has to say against a statement, or null. */
async function prepare({ text }: Written): Promise<string | null> {
  try {
    await client.query(`prepare candidate as ${text}`)
    await client.query('deallocate candidate')
    return null
  } catch (error) {
    if (error instanceof DatabaseError) return error.message
    throw error
  }
}

function statementsOf(file: string, source: string): Written[] {
  const found: Written[] = []
  for (const tag of source.matchAll(/(?<![\w`\\])sql`/g)) {
    const where = `${file}:${source.slice(0, tag.index).split('\n').length}`
    found.push({ where, text: templateText(source, tag.index + 'sql`'.length) })
  }
  return found
}

/** The template that begins at `from`, its interpolations as $1, $2, …: what `sql` makes of it. */
function templateText(source: string, from: number): string {
  let text = ''
  let parameters = 0
  for (let i = from; source[i] !== '`'; i++) {
    assert.ok(i < source.length, 'the template ends')
    if (source.startsWith('${', i)) {
      parameters++
      text += `$${parameters}`
      i = endOfInterpolation(source, i + 2)
    } else if (source[i] === '\\') {
      i++
      text += source[i] === 'n' ? '\n' : source[i]
    } else text += source[i]
  }
  return text
}

/** The index of the brace that closes an interpolation whose inside begins at `from`. */
function endOfInterpolation(source: string, from: number): number {
  let depth = 1
  for (let i = from; ; i++) {
    assert.ok(i < source.length, 'the interpolation ends')
    const character = source[i]
    if (character === '{') depth++
    else if (character === '}') depth--
    else if (character === '`' || character === "'") i = source.indexOf(character, i + 1)
    if (depth === 0) return i
  }
}
