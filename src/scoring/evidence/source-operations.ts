/** The operations on sources. */
import { Type } from 'typebox'
import { limitField, nextField, orNull, pageOf, time } from '../../operations/fields.ts'
import { changed, operationsFor, unchanged } from '../../operations/operation.ts'
import type { Tx } from '../../platform/db/db.ts'
import { refuse } from '../../platform/errors.ts'
import { closedObject } from '../../platform/json/closed-object.ts'
import { findSources, registerSource, setSuspended } from './register-source.ts'
import { sourceLine } from './schema.ts'

const { read, change } = operationsFor<object>()

/** The id of a source in the input of an operation. */
export const sourceIdField = Type.String({
  ...sourceLine.properties.id,
  'x-shown-by': 'sources list',
})

const { id: sourceId, ...described } = sourceLine.properties
const { name, kind, group, assurance, issuer, publicKeys } = described

const source = closedObject({
  id: Type.String(),
  name: Type.String(),
  kind,
  assurance: Type.Integer({ description: 'In permille.' }),
  group: Type.String(),
  issuer: orNull(Type.String(), 'Null if it sends no Open Badges.'),
  publicKeys: Type.Array(Type.String()),
})

export const sourcesRegister = change({
  name: 'sources register',
  http: 'POST /sources/{sourceId}/register',
  summary: 'Register a source, or change how far it is trusted',
  who: { operator: 'admin' },
  path: { sourceId },
  input: {
    name: Type.String({ ...name, 'x-help': 'shown to readers of evidence' }),
    kind,
    group: Type.Optional({
      ...group,
      'x-help': 'the body behind it: sources of one group are not independent',
    }),
    assurance: Type.Optional({
      ...assurance,
      'x-help': 'in permille (default: the most that its kind allows)',
    }),
    issuer: Type.Optional({
      ...issuer,
      'x-help': 'the issuer of its Open Badges: a DID or an https URL',
    }),
    publicKeys: Type.Optional({
      ...publicKeys,
      'x-flag': 'key',
      'x-help': 'the keys that sign them: z6Mk…; a did:key is its own key',
    }),
  },
  output: closedObject({ result: Type.Enum(['registered', 'changed', 'unchanged']), source }),
  refusals: ['invalid_field'],
  example: { sourceId: 'acme', name: 'Acme Ltd', kind: 'organisation', group: 'acme' },
  audit: 'sources.registered',
  renderLines: ({ result, source: { id } }) => [`${id}: ${result}`],
  async run(tx, { sourceId: id, ...facts }, { by, now }) {
    const answer = await registerSource(tx, { id, ...facts }, { actor: by, now })
    if ('refused' in answer) {
      const { field, reason } = answer.refused
      return refuse('invalid_field', { message: `${field} ${reason}.` })
    }
    const { result } = answer
    const output = {
      result,
      source: { ...answer.source, publicKeys: [...answer.source.publicKeys] },
    }
    if (result === 'unchanged') return unchanged(output)
    const details = { registered: 0, changed: 0, [result]: 1 }
    return changed(output, { subjects: [id], details })
  },
})

const suspension = closedObject({ sourceId: Type.String(), changed: Type.Boolean() })

export const sourcesSuspend = change({
  name: 'sources suspend',
  http: 'POST /sources/{sourceId}/suspend',
  summary: 'Let the evidence of a source count for nothing until you resume it',
  who: { operator: 'admin' },
  path: { sourceId: sourceIdField },
  output: suspension,
  refusals: ['source_not_found'],
  example: { sourceId: 'acme' },
  audit: 'sources.suspended',
  when: (record) => Reflect.get(record, 'suspendedAt') === null,
  renderLines: ({ sourceId: id, changed: isChanged }) =>
    isChanged
      ? [`${id} is suspended: the scores with its evidence are computed again without it.`]
      : [`${id} was suspended before.`],
  run: (tx, { sourceId: id }, context) => suspend(tx, { sourceId: id, isSuspended: true }, context),
})

export const sourcesResume = change({
  name: 'sources resume',
  http: 'POST /sources/{sourceId}/resume',
  summary: 'Let the evidence of a suspended source count again',
  who: { operator: 'admin' },
  path: { sourceId: sourceIdField },
  output: suspension,
  refusals: ['source_not_found'],
  example: { sourceId: 'acme' },
  audit: 'sources.resumed',
  when: (record) => Reflect.get(record, 'suspendedAt') !== null,
  renderLines: ({ sourceId: id, changed: isChanged }) =>
    isChanged
      ? [`${id} counts again: the scores with its evidence are computed again.`]
      : [`${id} is not suspended.`],
  run: (tx, { sourceId: id }, context) =>
    suspend(tx, { sourceId: id, isSuspended: false }, context),
})

async function suspend(
  tx: Tx,
  wanted: { sourceId: string; isSuspended: boolean },
  { by, now }: { by: string; now: Date },
) {
  const { sourceId: id } = wanted
  const isChanged = await setSuspended(tx, wanted, { actor: by, now })
  if (typeof isChanged === 'object') return isChanged
  if (!isChanged) return unchanged({ sourceId: id, changed: false })
  return changed({ sourceId: id, changed: true }, { subjects: [id] })
}

const registered = closedObject({
  ...source.properties,
  registeredAt: time,
  changedAt: time,
  suspendedAt: orNull(time, 'Null unless the source is suspended.'),
})

const sourcesList = read({
  name: 'sources list',
  http: 'GET /sources',
  summary: 'Show every source',
  who: { operator: 'viewer' },
  input: {
    limit: limitField,
    after: Type.Optional({
      ...sourceId,
      description: 'must be the member `next` of the page before',
    }),
  },
  output: closedObject({ sources: Type.Array(registered), next: nextField }),
  example: { limit: 200 },
  none: 'There is no source yet. Run `assay sources register`.',
  columns: {
    id: 'id',
    kind: 'kind',
    assurance: ({ assurance: most, suspendedAt }) =>
      suspendedAt === null ? `${most} ‰` : `${most} ‰, suspended`,
    group: 'group',
    name: 'name',
  },
  async run(db, { limit, after = '' }) {
    const found = await findSources(db, { after, limit: limit + 1 })
    const { rows, next } = pageOf(found, limit, ({ id }) => id)
    return { sources: rows, next }
  },
})

/** `assay sources register` also reads files, so the command is written by hand. */
export const sourceOperations = [
  sourcesRegister,
  sourcesList,
  sourcesSuspend,
  sourcesResume,
] as const
