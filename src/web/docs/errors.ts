/** Pure: the page of one error. */
import type { PublicDocument } from '../../edge/http/document.ts'
import { type ErrorName, errorStatus, errorTable, refusalText } from '../../platform/errors.ts'
import { code, withCode } from '../components.ts'
import { html } from '../html.ts'
import { pageDocument } from '../public-page.ts'
import { type DocsFrame, docsView } from './frame.ts'

/** Returns the page of an error. */
export function errorPage(frame: DocsFrame, error: ErrorName): PublicDocument {
  const { status, message, advice } = errorTable[error]
  const keyedStatus = errorStatus(error, true)
  const view = docsView(frame, {
    path: `/docs/errors/${error}`,
    title: error,
    description: `${message} ${advice}`,
    above: { url: '/docs/errors', title: 'Errors' },
    lead: html`<p>${message}</p>`,
    main: html`<h2 id="next-step">Next step</h2>
<p>${withCode(advice)}</p>
<h2 id="response">Response</h2>
<p>The server answers with status <code>${status}</code>${keyedStatus !== status && html` (<code>${keyedStatus}</code> on routes that need an API key)`} and this body. The message can say more than it does here.</p>
${code({ id: 'c1', name: `${status}`, label: 'Response', text: JSON.stringify({ error, message: refusalText({ refusal: error }) }, null, 2), language: 'json' })}
<p>If you ask the operator about a response, quote its header <code>X-Request-Id</code>. See <a href="/docs/errors">all errors</a>.</p>`,
  })
  return pageDocument(frame.site, view)
}
