/** What other modules may read and change of evidence, scores and disputes. The stores are private. */
export { eraseDisputes, findDisputeRecords } from './disputes/personal-store.ts'
export { findOpenDisputesOf, type OpenDispute } from './disputes/store.ts'
export { eraseEvidence, findEvidenceRecords } from './evidence/personal-store.ts'
export { findEvidenceByName, findWorkerEvidence } from './evidence/store.ts'
export { countSnapshots, findSnapshot, type StoredSnapshot } from './scores/history-store.ts'
export { eraseWorkings, findScoreRecords, type ScoreRecord } from './scores/personal-store.ts'
export {
  countDueReissues,
  countPublicScores,
  countPublicScoresOf,
  waitForReissues,
} from './scores/reissue-store.ts'
export { findScored, findWorkerCredentials } from './scores/store.ts'
