/**
 * Measures concurrent searches a second: all lengths equally often, beside the limit, which is the
 * same candidates read by username; and a realistic distribution of queries, on an index at rest
 * and on one whose profiles are edited meanwhile.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { batched } from '../src/platform/batching.ts'
import { type Db, sql } from '../src/platform/db/db.ts'
import { readsOfPrimary } from '../src/platform/db/replicas.ts'
import { candidateSearch } from '../src/workers/candidates/search.ts'
import type { SkillNames } from '../src/workers/candidates/skill-names.ts'
import { found } from '../test/support/build/candidates.ts'
import type { Finding } from './measure.ts'
import { randomOf } from './search-workers.ts'

export interface Asked {
  name: string
  prefixes: string[]
  /** Targets in milliseconds for the 99th percentile and the maximum. */
  targets?: { p99: number; max: number }
}

export interface ThroughputOrder {
  names: SkillNames
  asked: readonly Asked[]
  /** Saves the profile of candidate n. */
  edit(n: number): Promise<void>
}

const atOnce = 64
const throughputMs = 5_000
const editEveryMs = 100

export async function throughput(
  db: Db,
  { names, asked, edit }: ThroughputOrder,
): Promise<Finding[]> {
  const search = candidateSearch(readsOfPrimary(db), names)
  const shown = new Map<string, string[]>()
  for (const q of asked.flatMap(({ prefixes }) => prefixes))
    shown.set(q, await found(search, q, 18))
  const cards = batched<readonly string[], unknown>({
    name: 'cards alone',
    batchMax: 32,
    batchesMax: 2,
    run: (lists) => cardsOf(db, lists),
  })
  const inTurn = () => everyLength(asked)
  const lookedUp = await perSecond(inTurn(), (q) => search(q, { limit: 18 }))
  const limit = await perSecond(inTurn(), (q) => cards(shown.get(q) ?? []))
  const askPartly = () => typedQueries([...shown.keys()])
  const repeated = await perSecond(askPartly(), (q) => search(q, { limit: 18 }))
  const amidEdits = await besides(edit, () =>
    perSecond(askPartly(), (q) => search(q, { limit: 18 })),
  )
  const target = { min: 10_000 }
  const called = `${atOnce} at once`
  const edits = 1_000 / editEveryMs
  return [
    {
      name: `${called}, all lengths alike`,
      value: lookedUp,
      unit: 'searches/s',
      target,
    },
    { name: 'their cards alone, by username', value: limit, unit: 'lists/s' },
    { name: 'searches / cards alone', value: lookedUp / limit, unit: '×' },
    { name: `${called}, as people ask`, value: repeated, unit: 'searches/s', target },
    {
      name: `the same amid ${edits} edits a second`,
      value: amidEdits,
      unit: 'searches/s',
      target,
    },
  ]
}

function* everyLength(asked: readonly Asked[]): Generator<string, never> {
  for (let turn = 0; ; turn++) {
    const { prefixes } = asked[turn % asked.length] as Asked
    yield prefixes[Math.floor(turn / asked.length) % prefixes.length] as string
  }
}

/** Yields queries by Zipf's law: query n occurs 1/n times as often as the first. */
function* typedQueries(questions: readonly string[]): Generator<string, never> {
  const random = randomOf(questions.length)
  const inOrder = questions
    .map((question) => ({ question, place: random(1e9) }))
    .sort((a, b) => a.place - b.place)
  const upTo: number[] = []
  for (const i of inOrder.keys()) upTo.push((upTo[i - 1] ?? 0) + 1 / (i + 1))
  const all = upTo.at(-1) ?? 0
  while (true) {
    const point = (random(1e9) / 1e9) * all
    yield (inOrder[upTo.findIndex((sum) => sum > point)] ?? inOrder[0])?.question ?? ''
  }
}

async function perSecond(
  questions: Generator<string, never>,
  ask: (q: string) => Promise<unknown>,
): Promise<number> {
  let done = 0
  const startedAt = performance.now()
  const askOn = async (): Promise<void> => {
    while (performance.now() - startedAt < throughputMs) {
      await ask(questions.next().value)
      done++
    }
  }
  await Promise.all(Array.from({ length: atOnce }, askOn))
  return (done * 1_000) / (performance.now() - startedAt)
}

async function besides<Result>(
  edit: (n: number) => Promise<void>,
  work: () => Promise<Result>,
): Promise<Result> {
  const random = randomOf(1)
  const ended = new AbortController()
  const editing = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      await edit(random(1e9))
      await pause(editEveryMs)
    }
  }
  const edited = editing()
  const result = await work()
  ended.abort()
  await edited
  return result
}

async function cardsOf(db: Db, lists: readonly (readonly string[])[]): Promise<unknown[]> {
  const rows = await db.rows<{ cards: string }>(sql`
    select (
      select coalesce(string_agg(e.hit, ','), '')
      from string_to_table(list, ' ') as named(username)
      cross join lateral (select hit from search_entries where username = named.username offset 0) e
    ) as cards
    from unnest(${lists.map((list) => list.join(' '))}::text[]) as list`)
  return rows.map(({ cards }) => JSON.parse(`[${cards}]`))
}
