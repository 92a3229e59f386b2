/**
 * Dashboard pages: each is one path that shows a view to GET and takes its forms by POST. A form
 * names its action in the field `do` and is answered by a redirect, by the view with what is wrong,
 * or by a view that is shown once.
 */
import { type Static, type TObject, Type } from 'typebox'
import { findSignedIn } from '../accounts/api.ts'
import type { UserServices } from '../accounts/user-operations.ts'
import type { Prices } from '../billing/credits/meters.ts'
import type { Verify } from '../credentials/verifier.ts'
import type { Sandbox } from '../demo/sandbox/open.ts'
import { type SessionCaller, sessionOf } from '../edge/http/callers.ts'
import type { EndpointDeclaration } from '../edge/http/contract.ts'
import {
  type Answer,
  type Endpoint,
  type EndpointRequest,
  endpoint,
} from '../edge/http/endpoint.ts'
import { memberCaller } from '../operations/callers.ts'
import type { Operation } from '../operations/operation.ts'
import {
  type InputOf,
  type OutputOf,
  type Performed,
  type Performer,
  type PerformOptions,
  perform,
} from '../operations/perform.ts'
import type { Queryable } from '../platform/db/db.ts'
import { type Refusal, refuse } from '../platform/errors.ts'
import type { ReportServices } from '../reports/operations.ts'
import { countFailingEndpoints } from '../webhooks/api.ts'
import type { WebhookServices } from '../webhooks/operation-parts.ts'
import { type PageHead, pageHead, type Results, results } from './components.ts'
import { html, type Part } from './html.ts'
import { formBody, type Page, pageAnswer, redirect } from './layout.ts'
import { dashboardRefusalPage } from './refusal-page.ts'

/** What all pages of the dashboard share. */
export interface PagesContext extends Performer<UserServices & WebhookServices & ReportServices> {
  publicUrl: string
  /** The database of the request log. */
  callsDb: Queryable
  /** Days that calls are kept; 0: no call is logged. */
  requestLogDays: number
  /** The route of each operation by its id. */
  routes: ReadonlyMap<string, EndpointDeclaration>
  /** Returns the ids of the sessions that may still be used. */
  validSessions(sessions: readonly SessionCaller[]): Promise<ReadonlySet<string>>
  /** Credits for a call of each meter. Null: calls are not metered. */
  prices: Prices | null
  /** The waits between the attempts at a delivery. */
  retryWaitsSeconds: readonly number[]
  sandbox: Sandbox
  verify: Verify
}

interface Performing {
  /** Performs an operation for the member. */
  perform<Op extends Operation<PagesContext['services']>>(
    operation: Op,
    input: InputOf<Op>,
    options?: PerformOptions,
  ): Promise<Performed<OutputOf<Op>>>
}

export type Fields = Readonly<Record<string, string>>

export type Visit<Path = Fields, Query = Fields> = Visiting<Path, Query> & Performing

/** A visit of a page of any place. */
interface Visiting<Path = Fields, Query = Fields> {
  session: SessionCaller
  path: Path
  query: Query
  now: Date
  requestId: string
}

export interface View {
  /** Title of the tab. */
  title: string
  /**
   * The head of the page. Its title is that of the tab unless given. Absent: the page is one card,
   * such as a confirmation.
   */
  head?: Partial<PageHead>
  /** What an action did, above the head. */
  top?: Part
  main: Part
  /** 200 unless given. */
  status?: number
}

export type Shown = View | { redirectTo: string } | Refusal

export interface DeclaredPage<Path extends TObject, Query extends TObject, More = Performing> {
  path: string
  /** Path of its entry in the navigation, or a function of its path parameters. Absent: its own. */
  entry?: string | ((path: Fields) => string)
  pathParameters?: Path
  queryParameters?: Query
  /** What an action of the page did, by the word of it in `done` of the query. */
  results?: Results
  show(visit: Visiting<Static<Path>, Static<Query>> & More): Promise<Shown>
  /** The actions by the value of the form's field `do`. */
  actions?: Readonly<
    Record<
      string,
      (visit: Visiting<Static<Path>, Static<Query>> & More, fields: Fields) => Promise<Shown>
    >
  >
}

/** What the pages of one place have in common. */
export interface PagesPlace<More>
  extends Required<Pick<Endpoint, 'policy' | 'priority' | 'refusalPage'>> {
  /** Null: the user or the account was erased since the session was looked up. */
  frameOf(session: SessionCaller, entry: string): Promise<Frame | null>
  /** What a visit has beside its request. */
  moreOf(session: SessionCaller, requestId: string): More
}

