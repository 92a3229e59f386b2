/** Pure: the parts that pages are made of. */
import { colouredCode } from './coloured-code.ts'
import { attributes, Html, html, type Part } from './html.ts'
import { type IconName, icon } from './icons.ts'
import { shortId } from './text.ts'

export type Tone = 'neutral' | 'accent' | 'positive' | 'warning' | 'negative' | 'info'

/** Shows the words between backticks as code. */
export function withCode(text: string): Part {
  return text.split('`').map((part, i) => (i % 2 === 0 ? part : html`<code>${part}</code>`))
}

/** A state: icon, word and colour together. */
export function badge(tone: Tone, name: IconName, word: string): Html {
  return html`<span class="badge" data-tone="${tone}">${icon(name)}${word}</span>`
}

/** The word says it, the colour helps the eye. */
export function methodTag(method: string): Part {
  return html`<span class="method" data-method="${method}">${method}</span>`
}

/** A path breaks after its slashes alone. */
export function pathText(path: string): Part {
  return path.split(/(?<=.\/)/).map((part, i) => [i > 0 && html`<wbr>`, part])
}

/** Four steps of proficiency, filled up to `reached`, from 0. The word beside it says the same. */
export function levelGlyph(reached: number): Html {
  return levelGlyphs[reached] ?? html``
}

const levelGlyphs = [0, 1, 2, 3].map((reached) => {
  const steps = [0, 1, 2, 3].map(
    (i) =>
      html`<rect fill="${i <= reached ? 'var(--accent-line)' : 'var(--border)'}" x="${i * 11}" width="9" height="8" rx="1"/>`,
  )
  return html`<svg viewBox="0 0 42 8" aria-hidden="true">${steps}</svg>`
})

export interface Notice {
  tone: 'info' | 'positive' | 'warning' | 'negative'
  /** A whole sentence. */
  title: Part
  text?: Part
  /** Whether assistive software reads it at once: for the result of an action. */
  isResult?: boolean
}

const noticeIcons = {
  info: 'info',
  positive: 'check',
  warning: 'alert',
  negative: 'alert',
} as const

export function notice({ tone, title, text, isResult = false }: Notice): Html {
  const role = attributes({ role: isResult && 'status' })
  const more = text !== undefined && html`<p>${text}</p>`
  return html`<div class="notice" data-tone="${tone}"${role}>${icon(noticeIcons[tone])}<div><strong>${title}</strong>${more}</div></div>`
}

/** The result of an action. Without a `text`, the title is the first sentence. */
export function result(tone: Notice['tone'], sentences: string, text?: Part): Html {
  const [title, rest] = text === undefined ? sentences.split(/(?<=\.) (.*)/) : [sentences]
  const shown = text ?? rest
  return notice({ tone, title, ...(shown !== undefined && { text: shown }), isResult: true })
}

export type Results = Readonly<Partial<Record<Notice['tone'], Readonly<Record<string, string>>>>>

/** Returns the results of actions by the words that name them in the query of a page. */
export function results(all: Results): (done: string | undefined) => Html | false {
  const shown = (Object.keys(all) as Notice['tone'][]).flatMap((tone) =>
    Object.entries(all[tone] ?? {}).map(([done, text]) => [done, result(tone, text)] as const),
  )
  const byDone = new Map(shown)
  return (done = '') => byDone.get(done) ?? false
}

export interface Empty {
  icon: IconName
  title: string
  text: Part
  action?: Part
}

/** A list without entries: the reason, and the next step. */
export function empty({ icon: name, title, text, action }: Empty): Html {
  return html`<div class="empty">${icon(name)}<h3>${title}</h3><p class="small muted">${text}</p>${action}</div>`
}

export interface Card {
  title: string
  /** Beside the title. */
  aside?: Part
  text?: Part
  body: Part
  /** A table, or an empty state, reaches the edges of its card. */
  isFlush?: boolean
  id?: string
}

