/**
 * Pure: the mails of sign-in, as text and as HTML. The HTML is plain, because mail programs drop
 * styles.
 */
import type { RenderMail } from '../accounts/send-mails.ts'
import { html } from './html.ts'

export function mailRenderer(host: string): RenderMail {
  return (kind, url) => (kind === 'sign_in' ? signInMail(host, url) : invitationMail(host, url))
}

function signInMail(host: string, url: string) {
  return {
    subject: `Sign in to ${host}`,
    text: `Open this link to sign in to ${host}:

${url}

It works once, for 15 minutes. If you did not request it, ignore this mail: nothing happens without the link.
`,
    html: html`<!doctype html><html lang="en"><body>
<p>Open this link to sign in to ${host}:</p>
<p><a href="${url}">Sign in to ${host}</a></p>
<p>It works once, for 15 minutes. If you did not request it, ignore this mail: nothing happens without the link.</p>
</body></html>`.text,
  }
}

function invitationMail(host: string, url: string) {
  return {
    subject: `You are invited to ${host}`,
    text: `You can now sign in to ${host} with this mail address:

${url}

Enter the address there. You receive a link that signs you in; there is no password.
`,
    html: html`<!doctype html><html lang="en"><body>
<p>You can now sign in to ${host} with this mail address:</p>
<p><a href="${url}">Sign in to ${host}</a></p>
<p>Enter the address there. You receive a link that signs you in; there is no password.</p>
</body></html>`.text,
  }
}
