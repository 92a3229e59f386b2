/** Pure: values, tables and facts of any operation, as the console shows them. */
import type { Operation } from '../../operations/operation.ts'
import {
  badge,
  type Column,
  card,
  type Fact,
  facts,
  idValue,
  none,
  shortIdValue,
  type Tone,
  table,
  withCode,
} from '../components.ts'
import { type Html, html, type Part } from '../html.ts'
import type { IconName } from '../icons.ts'
import { breakable, count, dateTag, timeTag } from '../text.ts'
import { type Nouns, nounOfKey, recordPath, titled, wordsOf } from './nouns.ts'

interface Showing<Services> {
  nouns: Nouns<Services>
  now: Date
}

/** A UUID, or a digest that is an id. */
const idForm = /^(?:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{64})$/
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/
const day = /^\d{4}-\d\d-\d\d$/

/** Words of states. The first tone with a word of the text decides. */
const tones: readonly { tone: Tone; icon: IconName; words: RegExp }[] = [
  {
    tone: 'negative',
    icon: 'cross',
    words:
      /\b(overdue|failed|failing|dead|invalid|revoked|rejected|erased|broken|closed|locked|exhausted)\b/,
  },
  {
    tone: 'warning',
    icon: 'alert',
    words:
      /\b(open|under review|pending|paused|suspended|disabled|expired|expiring|hidden|due|unresolved|ending)\b/,
  },
  {
    tone: 'positive',
    icon: 'check',
    words:
      /\b(active|enabled|verified|valid|granted|upheld|resolved|ok|delivered|settled|paid|public|not revoked|current|registered)\b/,
  },
]

/** A state as a badge: icon, word and colour. What follows a colon stands behind it. */
export function stateBadge(text: string): Html {
  const [words = '', ...rest] = text.replaceAll('_', ' ').split(': ')
  const { tone, icon } =
    (words.startsWith('not ') ? tones.at(-1) : tones.find((one) => one.words.test(words))) ??
    ({ tone: 'neutral', icon: 'info' } as const)
  const shown = badge(tone, icon, titled(words))
  return rest.length === 0
    ? shown
    : html`${shown} <span class="small muted wide-only">${rest.join(': ')}</span>`
}

const states = /^(state|status|outcome|result|health|identity|score)$/i
/** A score of a worker is a number, and the score of a dispute is a state. */
const startsWithNumber = /^\d/
/** A URL or a key: the column of a table would become as narrow as one character. */
const longWord = /^\S{25,}$/
const kinds = /^(kind|role|type|environment|permission)$/i

