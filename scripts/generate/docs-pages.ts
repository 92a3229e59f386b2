/**
 * Renders the Markdown of `docs/` to HTML when files are generated, so that the server needs
 * neither a Markdown parser nor a highlighter. Raw HTML is refused, and links are checked: a page
 * holds no markup that this file did not write.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { Marked, type Token, type Tokens } from 'marked'
import { pagePathOf, type RenderedPage, type Section } from '../../src/discovery/docs-page.ts'
import { Html, html } from '../../src/web/html.ts'
import { icon } from '../../src/web/icons.ts'
import { highlight } from './highlight.ts'

/** Every page, as the path of its source. */
export function docsSources(root: string): string[] {
  const pages = globSync('docs/**/*.md', { cwd: root }).map((path) => path.replaceAll('\\', '/'))
  return ['CHANGELOG.md', 'CONTRIBUTING.md', ...pages.sort()]
}

/** Renders one page. `source` is a path relative to the root of the project. */
export async function renderedPage(root: string, source: string): Promise<RenderedPage> {
  const text = readFileSync(join(root, source), 'utf8')
  const marked = new Marked()
  const tokens = withoutRemarks(marked.lexer(text))
  const title = tokens.find(isHeading)
  if (title?.depth !== 1) throw new Error(`${source} does not begin with a heading of level 1`)
  const body = tokens.filter((token) => token !== title)
  const writer = await openWriter(root, { source, title: plain(title.tokens), tokens: body })
  marked.use({ renderer: writer.renderer })
  const at = body.findIndex(({ type }) => type !== 'space' && type !== 'html')
  const first = body[at]
  const lead = first?.type === 'paragraph' ? (first as Tokens.Paragraph) : undefined
  const rest = lead === undefined ? body : body.slice(at + 1)
  return {
    title: plain(title.tokens),
    description: lead === undefined ? '' : plain(lead.tokens),
    lead: lead === undefined ? '' : marked.parser([lead]),
    html: marked.parser(rest),
    sections: writer.sections,
  }
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

interface Writing {
  source: string
  title: string
  tokens: Token[]
}

async function openWriter(root: string, { source, title, tokens }: Writing) {
  const colours = new Map<string, Html>()
  const collect = async (all: Token[]): Promise<void> => {
    for (const token of all) {
      if (token.type === 'code') {
        const language = languageOf(token as Tokens.Code)
        colours.set(token.raw, await highlight(String(token.text), language))
      }
      for (const inner of innerTokens(token)) await collect(inner)
    }
  }
  await collect(tokens)

  const sections: Section[] = []
  const ids = new Set<string>()
  let section = title
  let blocks = 0
  let tables = 0
  let previous = ''
  const renderer = {
    heading(this: Rendering, { tokens: inner, depth }: Tokens.Heading): string {
      if (depth === 1) throw new Error(`${source} has a second heading of level 1`)
      const text = plain(inner)
      let id = anchorOf(text)
      for (let n = 1; ids.has(id); n++) id = `${anchorOf(text)}-${n}`
      ids.add(id)
      section = text
      tables = 0
      if (depth === 2) sections.push({ id, title: text })
      const content = new Html(this.parser.parseInline(inner))
      const anchor = html`<a class="anchor" href="${`#${id}`}" aria-label="Link to ${text}">#</a>`
      return depth === 2
        ? html`<h2 id="${id}">${content}${anchor}</h2>\n`.text
        : html`<h3 id="${id}">${content}${anchor}</h3>\n`.text
    },
    code(token: Tokens.Code): string {
      const language = languageOf(token)
      const info = token.lang === 'text prompt' ? prompt : languages[language]
      if (info === undefined) throw new Error(`${source} has a block of unknown ${language}`)
      const id = `c${++blocks}`
      const isResponse = language === 'json' && previous === 'sh'
      previous = language
      const name = `${isResponse ? 'Response' : info.name}${shortened.has(token) ? ', shortened' : ''}`
      return html`<div class="code"><div class="code-head"><span>${name}</span><button class="button quiet small copy" type="button" data-copy="${id}" hidden>${icon('copy')}<span data-label>Copy</span></button></div><pre id="${id}" tabindex="0" role="region" aria-label="${isResponse ? 'Response' : info.label} ${blocks}"><code>${colours.get(token.raw)}</code></pre></div>\n`
        .text
    },
    blockquote(this: Rendering, { tokens: inner }: Tokens.Blockquote): string {
      const content = new Html(this.parser.parse(inner))
      return html`<div class="notice" data-tone="warning">${icon('alert')}<div>${content}</div></div>\n`
        .text
    },
    table(this: Rendering, { header, rows }: Tokens.Table): string {
      const label = `${section}, table ${++tables}`
      const cell = ({ tokens: inner }: Tokens.TableCell) => new Html(this.parser.parseInline(inner))
      const head = header.map((one) => html`<th scope="col" role="columnheader">${cell(one)}</th>`)
      const lines = rows.map(
        ([first, ...others]) =>
          html`<tr role="row">${first && html`<th scope="row" role="rowheader">${cell(first)}</th>`}${others.map((one) => html`<td role="cell">${cell(one)}</td>`)}</tr>`,
      )
      return html`<div class="card"><div class="table-box" tabindex="0" role="region" aria-label="${label}"><table class="table stacks" role="table"><thead role="rowgroup"><tr role="row">${head}</tr></thead><tbody role="rowgroup">${lines}</tbody></table></div></div>\n`
        .text
    },
    link(this: Rendering, { href, tokens: inner }: Tokens.Link): string {
      const content = new Html(this.parser.parseInline(inner))
      // An address without brackets that no browser can open, such as http://localhost:PORT.
      if (href.startsWith('http:')) return content.text
      return html`<a href="${targetOf(root, source, href)}">${content}</a>`.text
    },
    image(): string {
      throw new Error(`${source} has an image`)
    },
    html({ text }: Tokens.HTML | Tokens.Tag): string {
      if (/^\s*<!--[^]*-->\s*$/.test(text)) return ''
      throw new Error(`${source} has raw HTML: ${text}`)
    },
  }
  return { renderer, sections }
}

/** The renderer that marked calls: it gives access to the parser of the page. */
interface Rendering {
  parser: { parse(tokens: Token[]): string; parseInline(tokens: Token[]): string }
}

function innerTokens(token: Token): Token[][] {
  const nested = 'tokens' in token && token.tokens ? [token.tokens] : []
  return token.type === 'list'
    ? [...nested, ...(token as Tokens.List).items.map((item) => item.tokens)]
    : nested
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

/** Returns the URL of a link: a page of the service, a fragment, or another site. */
function targetOf(root: string, source: string, href: string): string {
  if (href.startsWith('https://') || href.startsWith('#')) return href
  const [path = '', fragment] = href.split('#')
  if (path.startsWith('/')) return href
  const file = normalize(join(dirname(source), path)).replaceAll('\\', '/')
  if (!file.endsWith('.md') || !existsSync(join(root, file)))
    throw new Error(`${source} links to ${href}, which is not a page`)
  return fragment === undefined ? pagePathOf(file) : `${pagePathOf(file)}#${fragment}`
}
