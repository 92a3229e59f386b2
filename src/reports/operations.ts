/** The operations on reports of agent decisions, and on the accounts that may send them (D43). */
import { Type } from 'typebox'
import { schemaVersion } from '../edge/http/identifiers.ts'
import {
  type AccountServices,
  accountField,
  afterField,
  limitField,
  listOwner,
  nextField,
  orNull,
  ownerNamed,
  pageOf,
  time,
  withAccounts,
} from '../operations/fields.ts'
import { changed, operationsFor, unchanged } from '../operations/operation.ts'
import { counted } from '../platform/counted.ts'
import { refuse } from '../platform/errors.ts'
import { closedObject, listOf } from '../platform/json/closed-object.ts'
import { usernameField } from '../workers/username.ts'
import { agentDecisionReport, notesText } from './schema.ts'
import { eraseReportsAbout, findReports, findReportsOf, type ReportingState } from './store.ts'
import {
  declineUnlockReview,
  findOpenReviews,
  lockReporting,
  requestUnlockReview,
  unlockReporting,
} from './unlock.ts'

export interface ReportServices extends AccountServices {
  /** State of an account that the operator has neither locked nor unlocked. */
  reports: { defaultState: ReportingState }
}

const { read, change } = operationsFor<ReportServices>()

const userId = Type.String({ description: 'The id of the account.' })
const account = Type.String({ description: 'The name of the account.' })
const limit = { ...limitField, default: 50 }

const reportsList = read({
  name: 'reports list',
  http: 'GET /reports',
  summary: 'Show reports, the newest first',
  who: { operator: 'viewer' },
  input: { account: Type.Optional(accountField), limit, after: afterField },
  output: closedObject({
    reports: listOf({ ...agentDecisionReport.properties, account }),
    next: nextField,
  }),
  refusals: ['account_not_found'],
  example: { account: 'Example Ltd', limit: 50 },
  none: 'There is no such report.',
  // The notes of an account are not in the table.
  columns: {
    time: 'createdAt',
    account: 'account',
    about: ({ subject }) =>
      subject.kind === 'candidate' ? `@${subject.username}` : subject.scoreId,
    decision: 'decision',
    outcome: ({ outcome }) => outcome,
    id: 'id',
  },
  async run(db, { account: named, limit: pageRows, after = null }, context) {
    const owner = await listOwner(db, named, context)
    if (typeof owner === 'object' && 'refusal' in owner) return owner
    const page = { before: after, limit: pageRows + 1 }
    const found =
      owner === 'any' ? await findReports(db, page) : await findReportsOf(db, owner.userId, page)
    const { rows, next } = pageOf(found, pageRows, ({ id }) => id)
    const reports = await withAccounts(db, rows, context.services)
    return {
      reports: reports.map((row) => ({
        ...row,
        schemaVersion: schemaVersion('agent_decision_report'),
      })),
      next,
    }
  },
})

const reportsReviews = read({
  name: 'reports reviews',
  http: 'GET /reports/reviews',
  summary: 'Show which locked accounts request a review, the oldest request first',
  who: { operator: 'viewer' },
  input: { limit: limitField, after: afterField },
  output: closedObject({
    reviews: listOf({
      id: Type.String(),
      userId,
      account,
      requestedAt: time,
      note: orNull(Type.String(), 'Text of the account.'),
    }),
    next: nextField,
  }),
  example: { limit: 200 },
  none: 'No review is open.',
  columns: { requested: 'requestedAt', account: 'account', note: 'note' },
  async run(db, { limit: pageRows, after = null }, { services }) {
    const found = await findOpenReviews(db, { after, limit: pageRows + 1 })
    const { rows, next } = pageOf(found, pageRows, ({ id }) => id)
    return { reviews: await withAccounts(db, rows, services), next }
  },
})

const reportsUnlock = change({
  name: 'reports unlock',
  http: 'POST /accounts/{account}/reports/unlock',
  summary: 'Let a locked account report again; approves its review',
  who: { operator: 'support' },
  path: { account: accountField },
  output: closedObject({
    userId,
    account,
    reviewed: Type.Boolean({ description: 'Whether it had requested a review.' }),
    changed: Type.Boolean(),
  }),
  refusals: ['account_not_found'],
  example: { account: 'Example Ltd' },
  audit: 'agent_reporting.unlocked',
  renderLines: ({ account: name, reviewed }) => [
    reviewed
      ? `${name} may report. Its review is approved.`
      : `${name} may report. It had not requested a review.`,
  ],
  async run(tx, { account: named }, context) {
    const of = await ownerNamed(tx, named, context)
    if ('refusal' in of) return of
    const { reviewed, changed: isChanged } = await unlockReporting(tx, of.id, context.now)
    const output = { userId: of.id, account: of.name, reviewed, changed: isChanged }
    return isChanged
      ? changed(output, { subjects: [of.id], details: { reviewed } })
      : unchanged(output)
  },
})

