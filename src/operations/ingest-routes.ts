/**
 * Routes of the operator API that take lines, made from the declarations of bulk inputs. The lines
 * are applied while they arrive, and rejected ones are answered meanwhile.
 */
import { Type } from 'typebox'
import { csvType, linesType, type Operation as Route } from '../edge/http/contract.ts'
import type { Answer, Endpoint } from '../edge/http/endpoint.ts'
import type { LineStream, LinesBody } from '../edge/http/lines.ts'
import { deadlineMs } from '../platform/deadlines.ts'
import { type ErrorName, refuse, UnavailableError } from '../platform/errors.ts'
import { closedObject } from '../platform/json/closed-object.ts'
import {
  type AnyIngest,
  ingestLines,
  type OpenedLines,
  openLines,
  type ReportBatch,
  type Tally,
} from './ingest.ts'
import {
  bulkRoute,
  commonErrors,
  errorResponses,
  type OperatorRequest,
  operatorOf,
  queryFault,
  wasDryRun,
} from './operator-routes.ts'
import { type OperationCaller, type Performer, whyForbidden } from './perform.ts'
import { rollingBack } from './rolling-back.ts'

/** Bytes of a body: some four million items of evidence. */
const bytesMax = 1_073_741_824
/** Bodies that one process reads at once. */
const streamsMax = 2
/** Milliseconds between two lines of progress. */
const progressMs = 1_000

/** Returns the route of a bulk input. */
export function ingestRoute<Services>(ingest: AnyIngest<Services>): Route {
  const { line, results, example } = ingest
  const errors: readonly ErrorName[] = [
    ...commonErrors,
    'invalid_parameter',
    'invalid_field',
    'payload_too_large',
    'unsupported_media_type',
    'request_timeout',
  ]
  return {
    ...bulkRoute(
      ingest,
      'The body has one JSON object a line, or CSV with a header line. It may have 1 GiB, and is applied while it arrives. The answer is JSON in lines, sent meanwhile: one for each rejected line, one with the numbers so far after a batch, at most once a second, and the last one with `done`, or with `error` if the request broke off. Each line is applied or rejected by itself; repeating a request is right, because an applied line changes nothing. A worker is scored once, after the last line.',
    ),
    body: {
      mediaTypes: [linesType, csvType],
      schema: line,
      bytesMax,
      ambiguousReachesHandler: false,
      examples: { example },
    },
    responses: {
      200: {
        description: 'The lines are being applied.',
        schema: answerLine(results),
        contentType: linesType,
      },
      ...errorResponses(errors),
    },
  }
}

function answerLine(results: readonly string[]) {
  const count = Type.Integer({ minimum: 0 })
  const counts = {
    lines: count,
    ...Object.fromEntries(results.map((result) => [result, count])),
    rejected: count,
  }
  const lineNumber = Type.Integer({ minimum: 1, description: 'Counted from 1.' })
  return Type.Union([
    closedObject(
      {
        line: lineNumber,
        field: Type.Union([Type.String(), Type.Null()], { description: 'Null: the whole line.' }),
        reason: Type.String(),
      },
      { title: 'RejectedLine' },
    ),
    closedObject(counts),
    closedObject({
      done: Type.Literal(true, { description: 'All lines were read.' }),
      dryRun: wasDryRun,
      ...counts,
      unnamed: Type.Optional(
        Type.Integer({
          minimum: 1,
          description:
            'Rejected lines that got no line of the answer, because too many waited for the reader.',
        }),
      ),
    }),
    closedObject(
      {
        error: Type.String({ description: 'Why the request broke off.' }),
        message: Type.String(),
        appliedThrough: Type.Integer({
          minimum: 0,
          description: 'Lines up to this number were applied or rejected. Send all of them again.',
        }),
      },
      { title: 'BrokenLines' },
    ),
  ])
}

export function ingestEndpoints<Services>(
  ingests: readonly AnyIngest<Services>[],
  performer: Performer<Services>,
): Endpoint[] {
  const open = new Set<object>()
  return ingests.map((ingest) => ({
    ...ingestRoute(ingest),
    answer: (request) => answerIngest(performer, ingest, open, request as OperatorRequest),
  }))
}

async function answerIngest<Services>(
  performer: Performer<Services>,
  ingest: AnyIngest<Services>,
  open: Set<object>,
  { query, body, caller, requestId }: OperatorRequest,
): Promise<Answer> {
  const by = operatorOf(caller, requestId)
  const forbidden = whyForbidden(ingest.who, by)
  if (forbidden !== null) return refuse(forbidden)
  const fault = queryFault(query)
  if (fault !== null) return fault
  if (open.size >= streamsMax)
    return refuse('overloaded', {
      message: `${streamsMax} bodies of lines are being read already.`,
      headers: { 'Retry-After': '5' },
    })
  const stopping = new AbortController()
  open.add(stopping)
  const close = () => open.delete(stopping)
  try {
    const { chunks, isCsv } = body as LinesBody
    const lines = await openLines(chunks(stopping.signal), isCsv, ingest)
    if ('fault' in lines) {
      close()
      return refuse('invalid_field', { message: lines.fault })
    }
    const isDryRun = query.dryRun === 'true'
    const run = { performer, ingest, lines, by, isDryRun, stopping }
    return { lines: { follow: (stream) => follow(run, stream).finally(close) } }
  } catch (error) {
    close()
    throw error
  }
}

interface Run<Services> {
  performer: Performer<Services>
  ingest: AnyIngest<Services>
  lines: OpenedLines
  by: OperationCaller
  isDryRun: boolean
  /** Ends the reading of the body. */
  stopping: AbortController
}

/** Resolves to the last line of the answer. */
async function follow<Services>(
  { performer, ingest, lines, by, isDryRun, stopping }: Run<Services>,
  stream: LineStream,
): Promise<object> {
  const stop = (reason: unknown): void => stopping.abort(reason)
  const ended = (): void => stop(stream.ended.reason)
  if (stream.ended.aborted) ended()
  stream.ended.addEventListener('abort', ended)
  // A batch that never fills up would hold one of the few places.
  const batchDeadline = setTimeout(
    () => stop(new UnavailableError('no batch was complete in time')),
    deadlineMs('ingestBatch'),
  )
  let appliedThrough = 0
  let unnamed = 0
  let progressAt = performance.now()
  const report: ReportBatch = (rejected, { tally, through }) => {
    batchDeadline.refresh()
    for (const { line, refused } of rejected)
      if (!stream.send({ line: line.number, ...refused })) unnamed++
    appliedThrough = through
    if (performance.now() - progressAt < progressMs) return
    progressAt = performance.now()
    stream.send(countsOf(tally))
  }
  try {
    const { db, clock, services } = performer
    const { actor, by: name, requestId } = by
    const context = { db: isDryRun ? rollingBack(db) : db, clock, actor, requestId }
    const tally = await ingestLines(context, ingest, { by: name, services }, lines, report)
    return {
      done: true,
      ...(isDryRun && { dryRun: true }),
      ...countsOf(tally),
      ...(unnamed > 0 && { unnamed }),
    }
  } catch (error) {
    return { ...stream.failed(error), appliedThrough }
  } finally {
    clearTimeout(batchDeadline)
    stream.ended.removeEventListener('abort', ended)
  }
}

function countsOf({ lines, results, rejected }: Tally): object {
  return { lines, ...results, rejected }
}
