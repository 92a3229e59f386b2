/** The page of one API key: its rights, its rotation, its end. */
import { apiKeysRevoke, apiKeysRotate } from '../../accounts/access/api-key-operations.ts'
import { activeKeysMax, isActive } from '../../accounts/access/manage.ts'
import { keyIdPath } from '../../accounts/access/schema.ts'
import { findOwnKey, type StoredKey } from '../../accounts/api.ts'
import type { Endpoint } from '../../edge/http/endpoint.ts'
import { refuse } from '../../platform/errors.ts'
import {
  card,
  facts,
  hidden,
  idValue,
  pageHead,
  result,
  selectField,
  submit,
  textField,
} from '../components.ts'
import { type Html, html } from '../html.ts'
import { dashboardPage, type PagesContext, type View } from '../page.ts'
import { timeTag } from '../text.ts'
import { environmentTag, keyState, keysPath } from './keys.ts'
import { keyOnce } from './new-key.ts'

const overlaps = [
  { value: '1', label: '1 hour' },
  { value: '24', label: '1 day' },
  { value: '168', label: '7 days' },
  { value: '0', label: 'Not at all: it is revoked now' },
]

const noKey = 'This account has no such API key.'

interface Problem {
  status: number
  /** Above the page. */
  notice?: string
  /** The error of the text to type. */
  typed?: string
}

export function keyPage(options: PagesContext): Endpoint[] {
  const { db, publicUrl } = options
  return dashboardPage(options, {
    name: 'keyPage',
    path: `${keysPath}/{keyId}`,
    entry: keysPath,
    pathParameters: keyIdPath,
    async show({ session, path: { keyId }, now }) {
      const key = await findOwnKey(db, { id: keyId, accountId: session.accountId })
      if (key === undefined) return refuse('not_found', { message: noKey })
      return view(key, { now, isOwner: session.role === 'owner' })
    },
    actions: {
      async rotate({ perform, session, path: { keyId: id }, now }, { overlapHours }) {
        if (session.role !== 'owner') return refuse('owner_required')
        const { accountId } = session
        const overlap = overlaps.find(({ value }) => value === overlapHours)
        if (overlap === undefined)
          return refuse('invalid_parameter', {
            message: 'Choose how long the old key stays valid.',
          })
        const input = { keyId: id, overlapHours: Number(overlap.value), now: false }
        const rotated = await perform(apiKeysRotate, input)
        if ('refusal' in rotated) {
          const key = await findOwnKey(db, { id, accountId })
          if (key === undefined) return refuse('not_found', { message: noKey })
          const problem =
            rotated.refusal === 'api_keys_maximum'
              ? `The account has ${activeKeysMax} valid keys, which is the maximum. Let the old key end at once, or revoke another first.`
              : 'The key was rotated, revoked or has expired meanwhile. A successor was shown in the tab that made it.'
          return view(key, { now, isOwner: true, problem: { status: 409, notice: problem } })
        }
        const predecessorEndsAt = new Date(rotated.output.predecessorEndsAt)
        return {
          title: 'Your new API key',
          status: 201,
          main: keyOnce({
            title: 'Your new API key',
            key: rotated.output.key,
            publicUrl,
            more:
              predecessorEndsAt > now
                ? html` The old key ends ${timeTag(predecessorEndsAt, now)}.`
                : ' The old key is revoked.',
          }),
        }
      },
      async revoke({ perform, session, path: { keyId: id }, now }, { confirm }) {
        if (session.role !== 'owner') return refuse('owner_required')
        const { accountId } = session
        const key = await findOwnKey(db, { id, accountId })
        if (key === undefined) return refuse('not_found', { message: noKey })
        if (confirm !== key.name) {
          const typed = `Type ${key.name} exactly as it is shown.`
          return view(key, { now, isOwner: true, problem: { status: 400, typed } })
        }
        const revoked = await perform(apiKeysRevoke, { keyId: id })
        if ('refusal' in revoked) return revoked
        return { redirectTo: `${keysPath}?done=revoked` }
      },
    },
  })
}

function view(
  key: StoredKey,
  { now, isOwner, problem }: { now: Date; isOwner: boolean; problem?: Problem },
): View {
  return {
    title: `Key ${key.name}`,
    ...(problem === undefined ? {} : { status: problem.status }),
    main: html`${problem?.notice !== undefined && result('warning', 'Nothing was changed.', problem.notice)}
${pageHead({
  title: key.name,
  badge: html`${keyState(key, now)}${environmentTag(key)}`,
  text: html`<span class="mono">${key.shown}</span>`,
  above: [{ title: 'API keys', url: keysPath }],
})}
<div class="columns half">${factsCard(key, now)}${isOwner && isActive(key, now) && html`<div class="stack loose">${rotateCard(key)}${revokeCard(key, problem?.typed)}</div>`}</div>`,
  }
}

function factsCard(key: StoredKey, now: Date): Html {
  const { id, scopes, allowedFrom, createdAt, expiresAt, revokedAt, lastUsedAt, predecessor } = key
  const end = revokedAt ?? expiresAt
  return card({
    title: 'Rights',
    aside: html`<a class="small" href="/dashboard/requests?key=${id}">Show its requests</a>`,
    body: facts(
      [
        {
          label: 'Scopes',
          isWide: true,
          value: html`<span class="row">${scopes.map((scope) => html`<span class="tag"><code>${scope}</code></span>`)}</span>`,
        },
        {
          label: 'Networks',
          value:
            allowedFrom === null
              ? 'Any address'
              : allowedFrom.map((network) => html`<span class="mono">${network}</span> `),
        },
        { label: 'Last used', value: lastUsedAt === null ? 'Never' : timeTag(lastUsedAt, now) },
        { label: 'Created', value: timeTag(createdAt, now) },
        {
          label: endLabel(key, now),
          value: end === null ? 'Never' : timeTag(end, now),
        },
        ...(predecessor === null
          ? []
          : [
              {
                label: 'Rotated from',
                value: html`<a class="mono" href="${keysPath}/${predecessor}">${predecessor}</a>`,
                isWide: true,
              },
            ]),
        { label: 'Key ID', value: idValue('key-id', id), isWide: true },
      ],
      'columns',
    ),
  })
}

function endLabel({ revokedAt, expiresAt }: StoredKey, now: Date): string {
  if (revokedAt !== null) return 'Revoked'
  return expiresAt !== null && expiresAt <= now ? 'Expired' : 'Expires'
}

function rotateCard({ id }: StoredKey): Html {
  return card({
    title: 'Rotate',
    text: 'You get a new key with the same rights. Give it to your program before the old one ends.',
    body: html`<form class="stack" method="post" action="${keysPath}/${id}">${hidden('do', 'rotate')}${selectField({ name: 'overlapHours', label: 'The old key stays valid for', value: '24', choices: overlaps })}<div class="row">${submit({ label: 'Rotate key', kind: 'primary' })}</div></form>`,
  })
}

function revokeCard({ id, name }: StoredKey, error: string | undefined): Html {
  return card({
    title: 'Revoke',
    text: 'The next request with this key is refused, on every server. You cannot undo this.',
    body: html`<form class="stack" method="post" action="${keysPath}/${id}" novalidate>${hidden('do', 'revoke')}${textField({ name: 'confirm', label: `Type ${name} to confirm`, error, unlocks: { id: 'revoke-key', expected: name } })}<div class="row">${submit({ label: 'Revoke key', kind: 'danger', id: 'revoke-key' })}</div></form>`,
  })
}
