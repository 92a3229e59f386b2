/**
 * Colours code with shiki when files are generated. Its themes write style attributes, which the
 * content security policy of our pages forbids. The theme here has one colour for each class of the
 * style sheet, and each colour becomes the class.
 */
import { createHighlighterCore } from 'shiki/core'
import { createJavaScriptRegexEngine } from 'shiki/engine/javascript'
import { type Html, html } from '../../src/web/html.ts'

const classes = {
  '#000001': { name: 'tok-c', scopes: ['comment', 'punctuation.definition.comment'] },
  '#000002': {
    name: 'tok-k',
    scopes: ['keyword', 'storage', 'constant.language', 'variable.language', 'support.type'],
  },
  '#000003': { name: 'tok-s', scopes: ['string', 'punctuation.definition.string'] },
  '#000004': { name: 'tok-n', scopes: ['constant.numeric'] },
  '#000005': {
    name: 'tok-p',
    scopes: ['support.type.property-name', 'entity.name.function', 'support.function'],
  },
} as const

const plainColour = '#000000'

const theme = {
  name: 'classes',
  type: 'light',
  fg: plainColour,
  bg: '#ffffff',
  settings: Object.entries(classes).map(([foreground, { scopes }]) => ({
    scope: [...scopes],
    settings: { foreground },
  })),
} as const

const grammars: Readonly<Record<string, string>> = {
  sh: 'shellscript',
  json: 'json',
  ts: 'typescript',
  python: 'python',
  sql: 'sql',
}

const opened = createHighlighterCore({
  themes: [{ ...theme, settings: [...theme.settings] }],
  langs: [
    import('shiki/langs/shellscript.mjs'),
    import('shiki/langs/json.mjs'),
    import('shiki/langs/typescript.mjs'),
    import('shiki/langs/python.mjs'),
    import('shiki/langs/sql.mjs'),
  ],
  engine: createJavaScriptRegexEngine(),
})

/** Returns the content of a `code` element. Code in a language without a grammar has no colours. */
export async function highlight(code: string, language: string): Promise<Html> {
  const lang = grammars[language]
  if (lang === undefined) return html`${code}`
  const highlighter = await opened
  const { tokens } = highlighter.codeToTokens(code, {
    lang,
    theme: 'classes',
    // No limit of time: shiki stops after 500 ms a line, so a busy machine would colour less.
    tokenizeTimeLimit: 0,
  })
  return html`${tokens.map((line, i) => [i > 0 && '\n', ...line.map(spanOf)])}`
}

function spanOf({ content, color }: { content: string; color?: string | undefined }): Html {
  const known = Object.entries(classes).find(([colour]) => colour === color?.toLowerCase())
  return known === undefined
    ? html`${content}`
    : html`<span class="${known[1].name}">${content}</span>`
}