const reportsDecline = change({
  name: 'reports decline',
  http: 'POST /accounts/{account}/reports/decline',
  summary: 'Decline the review of an account; it stays locked and may request another',
  who: { operator: 'support' },
  path: { account: accountField },
  output: closedObject({ userId, account }),
  refusals: ['account_not_found', 'unlock_review_not_found'],
  example: { account: 'Example Ltd' },
  audit: 'agent_reporting.declined',
  renderLines: ({ account: name }) => [`The review of ${name} is declined.`],
  async run(tx, { account: named }, context) {
    const of = await ownerNamed(tx, named, context)
    if ('refusal' in of) return of
    if (!(await declineUnlockReview(tx, of.id, context.now)))
      return refuse('unlock_review_not_found', { message: `${of.name} has no open review.` })
    return changed({ userId: of.id, account: of.name }, { subjects: [of.id] })
  },
})

export const reportsLock = change({
  name: 'reports lock',
  http: 'POST /accounts/{account}/reports/lock',
  summary: 'Refuse further reports of an account (403); its earlier reports stay',
  who: { operator: 'support' },
  path: { account: accountField },
  output: closedObject({ userId, account, changed: Type.Boolean() }),
  refusals: ['account_not_found'],
  example: { account: 'Example Ltd' },
  audit: 'agent_reporting.locked',
  renderLines: ({ account: name }) => [
    `${name} may not report any more. \`assay reports unlock\` ends that.`,
  ],
  async run(tx, { account: named }, context) {
    const of = await ownerNamed(tx, named, context)
    if ('refusal' in of) return of
    const isChanged = await lockReporting(tx, of.id, context.now)
    const output = { userId: of.id, account: of.name, changed: isChanged }
    return isChanged ? changed(output, { subjects: [of.id] }) : unchanged(output)
  },
})

export const reportsRequestReview = change({
  name: 'reports request-review',
  http: 'POST /accounts/{account}/reports/request-review',
  summary: 'Request a review of the lock of an account, as its members do',
  who: { operator: 'support', member: 'member' },
  path: { account: accountField },
  input: { note: Type.Optional(Type.String({ ...notesText, 'x-help': 'what has changed' })) },
  output: closedObject({
    userId,
    requestedAt: time,
    changed: Type.Boolean({ description: 'False if a review was open before.' }),
  }),
  refusals: ['account_not_found', 'agent_reporting_unlocked'],
  example: { account: 'Example Ltd', note: 'Our agent sends an Idempotency-Key now.' },
  audit: 'agent_reporting.review_requested',
  renderLines: ({ requestedAt, changed: isNew }) => [
    isNew ? 'The review is requested.' : `A review was requested before, at ${requestedAt}.`,
  ],
  async run(tx, { account: named, note = null }, context) {
    const of = await ownerNamed(tx, named, context)
    if ('refusal' in of) return of
    const { now, services } = context
    const { defaultState } = services.reports
    const requested = await requestUnlockReview(tx, { userId: of.id, defaultState, note, now })
    if ('refusal' in requested) return requested
    const { review, isNew } = requested
    const output = { userId: of.id, requestedAt: review.requestedAt, changed: isNew }
    return isNew ? changed(output, { subjects: [of.id] }) : unchanged(output)
  },
})

const reportsErase = change({
  name: 'reports erase',
  http: 'POST /reports/erase',
  summary: 'Delete every report about a worker or a score',
  who: { operator: 'admin' },
  input: {
    usernames: Type.Optional(
      Type.Array(usernameField, {
        maxItems: 1_000,
        description: 'with or without @',
        'x-flag': 'username',
      }),
    ),
    scores: Type.Optional(
      Type.Array(
        Type.String({
          pattern: '^[0-9a-f]{64}$',
          description: 'must be 64 hex characters',
          oneSpelling: (hex: string) => hex.toLowerCase(),
        }),
        { maxItems: 1_000, description: 'ids of scores', 'x-flag': 'score' },
      ),
    ),
  },
  output: closedObject({ erased: Type.Integer() }),
  refusals: ['invalid_field'],
  example: { usernames: ['ada-lovelace'] },
  audit: 'agent_reports.erased',
  danger: 'The reports of all accounts about them are deleted for ever.',
  renderLines: ({ erased }) => [`You have erased ${counted(erased, 'report')}.`],
  async run(tx, { usernames = [], scores: scoreIds = [] }) {
    if (usernames.length + scoreIds.length === 0)
      return refuse('invalid_field', {
        message: 'usernames must name a worker, or scores a score.',
      })
    const erased = await eraseReportsAbout(tx, { usernames, scoreIds })
    return erased > 0
      ? changed({ erased }, { subjects: [], details: { count: erased } })
      : unchanged({ erased })
  },
})

/** In the order of the help. */
export const reportOperations = [
  reportsList,
  reportsReviews,
  reportsRequestReview,
  reportsUnlock,
  reportsDecline,
  reportsLock,
  reportsErase,
] as const
