/** The pages of API keys: the list, one key, and the form of a new one. */

import { randomUUID } from 'node:crypto'
import {
  apiKeysCreate,
  apiKeysRevoke,
  apiKeysRotate,
} from '../../accounts/access/api-key-operations.ts'
import { activeKeysMax, formKeyId, isActive } from '../../accounts/access/manage.ts'
import { keyIdPath, keyNameLengthMax } from '../../accounts/access/schema.ts'
import { findOwnKey, findShownKeys, type StoredKey } from '../../accounts/api.ts'
import { findUsage } from '../../billing/api.ts'
import { lastDays } from '../../billing/credits/months.ts'
import { type Scope, scopes } from '../../edge/http/callers.ts'
import { idempotencyKeyPattern } from '../../edge/http/contract.ts'
import { type Endpoint } from '../../edge/http/endpoint.ts'
import { type InputOf } from '../../operations/perform.ts'
import { refuse } from '../../platform/errors.ts'
import {
  badge,
  card,
  choicesField,
  chosenBoxes,
  code,
  empty,
  type FieldErrors,
  facts,
  formErrors,
  hidden,
  idValue,
  none,
  result,
  secretOnce,
  selectField,
  submit,
  table,
  textField,
} from '../components.ts'
import { type Html, html, type Part } from '../html.ts'
import { icon } from '../icons.ts'
import { dashboardPage, type Fields, type PagesContext, type View } from '../page.ts'
import { count, counted, dateTag, relativeTime, timeTag } from '../text.ts'

const keysPath = '/dashboard/keys'
const newPath = `${keysPath}/new`
const above = [{ title: 'API keys', url: keysPath }]
const endedShown = 20
const usageDays = 30
/** A key that ends sooner is marked: its program needs another one. */
const endsSoonMs = 7 * 86_400_000

export function keysPage(context: PagesContext): Endpoint[] {
  return dashboardPage(context, {
    path: keysPath,
    results: {
      positive: { revoked: 'The key is revoked. The next request with it is refused.' },
    },
    async show({ session, now }) {
      const { accountId } = session
      const [keys, { key: usage }] = await Promise.all([
        // One more than shown tells that there are others.
        findShownKeys(context.db, { accountId, now, endedMax: endedShown + 1 }),
        findUsage(context.db, { ...lastDays(usageDays, now), accountId }),
      ])
      const calls = new Map(usage.map(({ group, calls }) => [group, calls]))
      const valid = keys.filter((key) => isActive(key, now))
      const ended = keys.filter((key) => !isActive(key, now))
      const shownEnded = ended.slice(0, endedShown)
      const isOwner = session.role === 'owner'
      const create =
        isOwner && html`<a class="button primary" href="${newPath}">${icon('plus')}Create key</a>`
      return {
        title: 'API keys',
        head: {
          text: isOwner
            ? 'Your programs send a key with each request. Give each program its own.'
            : 'Your programs send a key with each request. Owners of the account create and revoke keys.',
          actions: valid.length > 0 && create,
        },
        main: html`${card({
          title: 'Valid keys',
          isFlush: true,
          body:
            valid.length === 0 ? nothingYet(create) : keyTable('Valid keys', valid, { calls, now }),
        })}
${
  ended.length > 0 &&
  card({
    title: 'Revoked and expired',
    ...(ended.length > endedShown ? { text: `The ${endedShown} newest.` } : {}),
    isFlush: true,
    body: keyTable('Revoked and expired', shownEnded, { calls, now }),
  })
}`,
      }
    },
  })
}

function nothingYet(action: Part): Html {
  return empty({
    icon: 'key',
    title: 'No API key yet',
    text: 'Begin with a test key: it reads fictional candidates, and costs nothing.',
    action,
  })
}

/** A key by its name, or by its id if it is not among `names`. */
export function keyLink(id: string, names: ReadonlyMap<string, string>, short = id): Html {
  return html`<a class="break" dir="auto" href="${keysPath}/${id}">${names.get(id) ?? short}</a>`
}

/** The state of a key that is not valid any more, or how it will end. */
function keyState(key: StoredKey, now: Date): Html {
  if (key.revokedAt !== null) return badge('negative', 'cross', 'Revoked')
  if (!isActive(key, now)) return badge('neutral', 'clock', 'Expired')
  return key.expiresAt !== null && key.expiresAt.getTime() - now.getTime() < endsSoonMs
    ? badge('warning', 'clock', `Ends ${relativeTime(key.expiresAt, now)}`)
    : badge('positive', 'check', 'Valid')
}

function environmentTag({ environment }: Pick<StoredKey, 'environment'>): Html {
  return html`<span class="tag">${environment === 'test' ? 'Test' : 'Live'}</span>`
}

