/** Pure: blocks of code on pages that are made while the service runs. */
import { Html, html } from '../html.ts'
import { icon } from '../icons.ts'

export interface CodeBlock {
  /** Unique on its page. */
  id: string
  /** Shown above the code. */
  name: string
  /** Read out by a screen reader. */
  label: string
  code: string
  language: 'json' | 'sh'
}

export function codeBlock({ id, name, label, code, language }: CodeBlock): Html {
  const content = language === 'json' ? colouredJson(code) : html`${code}`
  return html`<div class="code"><div class="code-head"><span>${name}</span><button class="button quiet small copy" type="button" data-copy="${id}" hidden>${icon('copy')}<span data-label>Copy</span></button></div><pre id="${id}" tabindex="0" role="region" aria-label="${label}"><code>${content}</code></pre></div>\n`
}

const jsonToken = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|(-?\d[\d.eE+-]*)/g

function colouredJson(code: string): Html {
  const parts: Html[] = []
  let end = 0
  for (const match of code.matchAll(jsonToken)) {
    const [all, text, colon, , number] = match
    parts.push(html`${code.slice(end, match.index)}`)
    end = match.index + all.length
    if (text !== undefined && colon !== undefined)
      parts.push(html`<span class="tok-p">${text}</span>${colon}`)
    else if (text !== undefined) parts.push(html`<span class="tok-s">${text}</span>`)
    else if (number !== undefined) parts.push(html`<span class="tok-n">${number}</span>`)
    else parts.push(html`<span class="tok-k">${all}</span>`)
  }
  return html`${parts}${code.slice(end)}`
}
