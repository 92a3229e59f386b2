/**
 * The operations on consent and identity. They stand here and not in `workers`, because each change
 * also moves credentials and scores.
 */
import { type Static, Type } from 'typebox'
import { limitField, orNull, time, timeField } from '../../operations/fields.ts'
import { changed, operationsFor, unchanged } from '../../operations/operation.ts'
import { wireTime } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db/db.ts'
import { closedObject, listOf } from '../../platform/json/closed-object.ts'
import { findConsentChanges, findIdentityChanges, findWorkerId } from '../../workers/api.ts'
import { identityStates, yearsAfter } from '../../workers/identity-state.ts'
import { permissions, textVersion } from '../../workers/schema.ts'
import { unknownWorker, usernameField } from '../../workers/username.ts'
import { changeConsent, moveIdentity } from './keep-sharing.ts'

const { read, change } = operationsFor<object>()

const username = usernameField
const permission = Type.Enum([...permissions], { description: permissions.join(', ') })
const granted = Type.Boolean()
const previousGranted = orNull(granted, 'Null if the worker had not decided before.')
const consentVersion = Type.Integer({ description: 'Rises with each change of the worker.' })

/** The members from `consentVersion` on are present if `changed` is true. */
const consentChange = closedObject({
  username: Type.String(),
  permission,
  granted,
  changed: Type.Boolean(),
  consentVersion: Type.Optional(consentVersion),
  previousGranted: Type.Optional(previousGranted),
  onboardedNow: Type.Optional(Type.Boolean()),
})

const consentGrant = change({
  name: 'consent grant',
  http: 'POST /workers/{username}/consents/{permission}/grant',
  summary: 'Record that a worker grants a permission',
  who: { operator: 'support', ingest: true },
  path: { username, permission },
  input: {
    textVersion: Type.String({
      ...textVersion,
      default: '1',
      'x-help': 'of the text that the worker agreed to',
    }),
  },
  output: consentChange,
  refusals: ['worker_not_found'],
  example: { username: 'ada-lovelace', permission: 'score_sharing', textVersion: '2026-05' },
  audit: 'consent.granted',
  renderLines: consentLines,
  run: (tx, { username: of, ...input }, context) => setConsent(tx, of, input, context),
})

const consentWithdraw = change({
  name: 'consent withdraw',
  http: 'POST /workers/{username}/consents/{permission}/withdraw',
  summary: 'Record that a worker withdraws a permission',
  who: { operator: 'support', ingest: true },
  path: { username, permission },
  output: consentChange,
  refusals: ['worker_not_found'],
  example: { username: 'ada-lovelace', permission: 'score_sharing' },
  audit: 'consent.withdrawn',
  renderLines: consentLines,
  run: (tx, { username: of, permission: withdrawn }, context) =>
    setConsent(tx, of, { permission: withdrawn, textVersion: null }, context),
})

type Attributed = { by: string; now: Date }

async function setConsent(
  tx: Tx,
  of: string,
  request: { permission: (typeof permissions)[number]; textVersion: string | null },
  { by, now }: Attributed,
) {
  const recorded = await changeConsent(tx, of, { ...request, by, at: now })
  if ('refusal' in recorded) return recorded
  const { change: made, onboardedNow } = recorded
  const { permission: of1 } = request
  const asked = { username: of, permission: of1, granted: request.textVersion !== null }
  if (made === null) return unchanged({ ...asked, changed: false })
  const output = {
    ...asked,
    changed: true,
    consentVersion: made.consentVersion,
    previousGranted: made.previousGranted,
    onboardedNow,
  }
  return changed(output, { subjects: [made.workerId], details: { permission: of1 } })
}

function consentLines(output: Static<typeof consentChange>): string[] {
  const { username: of, permission: about, onboardedNow = false } = output
  if (!output.changed) return [`${of}: ${about} is so already.`]
  const word = output.granted ? 'granted' : 'withdrawn'
  return [
    `${of}: ${about} ${word} (consent version ${output.consentVersion})`,
    ...(onboardedNow ? [`${of} is onboarded now.`] : []),
  ]
}

