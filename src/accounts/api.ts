/**
 * What other modules may read and change of accounts, API keys, users, sessions and the request log.
 * The stores are private.
 */
export {
  type Account,
  countActiveKeys,
  findAccount,
  findAccountNames,
  findEndingKeys,
  findKeys,
  findOwnKey,
  findShownKeys,
  type StoredKey,
} from './access/store.ts'
export {
  findInvitationsTo,
  findOpenInvitations,
  type Invitation,
  type OpenInvitation,
  sweepInvitations,
} from './invitation-store.ts'
export { sweepMailBudget } from './mail-budget.ts'
export { type MailKind, type NoticeMail, sweepMails } from './mail-store.ts'
export { findNoticeReaders, type NoticeReader, ownerNotices } from './notices.ts'
export {
  type CountedCalls,
  countByStatus,
  countByTime,
  findAllEntries,
  findEntries,
  findEntriesAfter,
  findEntry,
  keepRequestLogDays,
  type LogEntry,
  lookedAtMax,
  type StatusCount,
} from './request-log/store.ts'
export {
  countSessionsIn,
  deleteEndedSessions,
  deleteOwnSession,
  deleteSessionByDigest,
  deleteSessionsBeside,
  findOwnSessions,
  findValidSessionIds,
  type OwnSession,
  updateSessionAccount,
} from './session-store.ts'
export { findMembers, findSignedIn, findUserById, insertMembership, type Member } from './store.ts'
