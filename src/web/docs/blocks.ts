/** Pure: blocks of code and tables of the documentation. */
import { type Html, html, type Part } from '../html.ts'
import { icon } from '../icons.ts'

export interface CodeBlock {
  /** Unique on its page. */
  id: string
  /** Shown above the code. */
  name: string
  /** Read out by a screen reader. */
  label: string
  code: Part
}

export function codeBlock({ id, name, label, code }: CodeBlock): Html {
  return html`<div class="code"><div class="code-head"><span>${name}</span><button class="button quiet small copy" type="button" data-copy="${id}" hidden>${icon('copy')}<span data-label>Copy</span></button></div><pre id="${id}" tabindex="0" role="region" aria-label="${label}"><code>${code}</code></pre></div>\n`
}

/** Returns a table that becomes a list of cards on a narrow screen. */
export function table(label: string, heads: readonly Part[], rows: readonly Part[][]): Html {
  return html`<div class="card"><div class="table-box" tabindex="0" role="region" aria-label="${label}"><table class="table stacks" role="table"><thead role="rowgroup"><tr role="row">${heads.map((head) => html`<th scope="col" role="columnheader">${head}</th>`)}</tr></thead><tbody role="rowgroup">${rows.map(
    ([first, ...others]) =>
      html`<tr role="row"><th scope="row" role="rowheader">${first}</th>${others.map((cell) => html`<td role="cell">${cell}</td>`)}</tr>`,
  )}</tbody></table></div></div>\n`
}
