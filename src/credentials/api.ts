/**
 * What other modules may read and change of credentials, signing keys and status lists.
 * The stores are private.
 */
export {
  findKeys,
  insertKey,
  lockKeys,
  lockUnmarkedKey,
  setKeyMarked,
} from './key-store.ts'
export { findPublications, hasDueList } from './list-store.ts'
export {
  type CredentialRecord,
  eraseCredentials,
  findCredentialRecords,
  findUnrevokedDigests,
} from './personal-store.ts'
export {
  findCredentialPage,
  findCredentials,
  findCurrentCredential,
  findDigests,
  findIssued,
  findIssuedPage,
  findStatuses,
  findUnrevoked,
  findUnrevokedCurrent,
  type ListedCredential,
  type RegisteredCredential,
  type StoredCredential,
  supersedeReplaced,
} from './store.ts'