export function card({ title, aside, text, body, isFlush = false, id = slug(title) }: Card): Html {
  const head = html`<div class="card-head row apart"><h2 id="${id}">${title}</h2>${aside}${text !== undefined && html`<p class="small muted">${text}</p>`}</div>`
  const content = isFlush ? body : html`<div class="card-body stack">${body}</div>`
  return html`<section class="card" aria-labelledby="${id}">${head}${content}</section>`
}

function slug(title: string): string {
  return title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
}

export interface Column<Row> {
  head: string
  cell: (row: Row) => Part
  /** Numbers stand at the end of their column. */
  isNumber?: boolean
  /** 2: hidden on a phone; 3: hidden below 64 rem. A line in the first column repeats the value. */
  priority?: 2 | 3
  isHeadHidden?: boolean
  /** As narrow as its content, which stays on one line: for states. */
  isFit?: boolean
}

export interface Table<Row> {
  /** The name of the table for assistive software, such as `API keys`. */
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  isTall?: boolean
  /** The row that follows a row while an element `details.opens` of it is open. */
  opened?: (row: Row) => Part
}

export function table<Row>({ label, columns, rows, isTall = false, opened }: Table<Row>): Html {
  const classes = columns.map(({ isNumber, priority, isFit }) =>
    [isNumber && 'end', priority !== undefined && `p${priority}`, isFit && 'fit']
      .filter(Boolean)
      .join(' '),
  )
  const head = columns.map(
    ({ head, isHeadHidden }, i) =>
      html`<th scope="col" class="${classes[i]}">${isHeadHidden ? html`<span class="hidden-visually">${head}</span>` : head}</th>`,
  )
  const body = rows.map(
    (row) =>
      html`<tr>${columns.map(({ cell }, i) => html`<td class="${classes[i]}">${cell(row)}</td>`)}</tr>\n${opened !== undefined && html`<tr class="opened"><td class="detail" colspan="${columns.length}">${opened(row)}</td></tr>\n`}`,
  )
  return html`<div class="table-box${isTall && ' tall'}" tabindex="0" role="region" aria-label="${label}, table"><table class="table hover"${attributes({ 'data-wide': columns.length > 7 })}><thead><tr>${head}</tr></thead><tbody>
${body}</tbody></table></div>`
}

/** A table of texts: each row of `rows` is a whole element, whose first cell names it. */
export function textTable(label: string, heads: readonly string[], rows: Part): Html {
  return html`<div class="table-box" tabindex="0" role="region" aria-label="${label}, table"><table class="table text"><thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead><tbody>
${rows}</tbody></table></div>`
}

/** A value that is absent. */
export const none = new Html(
  '<span class="muted" aria-hidden="true">–</span><span class="hidden-visually">None</span>',
)

export interface Pagination {
  summary: string
  /** False: there is no page in this direction. */
  newer: string | false
  older: string | false
  labels?: readonly [newer: string, older: string]
}

/** The foot of a list. One that is a single page has none. */
export function pagination(options: Pagination): Html | false {
  const { summary, newer, older, labels = ['Newer', 'Older'] } = options
  if (newer === false && older === false) return false
  const step = (text: string, rel: string, url: string | false) =>
    url === false
      ? html`<span class="button small" aria-disabled="true">${text}</span>`
      : html`<a class="button small" href="${url}" rel="${rel}">${text}</a>`
  return html`<div class="card-foot row apart small muted pagination"><span>${summary}</span><div class="row">${step(labels[0], 'prev', newer)}${step(labels[1], 'next', older)}</div></div>`
}

/**
 * The error of each refused field of a form, by the name of the field; under `form`, an error that
 * no field causes.
 */
export type FieldErrors = Readonly<Record<string, string>>

/** At the top of a form that was refused. Focused by a script; each line leads to its field. */
export function formErrors(title: string, errors: FieldErrors): Html | false {
  const all = Object.entries(errors)
  if (all.length === 0) return false
  return html`<div class="notice form-errors" data-tone="negative" role="alert" tabindex="-1" data-focus>${icon('alert')}<div><strong>${title}</strong>${all.map(([name, text]) => html`${name === 'form' ? withCode(text) : html`<a href="#${name}">${withCode(text)}</a>`} `)}</div></div>`
}

