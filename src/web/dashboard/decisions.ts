/** The pages of agent decision reports: the list, one report, and the state of the lock. */
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import type { Endpoint } from '../../edge/http/endpoint.ts'
import { uuidParameter } from '../../edge/http/fields.ts'
import { cursorOf, cursorParameter, uuidOfCursor } from '../../edge/http/page.ts'
import { refuse } from '../../platform/errors.ts'
import {
  findOpenReview,
  findReportOf,
  findReportsOf,
  findState,
  type ReportRow,
  type UnlockReview,
} from '../../reports/api.ts'
import { reportsRequestReview } from '../../reports/operations.ts'
import {
  card,
  code,
  empty,
  facts,
  hidden,
  idValue,
  none,
  notice,
  pagination,
  submit,
  table,
  textField,
} from '../components.ts'
import { type Html, html, type Part } from '../html.ts'
import { dashboardPage, type PagesContext, queryText } from '../page.ts'
import { counted, shortId, timeTag } from '../text.ts'

const path = '/dashboard/decisions'
const pageLength = 20
const noteLengthMax = 1_000

export function decisionsPages(options: PagesContext): Endpoint[] {
  return [...listPage(options), ...reportPage(options)]
}

const cursorShape = Compile(cursorParameter)

function listPage(options: PagesContext): Endpoint[] {
  const { db, publicUrl, services } = options
  return dashboardPage(options, {
    path,
    results: {
      positive: {
        requested: 'The review is requested. The operator of this service approves or declines it.',
      },
      info: { unlocked: 'Agent reporting is not locked.' },
    },
    queryParameters: Type.Object({ before: queryText }),
    async show({ session: { accountId }, query, now }) {
      const before =
        query.before !== undefined && cursorShape.Check(query.before)
          ? uuidOfCursor(query.before)
          : null
      const [rows, state, review] = await Promise.all([
        findReportsOf(db, accountId, { before, limit: pageLength + 1 }),
        findState(db, accountId),
        findOpenReview(db, accountId),
      ])
      const isLocked = (state ?? services.reports.defaultState) === 'locked'
      const reports = rows.slice(0, pageLength)
      const last = rows.length > pageLength ? reports.at(-1) : undefined
      return {
        title: 'Agent decisions',
        head: {
          text: 'What your agents reported about candidates. Reports are private and change no score.',
        },
        main: html`${isLocked && lockCard(review, now)}
${card({
  title: 'Reports',
  isFlush: true,
  body: html`${reports.length === 0 ? nothingYet(publicUrl, isLocked) : reportTable(reports, now)}${pagination(
    {
      summary: before === null ? counted(reports.length, 'newest report') : 'Older reports',
      newer: before !== null && path,
      older: last !== undefined && `${path}?before=${cursorOf(last.id)}`,
    },
  )}`,
})}`,
      }
    },
    actions: {
      async unlock({ perform, session }, { note = '' }) {
        const text = note.trim().slice(0, noteLengthMax)
        const input = { account: session.accountId, ...(text !== '' && { note: text }) }
        const requested = await perform(reportsRequestReview, input)
        if (!('refusal' in requested)) return { redirectTo: `${path}?done=requested` }
        return requested.refusal === 'agent_reporting_unlocked'
          ? { redirectTo: `${path}?done=unlocked` }
          : requested
      },
    },
  })
}

function lockCard(review: UnlockReview | undefined, now: Date): Html {
  const warning = notice({
    tone: 'warning',
    title: 'The operator has locked agent reporting for this account.',
    text:
      review === undefined
        ? 'New reports are answered with 403. Reports that were made stay here.'
        : html`A review was requested ${timeTag(review.requestedAt, now)}. New reports are answered with 403 until the operator has decided.`,
  })
  if (review !== undefined) return warning
  return html`${warning}${card({
    title: 'Request a review',
    body: html`<form class="stack" method="post" action="${path}">${hidden('do', 'unlock')}${textField({ name: 'note', label: 'Note to the operator (optional)', isLong: true, lengthMax: noteLengthMax, help: 'Say what you have changed.' })}<div class="row">${submit({ label: 'Request review', kind: 'primary' })}</div></form>`,
  })}`
}

