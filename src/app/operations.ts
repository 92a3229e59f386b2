/** Builds the services that operations need. Each is opened by the first operation that needs it. */
import type { Config } from '../config/config.ts'
import type { DisputeServices } from '../disputes/operations.ts'
import type { EvidenceServices } from '../evidence/evidence-ingests.ts'
import { refuse } from '../platform/http/errors.ts'

/** Everything that some operation needs. */
export type Services = DisputeServices & EvidenceServices

export function openServices(config: Config): Services {
  return {
    disputes: { hidesScore: config.disputeHidesScore, dueDays: config.disputeDueDays },
    async vocabulary() {
      const { releasedVocabulary } = await import('./released-vocabulary.ts')
      return releasedVocabulary()
    },
    async scoring(db) {
      const { openScoring, ScoringUnavailable } = await import('./scoring.ts')
      try {
        const scoringNow = await openScoring(config)
        return await scoringNow(db)
      } catch (error) {
        if (!(error instanceof ScoringUnavailable)) throw error
        return refuse('scoring_unavailable', { message: error.message })
      }
    },
  }
}
