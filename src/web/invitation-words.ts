/** Pure: the sentences of an invitation, in mails and on pages. */
import type { Invitation } from '../accounts/api.ts'
import type { Role } from '../edge/http/callers.ts'
import { accountTitle } from './layout.ts'

/** Such as `Sofia Lindqvist (harbour.example) invites you to Harbour Ltd as a member.` */
export function invitationSentence(
  { inviter, account, role }: Pick<Invitation, 'inviter' | 'account' | 'role'>,
  host: string,
): string {
  const as = role === 'owner' ? 'an owner' : 'a member'
  return `${inviterOf(inviter, host)} invites you to ${accountTitle(account)} as ${as}.`
}

function inviterOf(inviter: Invitation['inviter'], host: string): string {
  if (inviter === null) return `The operator of ${host}`
  const { name, email } = inviter
  return name === null ? email : `${name} (${email.slice(email.indexOf('@') + 1)})`
}

export function roleSentence(role: Role): string {
  return role === 'owner'
    ? 'Owners manage the members, API keys, webhooks and credits of the account.'
    : 'Members see the keys, requests and webhooks of the account.'
}

/** The address without most of its name, such as `n…@corp.example`. */
export function hiddenAddress(email: string): string {
  return `${email.slice(0, 1)}…${email.slice(email.indexOf('@'))}`
}

/**
 * Returns the name that a new user typed, or null. Others read it in mails, so it holds no link:
 * letters, digits, spaces and the marks of names, and no dot inside a word.
 */
export function parsePersonName(text: string): string | null {
  const name = text.trim().normalize('NFC')
  return /^[\p{L}\p{M}\p{N} .,'’-]{1,80}$/u.test(name) && !/\.\S/.test(name) ? name : null
}