type Frame = Pick<Page, 'dashboard' | 'console'>

/** Declares a page of the dashboard. */
export function dashboardPage<Path extends TObject, Query extends TObject>(
  context: PagesContext,
  page: DeclaredPage<Path, Query>,
): Endpoint[] {
  const place: PagesPlace<Performing> = {
    policy: { kind: 'session' },
    priority: 'search',
    refusalPage: dashboardRefusalPage(new URL(context.publicUrl).host),
    frameOf: (session, entry) => frameOf(context, session, entry),
    moreOf: (session, requestId) => ({
      perform: (operation, input, options) =>
        perform(context, operation, memberCaller(session, requestId), input, options),
    }),
  }
  return pageEndpoints(context, place, page)
}

/** Declares a page: the endpoint that shows it, and the one that takes its forms. */
export function pageEndpoints<Path extends TObject, Query extends TObject, More>(
  context: Pick<PagesContext, 'clock' | 'publicUrl'>,
  { policy, priority, refusalPage, frameOf, moreOf }: PagesPlace<More>,
  page: DeclaredPage<Path, Query, More>,
): Endpoint[] {
  const host = new URL(context.publicUrl).host
  const { path, entry = path, pathParameters, queryParameters, actions } = page
  const resultOf = results(page.results ?? {})
  const common = {
    path,
    area: 'pages',
    priority,
    policy,
    refusalPage,
    responses: {},
    ...(pathParameters && { pathParameters }),
    ...((queryParameters || page.results) && {
      // It has every parameter that the page declares.
      queryParameters: Type.Object({
        done: queryText,
        ...queryParameters?.properties,
      }) as unknown as Query,
    }),
  } as const
  type Request = EndpointRequest<Static<Path>, Static<Query>>

  const answer = async (request: Request, work: (visit: VisitOf) => Promise<Shown>) => {
    const { caller, path, query, requestId } = request
    const session = sessionOf(caller)
    const more = moreOf(session, requestId)
    const visit = { session, path, query, now: context.clock(), requestId, ...more }
    const current = typeof entry === 'string' ? entry : entry(path as Fields)
    // The frame is read beside the view, not before it.
    const [shown, frame] = await Promise.all([work(visit), frameOf(session, current)])
    return answerOf(shown, { host, frame, result: resultOf((query as Fields).done) })
  }
  type VisitOf = Visiting<Static<Path>, Static<Query>> & More

  const shown = endpoint({
    ...common,
    operationId: `page ${path}`,
    method: 'GET',
    summary: 'A page of the dashboard or the console',
    answer: (request) => answer(request, (visit) => page.show(visit)),
  })
  if (actions === undefined) return [shown]
  const taken = endpoint({
    ...common,
    operationId: `form of ${path}`,
    method: 'POST',
    summary: 'A form of a page',
    body: formBody(32_768),
    answer: (request) => {
      const fields = request.body as Fields
      const action = Object.hasOwn(actions, fields.do ?? '') ? actions[fields.do ?? ''] : undefined
      if (action === undefined)
        return refuse('invalid_parameter', { message: 'The form names no action of this page.' })
      return answer(request, (visit) => action(visit, fields))
    },
  })
  return [shown, taken]
}

async function frameOf(
  { db, clock }: PagesContext,
  { userId, accountId }: SessionCaller,
  current: string,
): Promise<Frame | null> {
  const [signedIn, failingEndpoints] = await Promise.all([
    findSignedIn(db, { userId, accountId, now: clock() }),
    countFailingEndpoints(db, accountId),
  ])
  if (signedIn === undefined) return null
  const { name, email, ...frame } = signedIn
  return { dashboard: { ...frame, user: name ?? email, current, failingEndpoints } }
}

function answerOf(
  shown: Shown,
  { host, frame, result }: { host: string; frame: Frame | null; result: Part },
): Answer {
  if ('refusal' in shown) return shown
  if ('redirectTo' in shown) return redirect(shown.redirectTo)
  if (frame === null) return redirect('/sign-in')
  const { title, head, top, status } = shown
  const main = html`${result}${top}${head && pageHead({ title, ...head })}\n${shown.main}`
  return pageAnswer({ title, host, main, ...frame }, status === undefined ? {} : { status })
}

/** Returns the number of the row before which a list continues; null if it is absent or wrong. */
export function rowNumber(text = ''): number | null {
  return /^[1-9][0-9]{0,14}$/.test(text) ? Number(text) : null
}

/** A text of the query that the page reads by itself: a wrong one is as none. */
export const queryText = Type.Optional(Type.String({ maxLength: 512 }))
