/**
 * Pure: code in the colours of the style sheet. A package that colours any language costs 25 to
 * 40 ms at the first page; these languages need a row each.
 */
import { html, type Part } from './html.ts'

/** The patterns of a language by class: comment, string, keyword, number, name. The first fits. */
const languages: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  json: {
    p: /"(?:[^"\\]|\\.)*"(?=\s*:)/,
    s: /"(?:[^"\\]|\\.)*"/,
    k: wordsOf('true false null'),
    n: /-?\d[\d.eE+-]*/,
  },
  sh: {
    c: /(?<=^|\s)#.*/,
    s: /<<'?(?<end>\w+)'?$[^]*?^\k<end>$|"(?:[^"\\]|\\[^])*"|'[^']*'|(?<=\s)--?[A-Za-z][\w-]*/,
    k: /(?<=^\s*|;\s)(?:export|for|do|done|if|then|else|fi|while|until)(?=\s|;|$)/,
    p: /(?<=^|\$\(|[|;&]\s|\bdo\s)[\w./-]+(?=\s|$)/,
  },
  ts: {
    c: /\/\/.*|\/\*[^]*?\*\//,
    s: /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[^])*`/,
    k: wordsOf(
      'as async await break case catch class const continue else export extends false finally for from function if import in instanceof interface let new null of return switch throw true try type typeof undefined while any boolean number string unknown void',
    ),
    n: /\b\d[\w.]*/,
    p: /[A-Za-z_$][\w$]*(?=\()/,
  },
  python: {
    c: /#.*/,
    s: /"""[^]*?"""|\b[fbr]?"(?:[^"\\\n]|\\.)*"|\b[fbr]?'(?:[^'\\\n]|\\.)*'|'[^'\n]*'|"[^"\n]*"/,
    k: wordsOf(
      'and as assert async await break class continue def elif else except False finally for from if import in is lambda None not or pass raise return True try while with yield',
    ),
    n: /\b\d[\w.]*/,
    p: /[A-Za-z_]\w*(?=\()/,
  },
  sql: {
    c: /--.*/,
    s: /'[^']*'/,
    k: wordsOf(
      'alter and as conflict create database delete do drop from function grant insert into nothing on order by role select set table truncate update user values where with',
    ),
  },
}

function wordsOf(list: string): RegExp {
  return new RegExp(`\\b(?:${list.replaceAll(' ', '|')})\\b`)
}

const patterns = new Map(
  Object.entries(languages).map(([language, tokens]) => {
    const groups = Object.entries(tokens).map(([name, { source }]) => `(?<${name}>${source})`)
    return [language, new RegExp(groups.join('|'), 'gm')]
  }),
)

/** Returns the content of a `code` element. Code in another language has no colours. */
export function colouredCode(code: string, language: string): Part {
  const pattern = patterns.get(language)
  if (pattern === undefined) return code
  const parts: Part[] = []
  let end = 0
  for (const { 0: text, index, groups = {} } of code.matchAll(pattern)) {
    const name = ['c', 's', 'k', 'n', 'p'].find((one) => groups[one] !== undefined)
    parts.push(code.slice(end, index), html`<span class="${`tok-${name}`}">${text}</span>`)
    end = index + text.length
  }
  return [parts, code.slice(end)]
}
