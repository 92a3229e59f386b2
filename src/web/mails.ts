/**
 * Pure: the mails of sign-in and of notices, as text and as HTML. The HTML is plain, because mail
 * programs drop styles.
 */
import type { Invitation, NoticeMail } from '../accounts/api.ts'
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

/** A paragraph, or a link with its words in HTML. */
type Line = string | { words: string; url: string }

function mailOf(subject: string, lines: readonly Line[]) {
  const paragraphs = lines.map((line) =>
    typeof line === 'string'
      ? html`<p>${line}</p>\n`
      : html`<p><a href="${line.url}">${line.words}</a></p>\n`,
  )
  return {
    subject,
    text: `${lines.map((line) => (typeof line === 'string' ? line : line.url)).join('\n\n')}\n`,
    html: html`<!doctype html><html lang="en"><body>\n${paragraphs}</body></html>`.text,
  }
}

function noticeMail(publicUrl: string, host: string, { accountId, of, lines }: NoticeMail) {
  const [first] = lines
  const more = lines.length > 1 ? `, and ${counted(lines.length - 1, 'more notice')}` : ''
  const [switchUrl, who] =
    accountId === null
      ? [`${publicUrl}/docs/monitor#notices-by-mail`, 'you operate this service']
      : [`${publicUrl}/dashboard/team#notices`, 'you own this account']
  return mailOf(`${accountTitle(of)} needs you: ${first?.title ?? ''}${more}`, [
    `${accountTitle(of)} on ${host} needs you:`,
    ...lines.flatMap(({ text, url }) => [text, { words: 'Mend it', url }]),
    `You get this mail because ${who}. Choose your notices:`,
    { words: switchUrl, url: switchUrl },
  ])
}

function signInMail(host: string, url: string) {
  return mailOf(`Sign in to ${host}`, [
    `Open this link to sign in to ${host}:`,
    { words: `Sign in to ${host}`, url },
    'It works once, for 15 minutes. If you did not request it, ignore this mail: nothing happens without the link.',
  ])
}

function invitationMail(host: string, url: string, invitation: Invitation) {
  return mailOf(`You are invited to ${accountTitle(invitation.account)} on ${host}`, [
    `${invitationSentence(invitation, host)} ${roleSentence(invitation.role)}`,
    'Open this link to join or to decline:',
    { words: 'Open the invitation', url },
    `The link works until ${fullTime(invitation.expiresAt)}. If you do not know the sender, decline or ignore this mail: nothing happens before you join.`,
  ])
}
