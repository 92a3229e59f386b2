/**
 * Pure: the mails of sign-in and of notices, as text and as HTML. The HTML is plain, because mail
 * programs drop styles.
 */

import type { NoticeMail } from '../accounts/api.ts'
import type { Invitation } from '../accounts/invitation.ts'
import type { RenderMail } from '../accounts/send-mails.ts'
import { counted } from '../platform/counted.ts'
import { html } from './html.ts'
import { invitationSentence, roleSentence } from './invitation-words.ts'
import { accountTitle } from './layout.ts'
import { fullTime } from './text.ts'

export function mailRenderer(publicUrl: string): RenderMail {
  const { host } = new URL(publicUrl)
  return (content) => {
    if ('notice' in content) return noticeMail(publicUrl, host, content.notice)
    const { url, invitation } = content
    return invitation === null ? signInMail(host, url) : invitationMail(host, url, invitation)
  }
}

function noticeMail(publicUrl: string, host: string, { accountId, of, lines }: NoticeMail) {
  const [first] = lines
  const more = lines.length > 1 ? `, and ${counted(lines.length - 1, 'more notice')}` : ''
  const [switchUrl, who] =
    accountId === null
      ? [`${publicUrl}/docs/monitor#notices-by-mail`, 'you operate this service']
      : [`${publicUrl}/dashboard/team#notices`, 'you own this account']
  const end = `You get this mail because ${who}. Choose your notices:`
  return {
    subject: `${accountTitle(of)} needs you: ${first?.title ?? ''}${more}`,
    text: `${accountTitle(of)} on ${host} needs you:

${lines.map(({ text, url }) => `${text}\n${url}\n`).join('\n')}
${end}
${switchUrl}
`,
    html: html`<!doctype html><html lang="en"><body>
<p>${accountTitle(of)} on ${host} needs you:</p>
<ul>${lines.map(({ text, url }) => html`<li>${text} <a href="${url}">Mend it</a></li>`)}</ul>
<p>${end} <a href="${switchUrl}">${switchUrl}</a></p>
</body></html>`.text,
  }
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

function invitationMail(host: string, url: string, invitation: Invitation) {
  const sentence = `${invitationSentence(invitation, host)} ${roleSentence(invitation.role)}`
  const rest = `The link works until ${fullTime(invitation.expiresAt)}. If you do not know the sender, decline or ignore this mail: nothing happens before you join.`
  return {
    subject: `You are invited to ${accountTitle(invitation.account)} on ${host}`,
    text: `${sentence}

Open this link to join or to decline:

${url}

${rest}
`,
    html: html`<!doctype html><html lang="en"><body>
<p>${sentence}</p>
<p><a href="${url}">Open the invitation</a> to join or to decline.</p>
<p>${rest}</p>
</body></html>`.text,
  }
}
