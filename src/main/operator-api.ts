/**
 * Composes the operator API, its routes and its document, and the console with the pages that it
 * needs beside it on a listener of its own.
 */
import { findUserById } from '../accounts/api.ts'
import { consolePath } from '../accounts/sign-in.ts'
import type { Config } from '../config/config.ts'
import { openApiDocument } from '../discovery/openapi.ts'
import { type Endpoint, endpoint, type RefusalPage } from '../edge/http/endpoint.ts'
import { readNeedFacts } from '../health/status-operation.ts'
import { findTotals, openSurvey } from '../health/survey.ts'
import type { AnyIngest } from '../operations/ingest.ts'
import { ingestEndpoints, ingestRoute } from '../operations/ingest-routes.ts'
import type { Operation } from '../operations/operation.ts'
import {
  operatorBase,
  operatorEndpoints,
  operatorPolicy,
  operatorRoute,
} from '../operations/operator-routes.ts'
import type { Performer } from '../operations/perform.ts'
import { atMostEvery } from '../platform/batching.ts'
import { assetEndpoints } from '../web/assets.ts'
import { consolePages } from '../web/console/pages.ts'
import { redirect } from '../web/layout.ts'
import { consoleRefusalPage, unknownConsolePage } from '../web/refusal-page.ts'
import { signInEndpoints } from '../web/sign-in.ts'
import type { SignInOptions } from '../web/sign-in-context.ts'
import { allIngests, allOperations } from './all-operations.ts'
import type { Services } from './operation-services.ts'

export function operatorApi(config: Config, performer: Performer<Services>): Endpoint[] {
  const document = endpoint({
    operationId: 'operatorOpenApi',
    method: 'GET',
    path: `${operatorBase}/openapi.json`,
    area: 'operator',
    summary: 'The contract of the operator API',
    policy: operatorPolicy,
    priority: 'operator',
    responses: {},
    answer: () => ({ status: 200, body: operatorDocument(config.operatorUrl) }),
  })
  return [
    ...operatorEndpoints(allOperations, performer),
    ...ingestEndpoints(allIngests, performer),
    document,
  ]
}

/** Returns the contract of the operator API as an OpenAPI document. */
export function operatorDocument(operatorUrl: string) {
  const routes = [
    ...(allOperations as readonly unknown[] as readonly Operation[]).map(operatorRoute),
    ...(allIngests as readonly unknown[] as readonly AnyIngest<never>[]).map(ingestRoute),
  ]
  return openApiDocument(routes, { publicUrl: operatorUrl, isForOperators: true })
}

/** The counts of the overview are read at most this often. */
const countsMs = 10_000

interface Options {
  performer: Performer<Services>
  /** The page of an unknown path on the listener of the console. */
  notFoundPage: RefusalPage
}

export function operatorConsole(config: Config, { performer, notFoundPage }: Options): Endpoint[] {
  const { db, clock } = performer
  const { operatorUrl, publicUrl } = config
  return consolePages({
    db,
    clock,
    publicUrl: operatorUrl,
    siteUrl: config.operator === null ? '' : publicUrl,
    operations: allOperations,
    performer,
    refusalPage: consoleRefusalPage(new URL(operatorUrl).host, notFoundPage),
    async nameOfUser({ userId }) {
      const user = await findUserById(db, userId)
      return user === undefined ? null : (user.name ?? user.email)
    },
    state: openSurvey(db, clock).read,
    totals: atMostEvery(countsMs, () => findTotals(db)),
    needFacts: atMostEvery(countsMs, () => readNeedFacts(db, performer.services)),
  })
}

/** The pages of the operator's own listener, where the console is the only site. */
export interface OperatorSite {
  endpoints: Endpoint[]
  notFoundPage: RefusalPage
}

export function operatorSite(
  { operatorUrl, publicUrl }: Pick<Config, 'operatorUrl' | 'publicUrl'>,
  signIn: Omit<SignInOptions, 'publicUrl' | 'operatorSite'>,
): OperatorSite {
  const notFoundPage = unknownConsolePage(new URL(operatorUrl).host, publicUrl)
  const start = endpoint({
    operationId: 'operatorStart',
    method: 'GET',
    path: '/',
    area: 'pages',
    summary: 'Go to the console',
    policy: { kind: 'open' },
    priority: 'operator',
    responses: {},
    answer: () => redirect(consolePath),
  })
  const site = { siteUrl: publicUrl }
  return {
    notFoundPage,
    endpoints: [
      start,
      ...assetEndpoints(),
      ...signInEndpoints({ ...signIn, publicUrl: operatorUrl, operatorSite: site }),
    ],
  }
}
