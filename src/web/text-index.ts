/**
 * Pure: a search in texts of the release. It finds whole words, beginnings of the last word, near
 * spellings and other forms of a word (`rotate`, `rotation`). Identifiers such as
 * `createWebhookEndpoint` and `Retry-After` are found whole and by their parts.
 */
import MiniSearch, { type Query, type SearchResult } from 'minisearch'
import { stemmer } from 'stemmer'
import { foldText } from '../platform/fold-text.ts'

/** Limits of each page of a search, for one address. A page asks while its reader types. */
export const searchLimits = { perMinute: 300, perDay: 10_000 }

export interface TextIndexOptions<Item> {
  /** The weight of each field. A match in a title counts more than one in a text. */
  fields: Readonly<Record<string, number>>
  textsOf(item: Item): Record<string, string>
  /** Multiplies the rank of an item. */
  weightOf?(item: Item, query: string): number
  /** Further words for a word. They count a fifth. */
  aliases?: Readonly<Record<string, readonly string[]>>
  /** If fewer items have all words of a query, items with any of them follow. */
  enough: number
}

export interface Match<Item> {
  item: Item
  /** The stems that matched, see `isMatched`. */
  terms: ReadonlySet<string>
}

export interface TextIndex<Item> {
  /** Returns the items that match, best first. */
  find(query: string): Match<Item>[]
}

const aliasWeight = 0.2
/** Of an identifier, against its parts. */
const wholeWeight = 3
/** Longer queries have too many words to be one. */
const wordsMax = 12

/** Builds the index in steps, so that other requests are answered meanwhile. */
export async function openTextIndex<Item>(
  items: readonly Item[],
  { fields, textsOf, weightOf = () => 1, aliases = {}, enough }: TextIndexOptions<Item>,
): Promise<TextIndex<Item>> {
  const index = new MiniSearch({
    fields: Object.keys(fields),
    tokenize: termsOf,
    processTerm: (term) => term,
    // A word of a query is one term already.
    searchOptions: { tokenize: (term) => [term], boost: { ...fields } },
  })
  await index.addAllAsync(
    items.map((item, id) => ({ id, ...textsOf(item) })),
    { chunkSize: 20 },
  )

  const search = (words: readonly string[], combineWith: 'AND' | 'OR', whole: string) => {
    const queries = words.map((word, i) => queryOf(word, i === words.length - 1, aliases))
    return index.search(
      { combineWith, queries },
      { boostDocument: (id: number) => weightOf(items[id] as Item, whole) },
    )
  }
  return {
    find(query) {
      const whole = foldText(query)
      const words = wordsOf(query)
      if (words.length === 0) return []
      const all = search(words, 'AND', whole)
      const any = all.length < enough && words.length > 1 ? search(words, 'OR', whole) : []
      const seen = new Set(all.map(({ id }) => id))
      return [...all, ...any.filter(({ id }) => !seen.has(id))].map((result: SearchResult) => ({
        item: items[result.id] as Item,
        terms: new Set(result.terms),
      }))
    },
  }
}

/** Returns whether a word of a text matched, so that a page can mark it. */
export function matcherOf(terms: ReadonlySet<string>): (word: string) => boolean {
  const known = new Map<string, boolean>()
  return (word) => {
    const matched = known.get(word) ?? termsOf(word).some((term) => terms.has(term))
    known.set(word, matched)
    return matched
  }
}

/** Words that say nothing about a page. A query of them alone searches for them. */
const empty = new Set(
  'a an and are do does for how i in is it my of on or the to what with'.split(' '),
)

function wordsOf(query: string): string[] {
  const words = query
    .normalize('NFKC')
    .split(/\s+/u)
    .filter((word) => termsOf(word).length > 0)
  const telling = words.filter((word) => !empty.has(word.toLowerCase()))
  return (telling.length > 0 ? telling : words).slice(0, wordsMax)
}

/** A word of a query matches by its whole form, or by all of its parts. */
function queryOf(
  word: string,
  isLast: boolean,
  aliases: TextIndexOptions<never>['aliases'],
): Query {
  const [whole = '', ...parts] = termsOf(word)
  const near = aliases?.[word.toLowerCase()] ?? []
  return {
    combineWith: 'OR',
    prefix: isLast && whole.length >= prefixLengthMin,
    queries: [
      {
        queries: [whole],
        fuzzy: fuzzyOf(whole),
        boostTerm: () => (parts.length > 0 ? wholeWeight : 1),
      },
      ...(parts.length > 0 ? [{ combineWith: 'AND' as const, prefix: false, queries: parts }] : []),
      ...near.flatMap(termsOf).map((term) => ({
        queries: [term],
        prefix: false,
        boostTerm: () => aliasWeight,
      })),
    ],
  }
}

const prefixLengthMin = 3

/** One wrong letter in five, from five letters on; at most two. */
function fuzzyOf(term: string): number | false {
  return term.length >= 5 && /^\p{L}+$/u.test(term)
    ? Math.min(2, Math.round(term.length / 5))
    : false
}

/** Returns the terms of a text: of an identifier the whole first, then its parts. */
function termsOf(text: string): string[] {
  const words = text.normalize('NFKC').match(/[\p{L}\p{N}]+(?:[._:/#+-]+[\p{L}\p{N}]+)*/gu) ?? []
  return words.flatMap((word) => {
    const parts = word.split(/[^\p{L}\p{N}]+|(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u)
    // A letter of a code such as `2.A.1.b` says nothing by itself.
    const telling = parts.filter((part) => part.length > 1)
    return parts.length > 1 ? [stemOf(word), ...telling.map(stemOf)] : [stemOf(word)]
  })
}

function stemOf(word: string): string {
  const lower = word.toLowerCase()
  return /^[a-z]+$/.test(lower) ? stemmer(lower) : lower
}
