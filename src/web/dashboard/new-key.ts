/** The page on which an API key is created. The key is the answer to the form. */
import { randomUUID } from 'node:crypto'
import { apiKeysCreate } from '../../accounts/access/api-key-operations.ts'
import { activeKeysMax, formKeyId } from '../../accounts/access/manage.ts'
import { keyNameLengthMax } from '../../accounts/access/schema.ts'
import { type Scope, scopes } from '../../edge/http/callers.ts'
import { idempotencyKeyPattern } from '../../edge/http/contract.ts'
import type { Endpoint } from '../../edge/http/endpoint.ts'
import type { InputOf } from '../../operations/perform.ts'
import { refuse } from '../../platform/errors.ts'
import {
  choicesField,
  chosenBoxes,
  code,
  type FieldErrors,
  formErrors,
  hidden,
  pageHead,
  result,
  secretOnce,
  selectField,
  submit,
  textField,
} from '../components.ts'
import { html, type Part } from '../html.ts'
import { dashboardPage, type Fields, type PagesContext, type View } from '../page.ts'
import { keysPath } from './keys.ts'

const path = `${keysPath}/new`
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
    name: 'newKeyPage',
    path,
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
          main: keyOnce({ title: 'Your API key', key: created.output.key, publicUrl, more: '' }),
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
    main: html`${pageHead({
      title: 'The key was created before',
      above: [{ title: 'API keys', url: keysPath }],
    })}
${result(
  'warning',
  'This form was sent twice. It created one key.',
  html`A key is shown only once. If you did not store it, <a href="${keysPath}/${id}">rotate or revoke it</a>.`,
)}
<div class="row"><a class="button primary" href="${path}">Create another key</a><a class="button" href="${keysPath}">See your keys</a></div>`,
  }
}

/** Shows a key once, with a call that uses it. */
export function keyOnce({
  title,
  key,
  publicUrl,
  more,
}: {
  title: string
  key: string
  publicUrl: string
  more: Part
}): Part {
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
    main: html`${pageHead({ title: 'Create key', above: [{ title: 'API keys', url: keysPath }] })}
<section class="card form-card" aria-label="API key"><form class="card-body stack" method="post" action="${path}" novalidate>
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
