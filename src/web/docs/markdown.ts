/**
 * Renders the Markdown of a page. It accepts no raw HTML and no link to a page that does not exist,
 * so a page holds no markup that this file did not write.
 */
import { posix } from 'node:path'
import { Marked, type Token, type Tokens } from 'marked'
import { pagePathOf } from '../../discovery/docs-page.ts'
import { code } from '../components.ts'
import { Html, html } from '../html.ts'
import { icon } from '../icons.ts'
import { table } from './frame.ts'
import type { DocsLibrary, DocsPage } from './library.ts'

export interface Outline {
  /** The first paragraph, as text. */
  description: string
  /** The headings of level 2. `id` is the fragment of the address. */
  sections: { id: string; title: string }[]
}

export interface RenderedPage extends Outline {
  /** The first paragraph. */
  lead: Html | undefined
  /** All behind it. */
  main: Html
}

/** Reads the description and the sections of a page without rendering it. */
export function outlineOf({ markdown }: DocsPage): Outline {
  const { lead, headings } = partsOf(markdown)
  return {
    description: lead === undefined ? '' : plain(lead.tokens),
    sections: [...headings]
      .filter(([{ depth }]) => depth === 2)
      .map(([{ tokens }, id]) => ({ id, title: plain(tokens) })),
  }
}

export function renderedPage(page: DocsPage, { pages }: DocsLibrary): RenderedPage {
  const { lead, rest, headings } = partsOf(page.markdown)
  const marked = new Marked({ renderer: rendererOf(page, { pages, headings }) })
  return {
    ...outlineOf(page),
    lead: lead && new Html(marked.parser([lead])),
    main: new Html(marked.parser(rest)),
  }
}

/** The parts of a page behind its title. */
function partsOf(markdown: string) {
  const tokens = withoutRemarks(new Marked().lexer(markdown))
  const body = tokens.slice(tokens.findIndex(isHeading) + 1)
  const at = body.findIndex(({ type }) => type !== 'space' && type !== 'html')
  const first = body[at]
  const lead = first?.type === 'paragraph' ? (first as Tokens.Paragraph) : undefined
  return {
    lead,
    rest: lead === undefined ? body : body.slice(at + 1),
    headings: idsOf(body.filter(isHeading)),
  }
}

/** A heading that repeats an earlier one gets a number, as on GitHub. */
function idsOf(headings: readonly Tokens.Heading[]): ReadonlyMap<Tokens.Heading, string> {
  const ids = new Map<Tokens.Heading, string>()
  for (const heading of headings) {
    const anchor = anchorOf(plain(heading.tokens))
    const earlier = headings
      .slice(0, ids.size)
      .filter(({ tokens }) => anchorOf(plain(tokens)) === anchor)
    ids.set(heading, earlier.length === 0 ? anchor : `${anchor}-${earlier.length}`)
  }
  return ids
}

const remark = '(Shortened.)'

/**
 * Moves the remark that a response is shortened from the paragraph behind it to the block itself.
 */
function withoutRemarks(tokens: Token[]): Token[] {
  let block: Token | undefined
  return tokens.filter((token) => {
    if (token.type === 'code') block = token
    if (token.type === 'code' || token.type === 'space') return true
    const [first] = 'tokens' in token && token.tokens ? token.tokens : []
    if (block !== undefined && token.type === 'paragraph' && first?.type === 'text') {
      if (first.raw.startsWith(remark)) {
        shortened.add(block)
        first.raw = first.raw.slice(remark.length).trimStart()
        first.text = first.raw
      }
    }
    block = undefined
    return !(token.type === 'paragraph' && first?.raw === '' && token.tokens?.length === 1)
  })
}

/** The blocks that show a part of a response. */
const shortened = new WeakSet<Token>()

function isHeading(token: Token): token is Tokens.Heading {
  return token.type === 'heading'
}

function plain(tokens: Token[]): string {
  return tokens
    .map((token) => ('tokens' in token && token.tokens ? plain(token.tokens) : textOf(token)))
    .join('')
}

function textOf(token: Token): string {
  return 'text' in token && typeof token.text === 'string' ? unescaped(token.text) : ''
}

/** Marked hands some texts out with entities, which the template tag would escape again. */
function unescaped(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
}