/** Returns the values of the columns that a narrow screen hides. */
function narrowLine(
  key: StoredKey,
  { calls, now }: { calls: ReadonlyMap<string, number>; now: Date },
): Part {
  const { id, lastUsedAt, environment, revokedAt, expiresAt } = key
  if (revokedAt !== null) return html`Revoked ${timeTag(revokedAt, now)}`
  if (expiresAt !== null && !isActive(key, now)) return html`Expired ${timeTag(expiresAt, now)}`
  if (lastUsedAt === null) return 'Never used'
  const inDays =
    environment === 'live' &&
    ` · ${counted(calls.get(id) ?? 0, 'call', 'calls')} in ${usageDays} days`
  return html`Last used ${timeTag(lastUsedAt, now)}${inDays}`
}

function keyTable(
  label: string,
  rows: readonly StoredKey[],
  { calls, now }: { calls: ReadonlyMap<string, number>; now: Date },
): Html {
  return table<StoredKey>({
    label,
    rows,
    columns: [
      {
        head: 'Name',
        cell: (key) =>
          html`<a class="break strong" dir="auto" href="${keysPath}/${key.id}">${key.name}</a> ${environmentTag(key)}<span class="sub mono keep">${key.shown}</span><span class="sub narrow-only">${narrowLine(key, { calls, now })}</span>`,
      },
      {
        head: 'Scopes',
        priority: 3,
        cell: ({ scopes }) =>
          html`<span class="row">${scopes.map((scope) => html`<span class="tag"><code>${scope}</code></span>`)}</span>`,
      },
      { head: 'State', priority: 2, isFit: true, cell: (key) => keyState(key, now) },
      {
        head: 'Last used',
        priority: 2,
        cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'Never' : timeTag(lastUsedAt, now)),
      },
      {
        head: 'Calls, 30 days',
        priority: 2,
        isNumber: true,
        // Calls with a test key are not counted, because they cost nothing.
        cell: ({ id, environment }) => (environment === 'test' ? none : count(calls.get(id) ?? 0)),
      },
      {
        head: 'Ends',
        priority: 3,
        isNumber: true,
        cell: ({ revokedAt, expiresAt }) => {
          const end = revokedAt ?? expiresAt
          return end === null ? 'Never' : dateTag(end)
        },
      },
    ],
  })
}

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
          main: keyOnce(
            { title: 'Your new API key', key: rotated.output.key, publicUrl },
            predecessorEndsAt > now
              ? html` The old key ends ${timeTag(predecessorEndsAt, now)}.`
              : ' The old key is revoked.',
          ),
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
    top: problem?.notice !== undefined && result('warning', 'Nothing was changed.', problem.notice),
    head: {
      title: key.name,
      badge: html`${keyState(key, now)}${environmentTag(key)}`,
      text: html`<span class="mono">${key.shown}</span>`,
      above,
    },
    main: html`<div class="columns half">${factsCard(key, now)}${isOwner && isActive(key, now) && html`<div class="stack loose">${rotateCard(key)}${revokeCard(key, problem?.typed)}</div>`}</div>`,
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

const keyForm = new RegExp(idempotencyKeyPattern)

const scopeTexts: Readonly<Record<Scope, string>> = {
  'candidates:read': 'Search and read candidates. With a live key each read costs credits.',
  'scores:read': 'Read scores and their credentials. With a live key each read costs credits.',
  'webhooks:write': 'List, create and disable webhook endpoints. Live keys only.',
  'agent-decisions:write': 'Report decisions of agents. Live keys only.',
}

const terms = [
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: '1 year' },
  { value: '', label: 'Until it is revoked' },
]

/** Checked by `perform`, not by the types. */
type KeyInput = InputOf<typeof apiKeysCreate>

export function newKeyPage(options: PagesContext): Endpoint[] {
  const { publicUrl } = options
  return dashboardPage(options, {
    path: newPath,
    entry: keysPath,
    show: async ({ session }) =>
      session.role === 'owner'
        ? formView({ ...firstForm, key: randomUUID() })
        : refuse('owner_required'),
    actions: {
      async create({ perform, session }, fields) {
        if (session.role !== 'owner') return refuse('owner_required')
        const form = formOf(fields)
        const { name, environment, chosen, validDays, networks, key } = form
        const allowedFrom = networks.split(/[\s,]+/).filter((network) => network !== '')
        const { accountId: account } = session
        const input = {
          account,
          name,
          environment,
          scopes: chosen,
          ...(validDays === '' ? {} : { validDays: Number(validDays) }),
          ...(allowedFrom.length === 0 ? {} : { allowedFrom }),
        }
        const created = await perform(apiKeysCreate, input as KeyInput, {
          idempotencyKey: key,
        })
        if ('refusal' in created) {
          if (created.refusal === 'invalid_field')
            return { ...formView(form, errorsOf(created.message)), status: 400 }
          // A form that is sent twice, perhaps changed meanwhile, has created one key.
          if (created.refusal.startsWith('idempotency_key_'))
            return createdBefore(formKeyId(account, key))
          if (created.refusal === 'account_not_found') return { redirectTo: '/sign-in' }
          if (created.refusal !== 'api_keys_maximum') return created
          const tooMany = `The account has ${activeKeysMax} valid keys, which is the maximum. Revoke one first.`
          return { ...formView(form, { form: tooMany }), status: 409 }
        }
        return {
          title: 'Your API key',
          status: 201,
          main: keyOnce({ title: 'Your API key', key: created.output.key, publicUrl }),
        }
      },
    },
  })
}