function nothingYet(publicUrl: string, isLocked: boolean): Html {
  return html`${empty({
    icon: 'scale',
    title: 'No report yet',
    text: html`An agent that decides about a candidate reports it with a live key and the scope <code>agent-decisions:write</code>.`,
  })}${
    !isLocked &&
    html`<div class="card-body">${code({
      id: 'report',
      label: 'Report a decision',
      text: `curl '${publicUrl}/api/v1/agent-decisions' \\\n  -H 'Authorization: Bearer svc_live_…' \\\n  -H 'Content-Type: application/json' \\\n  -H "Idempotency-Key: $(uuidgen)" \\\n  --data '{"subject":{"kind":"candidate","username":"ada-lovelace"},"decision":"shortlisted"}'`,
    })}</div>`
  }`
}

function subjectText({ subject }: ReportRow): Part {
  return subject.kind === 'candidate'
    ? `@${subject.username}`
    : html`<span class="mono" title="${subject.scoreId}">${shortId(subject.scoreId)}</span>`
}

function word(text: string): string {
  return text.replaceAll('_', ' ').replace(/^./, (first) => first.toUpperCase())
}

function reportTable(rows: readonly ReportRow[], now: Date): Html {
  return table<ReportRow>({
    label: 'Reports',
    rows,
    columns: [
      {
        head: 'Decision',
        cell: (row) =>
          html`<a class="strong" href="${path}/${row.id}">${word(row.decision)}</a><span class="sub narrow-only break">${subjectText(row)} · ${timeTag(row.createdAt, now)}</span>`,
      },
      { head: 'About', priority: 2, cell: subjectText },
      { head: 'Outcome', priority: 2, cell: ({ outcome }) => word(outcome) },
      {
        head: 'Agent',
        priority: 3,
        cell: ({ agentName, agentVersion }) =>
          agentName === null
            ? none
            : html`<span class="break" dir="auto">${agentName}${agentVersion !== null && ` ${agentVersion}`}</span>`,
      },
      {
        head: 'Reported',
        priority: 2,
        isNumber: true,
        cell: ({ createdAt }) => timeTag(createdAt, now),
      },
    ],
  })
}

function reportPage(options: PagesContext): Endpoint[] {
  return dashboardPage(options, {
    path: `${path}/{reportId}`,
    entry: path,
    pathParameters: Type.Object({
      reportId: uuidParameter('The id of a report: a UUID.'),
    }),
    async show({ session: { accountId: userId }, path: { reportId: id }, now }) {
      const report = await findReportOf(options.db, { userId, id })
      if (report === undefined)
        return refuse('not_found', { message: 'This account has no such report.' })
      const { agentName, agentVersion, jobRef, reasonCodes, notes, apiKeyId, metadata } = report
      return {
        title: `Report ${id}`,
        head: {
          title: html`${word(report.decision)}: ${subjectText(report)}`,
          text: html`Reported ${timeTag(report.createdAt, now)}`,
          above: [{ title: 'Agent decisions', url: path }],
        },
        main: html`${card({
          title: 'Report',
          body: facts(
            [
              { label: 'Decision', value: html`<code>${report.decision}</code>` },
              { label: 'Outcome', value: html`<code>${report.outcome}</code>` },
              {
                label: 'Reasons',
                value:
                  reasonCodes.length === 0
                    ? none
                    : html`<span class="row">${reasonCodes.map((reason) => html`<span class="tag"><code>${reason}</code></span>`)}</span>`,
              },
              {
                label: 'Notes',
                value: notes === null ? none : html`<p dir="auto">${notes}</p>`,
                isWide: true,
              },
              {
                label: 'Agent',
                value: agentName === null ? none : html`<bdi>${agentName}</bdi> ${agentVersion}`,
              },
              { label: 'Job', value: jobRef === null ? none : html`<bdi>${jobRef}</bdi>` },
              {
                label: 'API key',
                value:
                  apiKeyId === null
                    ? none
                    : html`<a class="mono" href="/dashboard/keys/${apiKeyId}">${apiKeyId}</a>`,
              },
              { label: 'Report ID', value: idValue('report-id', id), isWide: true },
            ],
            'columns',
          ),
        })}
${Object.keys(metadata).length > 0 && code({ id: 'metadata', label: 'Metadata', text: JSON.stringify(metadata, null, 2), language: 'json' })}`,
      }
    },
  })
}
