/** What other modules may read and change of reports of agents. The stores are private. */
export { findReportedNames, findReportRecords } from './personal-store.ts'
export {
  findReportOf,
  findReports,
  findReportsOf,
  insertReports,
  type ReportPage,
  type ReportRow,
} from './store.ts'
export { findOpenReview, findState, type UnlockReview } from './unlock-store.ts'
