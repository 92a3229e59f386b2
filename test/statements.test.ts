/** Prepares every SQL statement of the code on the migrated schema. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { Client, DatabaseError } from 'pg'
import { testDatabase } from './support/start/database.ts'

interface Written {
  /** Source position as `file:line`. */
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
const fragments = fragmentsOf(sources.map((file) => readFileSync(file, 'utf8')))
const statements = sources.flatMap((file) => statementsOf(file, readFileSync(file, 'utf8')))

test('the check finds templates, parameters, and templates inside parameters', () => {
  const found = statementsOf('x.ts', 'a\nsql`select ${f({ a: `}` })}, ${b}`; sql`select 1`')
  assert.deepEqual(found, [
    { where: 'x.ts:2', text: 'select $1, $2' },
    { where: 'x.ts:2', text: 'select 1' },
  ])
  const shared = fragmentsOf(['const columns = fragment`a, b`'])
  assert.deepEqual(statementsOf('x.ts', 'sql`select ${columns}, ${c}`', shared), [
    { where: 'x.ts:1', text: 'select a, b, $1' },
  ])
  const tags = sources.flatMap(
    (file) => readFileSync(file, 'utf8').match(/(?<![\w`\\])sql`/g) ?? [],
  )
  assert.equal(statements.length, tags.length)
  assert.ok(statements.length >= 10, `${statements.length} statements found`)
})

test('a statement with a column that does not exist is detected', async () => {
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

/** Returns the database's error for a statement, or null. */
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

type Fragments = ReadonlyMap<string, string>

/** Returns the text of each fragment by the name of its constant. */
function fragmentsOf(texts: readonly string[]): Fragments {
  const found = new Map<string, string>()
  for (const text of texts)
    for (const [, name = '', inside = ''] of text.matchAll(/const (\w+) = fragment`([^`]*)`/g)) {
      assert.ok(!found.has(name), `two fragments have the name ${name}`)
      found.set(name, inside)
    }
  return found
}

function statementsOf(file: string, source: string, known: Fragments = fragments): Written[] {
  const found: Written[] = []
  for (const tag of source.matchAll(/(?<![\w`\\])sql`/g)) {
    const where = `${file}:${source.slice(0, tag.index).split('\n').length}`
    found.push({ where, text: templateText(source, tag.index + 'sql`'.length, known) })
  }
  return found
}

/**
 * Returns the SQL text of the template that begins at `from`. A fragment becomes its text, any
 * other interpolation $1, $2, ….
 */
function templateText(source: string, from: number, known: Fragments): string {
  let text = ''
  let parameters = 0
  for (let i = from; source[i] !== '`'; i++) {
    assert.ok(i < source.length, 'the template ends')
    if (source.startsWith('${', i)) {
      const end = endOfInterpolation(source, i + 2)
      const shared = known.get(source.slice(i + 2, end))
      if (shared === undefined) parameters++
      text += shared ?? `$${parameters}`
      i = end
    } else if (source[i] === '\\') {
      i++
      text += source[i] === 'n' ? '\n' : source[i]
    } else text += source[i]
  }
  return text
}

/**
 * Returns the index of the brace that closes an interpolation. `from` is the first index inside it.
 */
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
