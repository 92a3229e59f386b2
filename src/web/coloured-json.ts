/** Pure: JSON with its keys, texts and numbers in the colours of code. */
import { type Html, html } from './html.ts'

const token = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|(-?\d[\d.eE+-]*)/g

export function colouredJson(code: string): Html {
  const parts: Html[] = []
  let end = 0
  for (const match of code.matchAll(token)) {
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