interface FieldTexts {
  name: string
  label: string
  help?: Part
  error?: string | undefined
}

function field(texts: FieldTexts, control: Part): Html {
  const { name, label } = texts
  return html`<div class="field"><label for="${name}">${label}</label>${control}${notesOf(texts)}</div>`
}

function notesOf({ name, help, error }: Omit<FieldTexts, 'label'>): Part {
  return [
    error !== undefined &&
      html`<p class="error" id="${name}-error">${icon('alert')}<span>${withCode(error)}</span></p>`,
    help !== undefined && html`<p class="help small muted" id="${name}-help">${help}</p>`,
  ]
}

function describedBy({ name, help, error }: FieldTexts): string | undefined {
  const ids = [error !== undefined && `${name}-error`, help !== undefined && `${name}-help`]
  return ids.filter(Boolean).join(' ') || undefined
}

export interface TextField extends FieldTexts {
  value?: string
  type?: 'text' | 'email' | 'url' | 'number' | 'date'
  /** Several lines. */
  isLong?: boolean
  isRequired?: boolean
  lengthMax?: number
  placeholder?: string
  /** A button with this id is off until the field holds `expected`. */
  unlocks?: { id: string; expected: string }
}

export function textField(options: TextField): Html {
  const { name, value = '', type = 'text', isLong = false, isRequired = false } = options
  const { lengthMax, unlocks, error, placeholder } = options
  const shared = attributes({
    id: name,
    name,
    'aria-describedby': describedBy(options),
    'aria-invalid': error !== undefined && 'true',
    required: isRequired,
    maxlength: lengthMax,
    placeholder,
    'data-unlocks': unlocks?.id,
    'data-expect': unlocks?.expected,
  })
  return field(
    options,
    isLong
      ? html`<textarea class="textarea" dir="auto"${shared}>${value}</textarea>`
      : html`<input class="input" type="${type}" dir="auto" autocomplete="off" autocapitalize="none" spellcheck="false"${shared} value="${value}">`,
  )
}

export interface Choice {
  value: string
  label: Part
  help?: Part
}

export interface SelectField extends FieldTexts {
  value: string
  choices: readonly { value: string; label: string }[]
}

export function selectField(options: SelectField): Html {
  const { name, value, choices } = options
  const list = choices.map(
    (choice) =>
      html`<option value="${choice.value}"${attributes({ selected: choice.value === value })}>${choice.label}</option>`,
  )
  return field(
    options,
    html`<select class="select" id="${name}" name="${name}"${attributes({ 'aria-describedby': describedBy(options) })}>${list}</select>`,
  )
}

export interface Choices extends FieldTexts {
  choices: readonly Choice[]
  chosen: readonly string[]
  /** Boxes are sent as `name:value`, because a form sends each name once. */
  kind: 'box' | 'radio'
}

export function choicesField({ name, label, help, error, choices, chosen, kind }: Choices): Html {
  const all = choices.map(({ value, label, help }, i) => {
    const state = attributes({ id: i === 0 && name, checked: chosen.includes(value) })
    const control =
      kind === 'box'
        ? html`<input type="checkbox" name="${name}:${value}"${state}>`
        : html`<input type="radio" name="${name}" value="${value}"${state}>`
    return html`<label class="choice">${control}<span>${label}${help !== undefined && html`<span class="help small muted">${help}</span>`}</span></label>`
  })
  const described = attributes({ 'aria-describedby': describedBy({ name, label, help, error }) })
  return html`<fieldset class="field"${described}><legend>${label}</legend>${notesOf({ name, help, error })}${all}</fieldset>`
}

/** One box that is on or off. */
export function checkField(options: FieldTexts & { isChecked: boolean }): Html {
  const { name, label, help, error, isChecked } = options
  const state = attributes({
    id: name,
    checked: isChecked,
    'aria-describedby': describedBy({ name, label, error }),
  })
  return html`<div class="field"><label class="choice"><input type="checkbox" name="${name}" value="true"${state}><span>${label}${help !== undefined && html`<span class="help small muted">${help}</span>`}</span></label>${notesOf({ name, error })}</div>`
}

