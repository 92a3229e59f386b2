/** Composes the operator API: its routes and its document. */
import type { Config } from '../config/config.ts'
import { openApiDocument } from '../discovery/openapi.ts'
import { type Endpoint, endpoint } from '../edge/http/endpoint.ts'
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