const languages: Readonly<Record<string, { name: string; label: string }>> = {
  sh: { name: 'Shell', label: 'Command' },
  json: { name: 'JSON', label: 'JSON document' },
  text: { name: 'Output', label: 'Output' },
  ts: { name: 'TypeScript', label: 'TypeScript program' },
  python: { name: 'Python', label: 'Python program' },
  sql: { name: 'SQL', label: 'SQL statement' },
}

const prompt = { name: 'Prompt', label: 'Prompt' }
const response = { name: 'Response', label: 'Response' }

interface Context {
  pages: DocsLibrary['pages']
  headings: ReadonlyMap<Tokens.Heading, string>
}

function rendererOf({ source, title }: DocsPage, { pages, headings }: Context) {
  let section = title
  let blocks = 0
  let tables = 0
  let previous = ''
  return {
    heading(this: Rendering, heading: Tokens.Heading): string {
      const id = headings.get(heading)
      if (id === undefined || heading.depth === 1)
        throw new Error(`${source} has a heading of level 1, or in a list: ${heading.text}`)
      section = plain(heading.tokens)
      tables = 0
      const content = new Html(this.parser.parseInline(heading.tokens))
      const anchor = html`<a class="anchor" href="${`#${id}`}" aria-label="Link to ${section}">#</a>`
      return heading.depth === 2
        ? html`<h2 id="${id}">${content}${anchor}</h2>\n`.text
        : html`<h3 id="${id}">${content}${anchor}</h3>\n`.text
    },
    code(token: Tokens.Code): string {
      const language = languageOf(token)
      const isResponse = language === 'json' && previous === 'sh'
      const info = isResponse
        ? response
        : token.lang === 'text prompt'
          ? prompt
          : languages[language]
      if (info === undefined) throw new Error(`${source} has a block of unknown ${language}`)
      previous = language
      return code({
        id: `c${++blocks}`,
        name: `${info.name}${shortened.has(token) ? ', shortened' : ''}`,
        label: `${info.label} ${blocks}`,
        text: token.text,
        language,
      }).text
    },
    codespan({ text }: Tokens.Codespan): string {
      // A line would break behind the hyphens of an option.
      const pieces = text
        .split(/(?<=^|\s)(--?\w[\w-]*)/)
        .map((piece, i) => (i % 2 === 0 ? piece : html`<span class="keep">${piece}</span>`))
      return html`<code>${pieces}</code>`.text
    },
    blockquote(this: Rendering, { tokens: inner }: Tokens.Blockquote): string {
      const content = new Html(this.parser.parse(inner))
      return html`<div class="notice" data-tone="warning">${icon('alert')}<div>${content}</div></div>\n`
        .text
    },
    table(this: Rendering, { header, rows }: Tokens.Table): string {
      const cell = ({ tokens: inner }: Tokens.TableCell) => new Html(this.parser.parseInline(inner))
      const lines = rows.map((row) => row.map(cell))
      return table(`${section}, table ${++tables}`, header.map(cell), lines).text
    },
    link(this: Rendering, { href, tokens: inner }: Tokens.Link): string {
      const content = new Html(this.parser.parseInline(inner))
      // An address without brackets that no browser can open, such as http://localhost:PORT.
      if (href.startsWith('http:')) return content.text
      return html`<a href="${targetOf(href)}">${content}</a>`.text
    },
    image(): string {
      throw new Error(`${source} has an image`)
    },
    html({ text }: Tokens.HTML | Tokens.Tag): string {
      if (/^\s*<!--[^]*-->\s*$/.test(text)) return ''
      throw new Error(`${source} has raw HTML: ${text}`)
    },
  }

  /** Returns the URL of a link: a page of the service, a fragment, or another site. */
  function targetOf(href: string): string {
    if (/^(https:\/\/|#|\/)/.test(href)) return href
    const [path = '', fragment] = href.split('#')
    const target = pagePathOf(posix.join(posix.dirname(source), path))
    if (!path.endsWith('.md') || !pages.has(target))
      throw new Error(`${source} links to ${href}, which is not a page`)
    return fragment === undefined ? target : `${target}#${fragment}`
  }
}

/** The renderer that marked calls: it gives access to the parser of the page. */
interface Rendering {
  parser: { parse(tokens: Token[]): string; parseInline(tokens: Token[]): string }
}

/** Returns the first word behind the backticks. A block without one is text. */
function languageOf({ lang }: Tokens.Code): string {
  return (lang || 'text').split(' ')[0] ?? ''
}

/** Returns the id that GitHub gives a heading, so that links work in both places. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}
