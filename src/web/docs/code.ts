/** Pure: blocks of code on pages that are made while the service runs. */
import { colouredJson } from '../coloured-json.ts'
import { type Html, html } from '../html.ts'
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
