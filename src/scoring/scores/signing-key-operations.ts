/** The operations on signing keys. */
import { Type } from 'typebox'
import { findKeys } from '../../credentials/api.ts'
import {
  createSigningKey,
  revokeSigningKey,
  rotateSigningKeys,
} from '../../credentials/rotate-keys.ts'
import { keyStates } from '../../credentials/trust.ts'
import { flagField, orNull, time } from '../../operations/fields.ts'
import { changed, operationsFor, unchanged } from '../../operations/operation.ts'
import { refuse } from '../../platform/errors.ts'
import { closedObject, listOf } from '../../platform/json/closed-object.ts'

const { read, change } = operationsFor<object>()

export const kidField = Type.String({
  pattern: '(?:^|#)z6Mk[1-9A-HJ-NP-Za-km-z]{44}$',
  description: 'must be the id of a signing key, which begins with z6Mk',
  oneSpelling: (text: string) => text.slice(text.indexOf('#') + 1),
  'x-shown-by': 'keys list',
})
export const exampleKid = `z6Mk${'A'.repeat(44)}`

export const keysCreate = change({
  name: 'keys create',
  http: 'POST /keys',
  summary: 'Register a key; the first one signs at once',
  who: { operator: 'admin' },
  input: { kid: kidField },
  output: closedObject({ kid: Type.String(), state: Type.Enum([...keyStates]) }),
  example: { kid: exampleKid },
  audit: 'keys.created',
  async run(tx, { kid }, { now }) {
    const { key, isNew } = await createSigningKey(tx, kid, now)
    const { state } = key
    if (!isNew || (state !== 'active' && state !== 'pending')) return unchanged({ kid, state })
    return changed({ kid, state }, { subjects: [kid], details: { state } })
  },
})

export const keysRotate = change({
  name: 'keys rotate',
  http: 'POST /keys/rotate',
  summary: 'Sign with the oldest pending key from now on, and retire the active one',
  who: { operator: 'admin' },
  input: { now: flagField('do not wait until caches know the new key') },
  output: closedObject({
    active: Type.String(),
    retired: orNull(Type.String(), 'Null if no key was active.'),
  }),
  refusals: ['signing_key_not_pending', 'signing_key_too_new'],
  example: { now: false },
  audit: 'keys.rotated',
  async run(tx, { now: atOnce }, { now }) {
    const rotated = await rotateSigningKeys(tx, { atOnce, now })
    if ('refusal' in rotated) return rotated
    const { active, retired } = rotated
    const subjects = retired === null ? [active] : [active, retired]
    return changed({ active, retired }, { subjects, details: { active, retired, atOnce } })
  },
})

export const keysRevoke = change({
  name: 'keys revoke',
  http: 'POST /keys/{kid}/revoke',
  summary: 'Revoke a compromised key for ever: everything that it signed becomes invalid',
  who: { operator: 'admin' },
  path: { kid: kidField },
  input: { keepCredentials: flagField('do not revoke the credentials that the key signed') },
  output: closedObject({ kid: Type.String(), result: Type.Enum(['revoked', 'before']) }),
  refusals: ['signing_key_not_found'],
  example: { kid: exampleKid, keepCredentials: false },
  audit: 'keys.revoked',
  danger: 'Every credential that the key signed becomes invalid.',
  async run(tx, { kid, keepCredentials }, { now }) {
    if (!(await revokeSigningKey(tx, kid, { keepCredentials, now }))) {
      if ((await findKeys(tx)).some((key) => key.kid === kid))
        return unchanged({ kid, result: 'before' })
      return refuse('signing_key_not_found', { message: `No signing key has the id ${kid}.` })
    }
    const details = { credentials: keepCredentials ? 'kept' : 'revoked' } as const
    return changed({ kid, result: 'revoked' }, { subjects: [kid], details })
  },
})

const stateTime = orNull(time, 'Null before.')

/** The command of this name also looks for the file of each key. */
export const keysList = read({
  name: 'keys list',
  http: 'GET /keys',
  summary: 'List the signing keys',
  who: { operator: 'viewer' },
  output: closedObject({
    keys: listOf({
      kid: Type.String(),
      state: Type.Enum([...keyStates]),
      createdAt: time,
      activatedAt: stateTime,
      retiredAt: stateTime,
      revokedAt: stateTime,
      credentialsRevokedAt: stateTime,
    }),
  }),
  none: 'There is no signing key yet. Run `assay keys create`.',
  columns: {
    kid: 'kid',
    state: 'state',
    since: ({ createdAt, activatedAt, retiredAt, revokedAt }) =>
      revokedAt ?? retiredAt ?? activatedAt ?? createdAt,
  },
  run: async (db) => ({ keys: await findKeys(db) }),
})

/** `keys create` is of the command line alone, which makes the file of the key. */
export const keyOperations = [keysList, keysRotate, keysRevoke] as const
