/**
 * Pure: HTML as a type apart from text. The tag `html` escapes every value. It throws for a
 * template with a value in a place where escaping does not help: inside a script, a style or a
 * comment, in an unquoted attribute, or in an event handler.
 */

export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

export type Part = Html | string | number | false | null | undefined | readonly Part[]

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Templates are constants, so each is checked once for all pages. */
const checkedTemplates = new WeakMap<TemplateStringsArray, readonly boolean[]>()

export function html(template: TemplateStringsArray, ...parts: Part[]): Html {
  let urls = checkedTemplates.get(template)
  if (urls === undefined) {
    urls = urlPlaces(template)
    checkedTemplates.set(template, urls)
  }
  let text = template[0] ?? ''
  for (const [i, part] of parts.entries())
    text += (urls[i] ? escaped(safeUrl(urlOf(part))) : rendered(part)) + (template[i + 1] ?? '')
  return new Html(text)
}

/**
 * Returns the URL if it is our own path, query or fragment, or http(s) or mailto; otherwise `#`.
 */
export function safeUrl(url: string): string {
  const isKnown = /^(https?:\/\/|mailto:|[#?]|\/(?![/\\]))/i.test(url)
  return isKnown && !/[\p{Cc}\s\\]/u.test(url) ? url : '#'
}

function urlOf(part: Part): string {
  if (typeof part !== 'string') throw new TypeError('a URL is a text')
  return part
}

function rendered(part: Part): string {
  if (typeof part === 'string') return escaped(part)
  if (part instanceof Html) return part.text
  if (typeof part === 'number') return String(part)
  if (part === null || part === undefined || part === false) return ''
  if (Array.isArray(part)) return part.map(rendered).join('')
  throw new TypeError(`a page cannot show a ${typeof part}`)
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character)
}

/** Returns for each value of a template whether it is a whole URL. */
function urlPlaces(template: TemplateStringsArray): readonly boolean[] {
  return template.slice(0, -1).map((_, i) => {
    const before = template.slice(0, i + 1).join('')
    const tag = before.slice(before.lastIndexOf('<') + 1)
    if (/<(script|style)\b(?![\s\S]*<\/\1)|<!--(?![\s\S]*-->)/i.test(before))
      throw new Error(`a value inside a script, a style or a comment: ${tag}`)
    if (before.lastIndexOf('<') <= before.lastIndexOf('>')) return false
    const attribute = /\s([\w:-]+)="[^"]*$/.exec(tag)?.[1]?.toLowerCase()
    if (attribute === undefined || /^(on|style$|srcdoc$)/.test(attribute))
      throw new Error(`a value that is not a quoted attribute: <${tag}`)
    const isUrl = /^(href|src|action|formaction|xlink:href|poster|cite|data)$/.test(attribute)
    return isUrl && tag.endsWith('="')
  })
}
