/** What other modules may read and change of evidence, scores and disputes. The stores are private. */
export {
  eraseDisputes,
  findDisputeRecords,
  findOpenDisputesOf,
  type OpenDispute,
} from './disputes/store.ts'
export { registerSource } from './evidence/register-source.ts'
export {
  eraseEvidence,
  findEvidenceByName,
  findEvidenceRecords,
  findWorkerEvidence,
} from './evidence/store.ts'
export {
  countSnapshots,
  eraseWorkings,
  findScoreRecords,
  findSnapshot,
  type ScoreRecord,
  type StoredSnapshot,
} from './scores/history-store.ts'
export {
  countDueReissues,
  countPublicScores,
  countPublicScoresOf,
  waitForReissues,
} from './scores/reissue-store.ts'
export { findScored, findWorkerCredentials } from './scores/store.ts'