/** Returns a value as its name and its form suggest. */
function valuePart(name: string, value: unknown, now: Date): Part {
  if (value === null || value === undefined || value === '') return none
  if (typeof value === 'boolean') return value ? 'Yes' : 'No'
  if (typeof value === 'number') return name === 'pid' ? String(value) : count(value)
  if (Array.isArray(value))
    return value.length === 0
      ? none
      : html`<span class="row">${value.map((one) => html`<span class="tag break"><span>${withCode(textOf(one))}</span></span>`)}</span>`
  if (typeof value !== 'string') return textOf(value)
  if (instant.test(value)) return timeTag(new Date(value), now)
  if (day.test(value)) return dateTag(new Date(`${value}T00:00:00Z`))
  if (idForm.test(value)) return shortIdValue(value)
  if (states.test(name) && !startsWithNumber.test(value)) return stateBadge(value)
  if (/^[\w.:-]+(,[\w.:-]+)+$/.test(value)) return valuePart(name, value.split(','), now)
  if (kinds.test(name)) return html`<span class="tag">${value.replaceAll('_', ' ')}</span>`
  if (longWord.test(value))
    return html`<span class="break long" dir="auto">${breakable(value)}</span>`
  return html`<span class="break" dir="auto">${value}</span>`
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Returns the value of a field, with a link if it names a record of another noun. */
function linkedPart<Services>(name: string, value: unknown, showing: Showing<Services>): Part {
  const noun = typeof value === 'string' ? nounOfKey(showing.nouns, name) : undefined
  const shown = valuePart(name, value, showing.now)
  return noun === undefined || value === '-' || idForm.test(String(value))
    ? shown
    : html`<a href="${recordPath(noun, String(value))}">${shown}</a>`
}

/** The rows of a list. */
export function rowsOf(output: object): readonly object[] {
  return Object.values(output).find((value): value is object[] => Array.isArray(value)) ?? []
}

interface Rows {
  rows: readonly object[]
  /** The page of a row, if it has one. */
  urlOf(row: object): string | null
  /** The actions of a row, if it has no page. */
  actionsOf?: ((row: object) => Part) | undefined
}

/** The table of a list: a column with ids is the last one, and the first one leads to the record. */
export function rowsTable<Services>(
  { name, columns = {} }: Pick<Operation<Services>, 'name' | 'columns'>,
  { rows, urlOf, actionsOf }: Rows,
  { hides, ...showing }: Showing<Services> & { hides: readonly string[] },
): Html {
  const kept = Object.entries(columns).filter(([head]) => !hides.includes(head))
  const all = kept.map(([head, column]) => {
    const valueOf = (row: object): unknown =>
      typeof column === 'function' ? column(row as never) : Reflect.get(row, column)
    const sample = rows.map(valueOf).find((value) => value !== null)
    return { head, field: typeof column === 'string' ? column : head, valueOf, sample }
  })
  const isId = ({ sample }: { sample: unknown }) => idForm.test(String(sample))
  const ordered = [...all.filter((one) => !isId(one)), ...all.filter(isId)]
  // On a phone the last state has the room beside the first column.
  const lastState = ordered.findLast(({ head }) => states.test(head))
  const shown = ordered.map(({ head, field, valueOf, sample }, i): Column<object> => {
    const part = (row: object) => linkedPart(field, valueOf(row), showing)
    const isState = states.test(head)
    const isKept = i === 0 || head === lastState?.head
    return {
      head: head === 'id' ? 'ID' : titled(head),
      isNumber: typeof sample === 'number',
      isFit: isState,
      ...(!isKept && { priority: i > 3 && !isState ? (3 as const) : (2 as const) }),
      cell(row) {
        if (i > 0) return part(row)
        const url = urlOf(row)
        const first = valuePart(field, valueOf(row), showing.now)
        const rest = ordered
          .slice(1, 4)
          .filter((one) => !states.test(one.head) && isNews(one.valueOf(row), valueOf(row)))
        const repeated = rest.map((one, place) => [
          place > 0 && ' · ',
          isBare(one.valueOf(row)) && `${titled(one.head)}: `,
          valuePart(one.field, one.valueOf(row), showing.now),
        ])
        return html`${url === null ? part(row) : html`<a class="strong break" href="${url}">${first}</a>`}<span class="sub narrow-only">${repeated}</span>`
      },
    }
  })
  const actions: Column<object>[] =
    actionsOf === undefined
      ? []
      : [{ head: 'Actions', isHeadHidden: true, isNumber: true, cell: actionsOf }]
  return table({ label: titled(name), columns: [...shown, ...actions], rows })
}

/** A number, a Yes or a No says nothing without the head of its column, which a phone has not. */
function isBare(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'boolean'
}

/** A line of a phone repeats no empty value, and not that of the first column. */
function isNews(value: unknown, first: unknown): boolean {
  return value !== null && value !== undefined && value !== '' && value !== first
}

/** The record of a `show`: the object that its output holds, or the output itself. */
export function recordOf(output: object): object {
  const members = Object.entries(output).filter(([name]) => name !== 'schemaVersion')
  const [, only] = members.length === 1 ? (members[0] ?? []) : []
  return typeof only === 'object' && only !== null && !Array.isArray(only) ? only : output
}

const hiddenFields = new Set(['schemaVersion', 'next'])

/** The facts of a record, and a card for each list and each object in it. */
export function recordCards<Services>(
  record: object,
  { title, hides, ...showing }: Showing<Services> & { title: string; hides: readonly string[] },
): Html {
  const members = Object.entries(record).filter(
    ([name]) => !hiddenFields.has(name) && !hides.includes(name),
  )
  const isList = (value: unknown): value is object[] =>
    Array.isArray(value) && typeof value[0] === 'object'
  const isObject = (value: unknown): value is object =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
  const isEmpty = (value: unknown) => Array.isArray(value) && value.length === 0
  const isUnset = (value: unknown) => value === null || value === ''
  const simple = members.filter(
    ([, value]) => !isList(value) && !isObject(value) && !isEmpty(value) && !isUnset(value),
  )
  const unset = members.filter(([, value]) => isUnset(value)).map(([name]) => wordsOf(name))
  const rows = simple.map(([name, value]): Fact => {
    const isLong = typeof value === 'string' ? value.length > 40 : Array.isArray(value)
    const part = linkedPart(name, value, showing)
    return { label: titled(name), value: part, isWide: isLong && !idForm.test(String(value)) }
  })
  // A page has no two cards of one title: what is inside a part names the part.
  const inside = (name: string) =>
    title === factsTitle || rows.length === 0 ? titled(name) : `${title}: ${wordsOf(name)}`
  return html`${rows.length > 0 && card({ title, body: html`${facts(rows, 'columns')}${unset.length > 0 && html`<p class="small muted">Not set: ${unset.join(', ')}.</p>`}` })}${members.map(
    ([name, value]) => {
      if (isList(value)) return listCard(inside(name), value, showing)
      return isObject(value) && recordCards(value, { ...showing, title: inside(name), hides: [] })
    },
  )}`
}

/** The title of the facts of the record itself. */
export const factsTitle = 'Facts'

function listCard<Services>(title: string, rows: readonly object[], showing: Showing<Services>) {
  const columns = Object.fromEntries(
    Object.keys(rows[0] ?? {})
      .filter((field) => !hiddenFields.has(field))
      .map((field) => [field, field]),
  )
  const shown = { name: title, columns: columns as Record<string, never> }
  const body = rowsTable(shown, { rows, urlOf: () => null }, { ...showing, hides: [] })
  return card({ title, isFlush: true, body })
}

/** The name of a record in a title, or null if only its id names it. */
export function nameOf(record: object): string | null {
  for (const field of ['name', 'username', 'email', 'url']) {
    const value: unknown = Reflect.get(record, field)
    if (typeof value === 'string' && value !== '' && value !== '-') return value
  }
  return null
}

export function idPart(id: string): Html {
  return idValue('record-id', id)
}