/** Returns the values of `choicesField` with boxes. */
export function chosenBoxes(
  fields: Readonly<Record<string, string>>,
  name: string,
): readonly string[] {
  const start = `${name}:`
  return Object.keys(fields)
    .filter((field) => field.startsWith(start))
    .map((field) => field.slice(start.length))
}

export function hidden(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`
}

export interface Button {
  label: Part
  kind?: 'primary' | 'danger' | 'danger primary' | 'quiet'
  isSmall?: boolean
  id?: string
}

/** Sends its form. */
export function submit({ label, kind, isSmall = false, id }: Button): Html {
  const name = ['button', kind, isSmall && 'small'].filter(Boolean).join(' ')
  return html`<button class="${name}" type="submit"${attributes({ id })}>${label}</button>`
}

/** A form of one button. The page runs its action named `action`. */
export function actionForm(
  url: string,
  action: string,
  button: Button & { fields?: Record<string, string> },
): Html {
  const more = Object.entries(button.fields ?? {}).map(([name, value]) => hidden(name, value))
  return html`<form method="post" action="${url}">${hidden('do', action)}${more}${submit(button)}</form>`
}

/** Copies the text of an element. Scripts show it. */
export function copyButton(targetId: string): Html {
  return html`<button class="button quiet small copy" type="button" data-copy="${targetId}" hidden>${icon('copy')}<span data-label>Copy</span></button>`
}

export interface Code {
  id: string
  label: string
  text: string
  /** The name of its language in the colours of code, such as `json`. Absent: it has none. */
  language?: string
  /** Above the code, in the place of the label. */
  name?: string
  isWrapped?: boolean
  /** A long text scrolls in its box. */
  isShort?: boolean
  isTall?: boolean
}

export function code(options: Code): Html {
  const { id, label, name = label, text, language = 'text' } = options
  const { isWrapped = false, isShort = false, isTall = false } = options
  const shape = [isWrapped && 'wrap', isShort && 'short', isTall && 'tall']
    .filter(Boolean)
    .join(' ')
  return html`<div class="code"><div class="code-head row apart"><span>${name}</span>${copyButton(id)}</div><pre class="${shape}" tabindex="0" role="region" aria-label="${label}"><code id="${id}">${colouredCode(text, language)}</code></pre></div>`
}

/** An id on its own page: whole, with a button that copies it. */
export function idValue(id: string, value: string): Html {
  return html`<span class="id-value"><span class="mono" id="${id}">${value}</span>${copyButton(id)}</span>`
}

/** An id in a table or beside other facts: its ends, with a button that copies the whole. */
export function shortIdValue(value: string): Html {
  return html`<span class="id-value short"><span class="mono" title="${value}">${shortId(value)}</span><button class="button quiet small copy" type="button" data-copy-text="${value}" hidden>${icon('copy')}<span class="hidden-visually" data-label>Copy</span></button></span>`
}

export interface Fact {
  label: string
  value: Part
  /** Takes a line of its own. */
  isWide?: boolean
}

/** `columns`: as many as fit beside each other. */
export function facts(rows: readonly Fact[], shape: 'rows' | 'columns' = 'rows'): Html {
  return html`<dl class="facts ${shape}">${rows.map(({ label, value, isWide }) => html`<div${attributes({ class: isWide && 'whole' })}><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>`
}

export interface Tile {
  label: string
  value: Part
  /** Names its period. */
  comparison?: Part
}

export function tiles(all: readonly Tile[]): Html {
  return html`<dl class="card tiles">${all.map(({ label, value, comparison }) => html`<div class="tile"><dt class="small muted">${label}</dt><dd class="value">${value}</dd>${comparison !== undefined && html`<dd class="sub">${comparison}</dd>`}</div>`)}</dl>`
}

export function tabs(
  label: string,
  links: readonly { url: string; title: string; isCurrent: boolean }[],
): Html {
  return html`<nav class="tabs" aria-label="${label}">${links.map(({ url, title, isCurrent }) => html`<a href="${url}"${attributes({ 'aria-current': isCurrent && 'page' })}>${title}</a>`)}</nav>`
}

/** Further actions behind one button. It opens without a script. */
export function menu({ label, items }: { label: string; items: Part }): Html {
  return html`<details class="menu"><summary class="button">${icon('more')}<span class="hidden-visually">${label}</span></summary><div class="menu-list">${items}</div></details>`
}

export interface PageHead {
  title: Part
  text?: Part
  badge?: Part
  actions?: Part
  /** From the outermost page inwards, without this one. */
  above?: readonly { title: string; url: string }[]
  /** Names the page at the end of its path, if the title is long. */
  shortTitle?: string
}

export function pageHead({ title, text, badge, actions, above = [], shortTitle }: PageHead): Html {
  const path = breadcrumb(above, shortTitle ?? title)
  return html`<div class="stack tight">${path}<div class="row apart"><div class="stack tight"><div class="row"><h1 class="break" dir="auto">${title}</h1>${badge}</div>${text !== undefined && html`<p class="muted break">${text}</p>`}</div>${actions !== undefined && actions !== false && html`<div class="row">${actions}</div>`}</div></div>`
}

type Above = NonNullable<PageHead['above']>

/** Links to the pages above one, and its own title. */
export function breadcrumb(above: Above, title: Part): Html | false {
  if (above.length === 0) return false
  const links = above.map(({ title, url }) => html`<li><a href="${url}">${title}</a></li>`)
  return html`<nav class="breadcrumb" aria-label="Breadcrumb"><ol class="row small muted">${links}<li aria-current="page" class="break" dir="auto">${title}</li></ol></nav>`
}

export interface Confirmation {
  title: Part
  /** The consequences, in numbers, and whether you can undo them. */
  text: Part
  url: string
  action: string
  fields?: Record<string, string>
  button: string
  /** True unless given. */
  isDestructive?: boolean
  /** `label` names the unchanged state, such as `Keep key`. */
  cancel: { label: string; url: string }
  above: Above
  /** Text to type before the action, which the server compares as well. */
  typed?: { value: string; error: string | undefined }
}

/** The page on which a destructive action is confirmed. */
export function confirmation(options: Confirmation): Html {
  const { title, text, url, action, fields = {}, button, cancel, above, typed } = options
  const { isDestructive = true } = options
  const typing =
    typed !== undefined &&
    textField({
      name: 'confirm',
      label: `Type ${typed.value} to confirm`,
      error: typed.error,
      unlocks: { id: 'do-it', expected: typed.value },
    })
  return html`${breadcrumb(above, button)}<section class="card confirmation" aria-labelledby="confirmation"><form method="post" action="${url}">
<div class="card-body stack"><h1 class="break" id="confirmation">${title}</h1>${hidden('do', action)}${Object.entries(fields).map(([name, value]) => hidden(name, value))}<p>${text}</p>${typing}</div>
<div class="card-foot row"><a class="button" href="${cancel.url}">${cancel.label}</a>${submit({ label: button, kind: isDestructive ? 'danger primary' : 'primary', id: 'do-it' })}</div>
</form></section>`
}

export interface SecretOnce {
  title: string
  label: string
  value: string
  text: Part
  /** Further help, such as a command that uses the secret. */
  more?: Part
  done: string
}

/**
 * Shows a secret. It is the answer to the POST itself, so a reload of the page does not repeat it.
 */
export function secretOnce({ title, label, value, text, more, done }: SecretOnce): Html {
  return html`<section class="card confirmation" aria-labelledby="secret-title"><form method="get" action="${done}">
<div class="card-body stack"><h1 id="secret-title">${title}</h1><p class="muted">${text}</p>${code({ id: 'secret', label, text: value, isWrapped: true })}
${notice({ tone: 'warning', title: 'This is the only time you can see it.', text: 'Store it where your server reads its secrets. If you lose it, replace it.' })}
${more}<label class="choice"><input type="checkbox" data-unlocks="secret-done"><span>I have stored it</span></label></div>
<div class="card-foot row">${submit({ label: 'Done', kind: 'primary', id: 'secret-done' })}</div>
</form></section>`
}
