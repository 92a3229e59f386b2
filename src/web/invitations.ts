/**
 * The page of an invitation (decision D47): its link leads here. Opening the page answers nothing,
 * because mail scanners open links; a button does.
 */
import { Type } from 'typebox'
import {
  type Accepted,
  acceptByLink,
  declineByLink,
  readInvitation,
} from '../accounts/accept-invitation.ts'
import type { Invitation } from '../accounts/api.ts'
import { findUserById } from '../accounts/api.ts'
import { invitationDays, membersMax } from '../accounts/invitations.ts'
import { accountsPath } from '../accounts/sign-in.ts'
import type { Caller } from '../edge/http/callers.ts'
import { type Answer, type Endpoint, endpoint } from '../edge/http/endpoint.ts'
import { refuse } from '../platform/errors.ts'
import { submit, textField } from './components.ts'
import { html } from './html.ts'
import {
  hiddenAddress,
  invitationSentence,
  parsePersonName,
  roleSentence,
} from './invitation-words.ts'
import { accountTitle, redirect } from './layout.ts'
import { type Fields, type SignInOptions, type SignInPages, visitorOf } from './sign-in-context.ts'
import { cardView, type SignInView } from './sign-in-views.ts'
import { fullTime } from './text.ts'

const path = '/invitations/{token}'
const pathParameters = Type.Object({ token: Type.String({ minLength: 1, maxLength: 64 }) })

export function invitationEndpoints(options: SignInOptions, pages: SignInPages): Endpoint[] {
  const { db, clock, publicUrl, rules, sendsMail, provider } = options
  const { view, viewPolicy, form, show, sessionValue, begun, destination } = pages
  const host = new URL(publicUrl).host
  const isForOther = async (caller: Caller, email: string): Promise<boolean> =>
    caller.kind === 'session' && (await findUserById(db, caller.userId))?.email !== email

  const shown = endpoint({
    ...view,
    operationId: 'invitationPage',
    path,
    summary: 'An invitation to an account',
    pathParameters,
    async answer({ path: { token }, caller }) {
      const invitation = await readInvitation(db, token, clock())
      if (invitation === undefined) return show(endedView, 410)
      if (await isForOther(caller, invitation.email))
        return show(() => otherAddressView(invitation), 403)
      const isSignedIn = caller.kind === 'session'
      return show(() =>
        invitationView(invitation, { host, isSignedIn, name: '', error: undefined }),
      )
    },
  })

  const answered = endpoint({
    ...form,
    operationId: 'answerInvitation',
    path,
    summary: 'Join an account, or decline the invitation',
    policy: viewPolicy,
    pathParameters,
    async answer({ path: { token }, caller, visitor, body }) {
      const { do: action, name: typed = '' } = body as Fields
      const now = clock()
      const invitation = await readInvitation(db, token, now)
      if (invitation === undefined) return show(endedView, 410)
      if (await isForOther(caller, invitation.email))
        return show(() => otherAddressView(invitation), 403)
      if (action === 'decline')
        return (await declineByLink(db, token, now)) ? show(declinedView) : show(endedView, 410)
      if (action !== 'join')
        return refuse('invalid_parameter', { message: 'The form names no action of this page.' })
      const name = parsePersonName(typed)
      const session = caller.kind === 'session' ? caller : null
      if (typed.trim() !== '' && name === null)
        return show(
          () =>
            invitationView(invitation, {
              host,
              isSignedIn: session !== null,
              name: typed.slice(0, 80),
              error: "Use letters, digits, spaces and . , ' -, at most 80 characters.",
            }),
          400,
        )
      const joining = { token, session, visitor: visitorOf(visitor), name }
      const accepted = await acceptByLink(
        db,
        { ...joining, previousValue: sessionValue(visitor) },
        { rules: { sessions: rules, canProveAddress: sendsMail || provider !== null }, now },
      )
      return acceptedAnswer(accepted)
    },
  })

  const acceptedAnswer = (accepted: Accepted): Answer => {
    if ('session' in accepted)
      return accepted.session === null
        ? redirect(destination(null))
        : redirect(destination(null), { 'Set-Cookie': begun(accepted.session) })
    // The token stays out of the outbox, which keeps the page to open after sign-in.
    if (accepted.refusal === 'session_required')
      return redirect(`/sign-in?next=${encodeURIComponent(accountsPath)}`)
    return accepted.refusal === 'members_maximum' ? show(fullView, 409) : show(endedView, 410)
  }

  return [shown, answered]
}

interface InvitationForm {
  host: string
  isSignedIn: boolean
  name: string
  error: string | undefined
}

function invitationView(
  invitation: Invitation,
  { host, isSignedIn, name, error }: InvitationForm,
): SignInView {
  const { account, role, email, expiresAt } = invitation
  const title = `Join ${accountTitle(account)}?`
  return cardView(
    title,
    html`<p>${invitationSentence(invitation, host)} ${roleSentence(role)}</p>
<p>You join as <strong class="break">${email}</strong>.</p>
<form class="stack" method="post" novalidate>
${
  !isSignedIn &&
  textField({
    name: 'name',
    label: 'Your name (optional)',
    help: 'Other members see it. If you have a user here, your name stays as it is.',
    value: name,
    error,
    lengthMax: 80,
  })
}
<div class="row"><button class="button primary large" type="submit" name="do" value="join">Join account</button><button class="button large" type="submit" name="do" value="decline">Decline</button></div>
</form>
<p class="muted small">You can answer until ${fullTime(expiresAt)}. Nothing happens before you join. You can leave at any time.</p>`,
    error === undefined ? title : `Error: ${title}`,
  )
}

/** Says nothing about the account, because another user is signed in. */
function otherAddressView({ email }: Invitation): SignInView {
  return cardView(
    'This invitation is not for you',
    html`<p>This invitation is for <strong class="break">${hiddenAddress(email)}</strong>, and you are signed in with another address.</p>
<form method="post" action="/sign-out">${submit({ label: 'Sign out', kind: 'primary' })}</form>
<p class="muted small">Then open the link again.</p>`,
  )
}

function endedView(): SignInView {
  return cardView(
    'This invitation cannot be used',
    html`<p>It was answered or withdrawn, or it has ended after ${invitationDays} days. Ask for a new one.</p>
<p><a class="button primary large" href="/sign-in">Go to sign-in</a></p>`,
  )
}

function declinedView(): SignInView {
  return cardView(
    'You have declined',
    html`<p>You are not a member of the account. You can close this page.</p>`,
  )
}

function fullView(): SignInView {
  return cardView(
    'The account is full',
    html`<p>It has ${membersMax} members, which is the maximum. Tell the person who invited you.</p>`,
  )
}
