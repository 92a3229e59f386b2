/**
 * What other modules may read and change of workers, profiles, consents and identities.
 * The stores are private.
 */
export { type ConsentChange, findConsentChanges } from './consent-store.ts'
export { findIdentityChanges, recordIdentityMove } from './identity.ts'
export {
  eraseWorkerRows,
  findUsernameDigests,
  findWorkerHistory,
  lockToErase,
} from './personal-store.ts'
export {
  completeOnboarding,
  findWorkerFacts,
  findWorkerId,
  findWorkerPage,
  findWorkers,
  findWorkersLike,
  lockWorkers,
  tryLockWorkers,
  type Worker,
} from './store.ts'
export { findUsernameOwners, findWorkerIds, holdWorkers } from './worker-ids.ts'
