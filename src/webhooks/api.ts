/** What other modules may read and change of events, endpoints and deliveries. The stores are private. */
export { countDeliveries, findUndelivered, type ShownAttempt } from './delivery/delivery-store.ts'
export {
  countFailingEndpoints,
  type FailingNow,
  findFailingNow,
  findNoticedEndpoints,
  findOwners,
} from './delivery/endpoint-store.ts'
export {
  type EndpointHealth,
  type EventAttempt,
  type EventFilter,
  type EventRow,
  eventAnswers,
  eventStates,
  findAttemptsAt,
  findEndpointHealth,
  findEndpointsOfEvent,
  findEvents,
  findHours,
  findLatestFailure,
  findSentEvent,
  type HourOfDeliveries,
  type SentEvent,
  type WholeAttempt,
} from './delivery/history-store.ts'
export { releaseExpiredLeases } from './delivery/leasing-store.ts'
export {
  findActiveIds,
  findEndpoints,
  findIdsOf,
  findSealedSamples,
  type SealedRow,
} from './endpoints/store.ts'
export type { DispatchedEvent } from './events/fan-out.ts'
export { eraseEvents, findEventRecords, findOldestUndispatched } from './events/store.ts'
