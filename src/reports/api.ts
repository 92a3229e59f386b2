/** What other modules may read and change of reports of agents. The stores are private. */
export {
  eraseReportsAbout,
  findReportedNames,
  findReportOf,
  findReportRecords,
  findReports,
  findReportsOf,
  insertReports,
  type ReportPage,
  type ReportRow,
  sweepReports,
} from './store.ts'
export {
  findOpenReview,
  findState,
  lockReporting,
  requestUnlockReview,
  type UnlockReview,
} from './unlock.ts'
