/** What other modules may read and change of evidence, scores and disputes. The stores are private. */
export {
  eraseDisputes,
  findDisputeRecords,
  findOpenDisputesOf,
  type OpenDispute,
} from './disputes/store.ts'
export {
  eraseEvidence,
  findEvidenceByName,
  findEvidenceRecords,
  findWorkerEvidence,
} from './evidence/store.ts'
export { countSnapshots, findSnapshot, type StoredSnapshot } from './scores/history-store.ts'
export {
  countDueReissues,
  countPublicScores,
  countPublicScoresOf,
  waitForReissues,
} from './scores/reissue-store.ts'
export {
  eraseWorkings,
  findScored,
  findScoreRecords,
  findWorkerCredentials,
  type ScoreRecord,
} from './scores/store.ts'
