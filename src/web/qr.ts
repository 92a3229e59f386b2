/** Pure: QR codes as SVG. */
import { encode } from 'uqr'
import { Html, html } from './html.ts'

/** Returns the code of a text. `label` says where it leads. */
export function qrCode(text: string, label: string): Html {
  // A fixed mask, because readers read every mask and choosing the best one takes most of the time.
  const options = { ecc: 'L', border: 0, maskPattern: 2 } as const
  const first = encode(text, options)
  // Readers with the table of jsQR cannot read version 23 at this level.
  const { size, data } = first.version === 23 ? encode(text, { ...options, minVersion: 24 }) : first
  const runs = data.map((row, y) => {
    let path = ''
    for (let x = 0; x < size; x++) {
      if (!row[x]) continue
      const start = x
      while (row[x + 1]) x++
      path += `M${start} ${y}.5h${x + 1 - start}`
    }
    return path
  })
  return html`<svg class="qr" viewBox="-4 -4 ${size + 8} ${size + 8}" role="img" aria-label="${label}" shape-rendering="crispEdges">${new Html(`<path stroke="var(--qr-ink)" d="${runs.join('')}"/>`)}</svg>`
}