const consentHistory = read({
  name: 'consent history',
  http: 'GET /workers/{username}/consents',
  summary: 'Show the changes of consent of a worker, the newest first',
  who: { operator: 'viewer' },
  path: { username },
  input: { limit: limitField },
  output: closedObject({
    changes: listOf({
      permission,
      granted,
      previousGranted,
      textVersion: orNull(Type.String(), 'Null if the permission was withdrawn.'),
      consentVersion,
      by: Type.String(),
      effectiveAt: time,
    }),
  }),
  refusals: ['worker_not_found'],
  example: { username: 'ada-lovelace', limit: 200 },
  none: 'The worker has decided on no permission yet.',
  columns: {
    time: 'effectiveAt',
    permission: 'permission',
    change: ({ granted: isGranted }) => (isGranted ? 'granted' : 'withdrawn'),
    text: 'textVersion',
    by: 'by',
    version: 'consentVersion',
  },
  async run(db, { username: of, limit }) {
    const workerId = await findWorkerId(db, of)
    if (workerId === null) return unknownWorker(of)
    return { changes: await findConsentChanges(db, workerId, limit) }
  },
})

const identityState = Type.Enum([...identityStates])

/** `from` and `verifiedUntil` are present if `changed` is true. */
const identityChange = closedObject({
  username: Type.String(),
  changed: Type.Boolean(),
  from: Type.Optional(identityState),
  identity: identityState,
  verifiedUntil: Type.Optional(orNull(time)),
})

const identityVerify = change({
  name: 'identity verify',
  http: 'POST /workers/{username}/identity/verify',
  summary: 'Record that you have checked the identity of a worker',
  who: { operator: 'support', ingest: true },
  path: { username },
  input: {
    until: Type.Optional(timeField('the check counts before this day or time (default: a year)')),
  },
  output: identityChange,
  refusals: ['worker_not_found', 'identity_state', 'invalid_field'],
  example: { username: 'ada-lovelace', until: '2027-05-14T00:00:00Z' },
  audit: 'identity.verified',
  renderLines: identityLines,
  run: (tx, { username: of, until }, context) => {
    const end = until === undefined ? yearsAfter(context.now, 1) : new Date(until)
    return setIdentity(tx, of, { move: 'verify', until: end }, context)
  },
})

const identityRevoke = change({
  name: 'identity revoke',
  http: 'POST /workers/{username}/identity/revoke',
  summary: 'Record that an identity check does not count any more',
  who: { operator: 'support', ingest: true },
  path: { username },
  output: identityChange,
  refusals: ['worker_not_found', 'identity_state', 'invalid_field'],
  example: { username: 'ada-lovelace' },
  audit: 'identity.revoked',
  renderLines: identityLines,
  run: (tx, { username: of }, context) => setIdentity(tx, of, { move: 'revoke' }, context),
})

async function setIdentity(
  tx: Tx,
  of: string,
  move: { move: 'verify'; until: Date } | { move: 'revoke' },
  { by, now }: Attributed,
) {
  const workerId = await findWorkerId(tx, of)
  if (workerId === null) return unknownWorker(of)
  const moved = await moveIdentity(tx, { ...move, workerId }, { by, at: now })
  if ('refusal' in moved) return moved
  const { from, to } = moved
  if (to === null) return unchanged({ username: of, changed: false, identity: from })
  const verifiedUntil = move.move === 'verify' ? wireTime(move.until) : null
  const output = { username: of, changed: true, from, identity: to, verifiedUntil }
  return changed(output, { subjects: [workerId] })
}

function identityLines(output: Static<typeof identityChange>): string[] {
  const { username: of, from, identity, verifiedUntil } = output
  if (!output.changed) return [`${of}: nothing to change, the identity is ${identity}`]
  const until = verifiedUntil == null ? '' : ` until ${verifiedUntil}`
  return [`${of}: identity ${identity}${until} (it was ${from})`]
}

const identityHistory = read({
  name: 'identity history',
  http: 'GET /workers/{username}/identity',
  summary: 'Show the identity checks of a worker, the newest first',
  who: { operator: 'viewer' },
  path: { username },
  input: { limit: limitField },
  output: closedObject({
    changes: listOf({
      state: Type.Enum(['pending', 'verified', 'revoked']),
      verifiedUntil: orNull(time, 'Null unless the state is verified.'),
      by: Type.String(),
      changedAt: time,
    }),
  }),
  refusals: ['worker_not_found'],
  example: { username: 'ada-lovelace', limit: 200 },
  none: 'The identity of the worker was not checked yet.',
  columns: { time: 'changedAt', state: 'state', until: 'verifiedUntil', by: 'by' },
  async run(db, { username: of, limit }) {
    const workerId = await findWorkerId(db, of)
    if (workerId === null) return unknownWorker(of)
    return { changes: await findIdentityChanges(db, workerId, limit) }
  },
})

export const consentOperations = [consentGrant, consentWithdraw, consentHistory] as const

export const identityOperations = [identityVerify, identityRevoke, identityHistory] as const
