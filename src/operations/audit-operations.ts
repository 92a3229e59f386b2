/** The operations on the audit log. They only read: `perform` writes the log. */
import { Type } from 'typebox'
import { actionNames } from '../audit/actions.ts'
import { findEntries } from '../audit/api.ts'
import { verifyLog } from '../audit/record.ts'
import { counted } from '../platform/counted.ts'
import { closedObject } from '../platform/json/closed-object.ts'
import { visible } from '../platform/visible.ts'
import { afterRow, limitField, nextField, orNull, pageOf, time, timeField } from './fields.ts'
import { operationsFor } from './operation.ts'

const { read } = operationsFor<object>()

const digest = Type.String({ pattern: '^[0-9a-f]{64}$' })

export const auditVerify = read({
  name: 'audit verify',
  http: 'GET /audit/verification',
  summary: 'Check that the audit log is whole',
  who: { operator: 'viewer' },
  input: {
    expect: Type.Optional(
      Type.String({
        pattern: '^[0-9a-f]{64}$',
        description: 'must be 64 hex characters',
        'x-help': 'the head that an earlier run printed: finds a log cut off',
        oneSpelling: (hex: string) => hex.toLowerCase(),
      }),
    ),
  },
  output: closedObject({
    broken: Type.Optional(closedObject({ seq: Type.Integer(), reason: Type.String() })),
    entries: Type.Optional(Type.Integer({ description: 'Present if the log is whole.' })),
    head: Type.Optional(digest),
    since: Type.Optional(
      orNull(Type.Integer(), 'Entries after the expected one; null if none was expected.'),
    ),
  }),
  finding: 'broken',
  renderLines({ broken, entries = 0, head = '', since = null }) {
    if (broken !== undefined)
      return [
        `BROKEN at entry ${broken.seq}: ${broken.reason}.`,
        'The entries before it are as they were written. Nothing is certain from there on.',
      ]
    return [
      `whole: ${counted(entries, 'entry', 'entries')}`,
      `head ${head}`,
      since === null
        ? 'Keep the head elsewhere: with `--expect` you find out later whether entries were cut off.'
        : `The expected entry is there, ${since} came after it.`,
    ]
  },
  async run(db, { expect: expected = null }) {
    const verification = await verifyLog(db, { expected })
    if (!verification.whole) return { broken: verification.broken }
    const { head, since } = verification
    return { entries: head.seq, head: head.hash, since }
  },
})

/** An entry as its hash was made over it: `subjects` and `details` are canonical JSON. */
const entry = closedObject({
  seq: Type.Integer(),
  at: time,
  actor: Type.String(),
  action: Type.String(),
  subjects: Type.String(),
  details: Type.String(),
  prevHash: digest,
  hash: digest,
})

export const auditList = read({
  name: 'audit list',
  http: 'GET /audit',
  summary: 'Show the audit log, the newest first',
  who: { operator: 'viewer' },
  input: {
    since: Type.Optional(timeField('a day or a time in UTC')),
    action: Type.Optional(
      Type.Enum([...actionNames], { description: 'one action, such as keys.rotated' }),
    ),
    limit: { ...limitField, default: 50 },
    after: afterRow('^[1-9][0-9]{0,14}$'),
  },
  output: closedObject({ entries: Type.Array(entry), next: nextField }),
  example: { action: 'keys.rotated', since: '2026-05-14', limit: 50 },
  none: 'No entry matches.',
  columns: {
    seq: 'seq',
    time: 'at',
    actor: ({ actor }) => visible(actor),
    action: 'action',
    details: ({ details }) => visible(details),
    subjects: ({ subjects }) => shortened(visible(subjects)),
  },
  async run(db, { since = null, action = null, limit, after }) {
    const before = after === undefined ? null : Number(after)
    const found = await findEntries(db, { since, action, before, limit: limit + 1 })
    const { rows, next } = pageOf(found, limit, ({ seq }) => String(seq))
    return { entries: rows, next }
  },
})

const subjectsLengthMax = 160

/** An import has 256 subjects an entry. */
function shortened(subjects: string): string {
  return subjects.length > subjectsLengthMax
    ? `${subjects.slice(0, subjectsLengthMax)}… (--json shows all)`
    : subjects
}

export const auditOperations = [auditVerify, auditList] as const