/** The answer to a form that is sent again: the database has only a digest of its key. */
function createdBefore(id: string): View {
  return {
    title: 'The key was created before',
    status: 409,
    head: { above },
    main: html`${result(
      'warning',
      'This form was sent twice. It created one key.',
      html`A key is shown only once. If you did not store it, <a href="${keysPath}/${id}">rotate or revoke it</a>.`,
    )}
<div class="row"><a class="button primary" href="${newPath}">Create another key</a><a class="button" href="${keysPath}">See your keys</a></div>`,
  }
}

/** Shows a key once, with a call that uses it. */
function keyOnce(
  { title, key, publicUrl }: Record<'title' | 'key' | 'publicUrl', string>,
  more: Part = '',
): Part {
  return secretOnce({
    title,
    label: 'API key',
    value: key,
    text: html`It works from now on. Send it as <code>Authorization: Bearer</code>, never in a URL.${more}`,
    more: code({
      id: 'curl',
      label: 'Your first call',
      text: `curl '${publicUrl}/api/v1/candidates/search?q=typescript' \\\n  -H 'Authorization: Bearer ${key}'`,
      isWrapped: true,
    }),
    done: keysPath,
  })
}

interface Form {
  name: string
  environment: string
  chosen: readonly string[]
  validDays: string
  networks: string
  /** A form that is sent twice creates one key. */
  key: string
}

const firstForm: Omit<Form, 'key'> = {
  name: '',
  environment: 'test',
  chosen: ['candidates:read', 'scores:read'],
  validDays: '90',
  networks: '',
}

function formOf(fields: Fields): Form {
  const { name = '', environment = '', validDays = '', networks = '', key = '' } = fields
  const isTerm = terms.some(({ value }) => value === validDays)
  return {
    name: name.trim(),
    environment,
    chosen: chosenBoxes(fields, 'scopes'),
    validDays: isTerm ? validDays : '90',
    networks,
    key: keyForm.test(key) ? key : randomUUID(),
  }
}

/** `fault` begins with the name of its field. */
function errorsOf(fault = ''): FieldErrors {
  const [, field = ''] = /^(\w+)/.exec(fault) ?? []
  if (fault?.startsWith('scopes: ')) return { scopes: fault.slice('scopes: '.length) }
  if (field === 'scopes') return { scopes: 'Choose at least one scope.' }
  if (field === 'environment') return { environment: 'Choose test or live.' }
  if (field === 'allowedFrom')
    return { networks: 'Enter networks such as 192.0.2.0/24 or 2001:db8::/32, at most 20.' }
  return { name: `Enter a name of 1 to ${keyNameLengthMax} characters.` }
}

function formView(form: Form, errors: FieldErrors = {}): View {
  const { name, environment, chosen, validDays, networks, key } = form
  const isRefused = Object.keys(errors).length > 0
  return {
    title: isRefused ? 'Error: create key' : 'Create key',
    head: { title: 'Create key', above },
    main: html`<section class="card form-card" aria-label="API key"><form class="card-body stack" method="post" action="${newPath}" novalidate>
${formErrors('The key was not created.', errors)}${hidden('do', 'create')}${hidden('key', key)}
${textField({
  name: 'name',
  label: 'Name',
  value: name,
  isRequired: true,
  lengthMax: keyNameLengthMax,
  error: errors.name,
  help: 'The program that will use the key, for example payroll-sync.',
})}
${choicesField({
  name: 'environment',
  label: 'Environment',
  kind: 'radio',
  chosen: [environment],
  error: errors.environment,
  choices: [
    { value: 'test', label: 'Test', help: 'Reads fictional candidates. Costs nothing.' },
    { value: 'live', label: 'Live', help: 'Reads real candidates. Reads cost credits.' },
  ],
})}
${choicesField({
  name: 'scopes',
  label: 'Scopes',
  kind: 'box',
  chosen,
  error: errors.scopes,
  choices: scopes.map((scope) => ({
    value: scope,
    label: html`<code>${scope}</code>`,
    help: scopeTexts[scope],
  })),
})}
${selectField({ name: 'validDays', label: 'Valid for', value: validDays, choices: terms })}
${textField({
  name: 'networks',
  label: 'Networks (optional)',
  value: networks,
  error: errors.networks,
  help: 'The key is refused from any other address. Separate networks by spaces.',
})}
<div class="row">${submit({ label: 'Create key', kind: 'primary' })}<a class="button quiet" href="${keysPath}">Cancel</a></div>
</form></section>`,
  }
}
