/** The sandbox of one deployment. The credentials are signed once, when it is opened. */
import type { Clock } from '../../platform/clock.ts'
import type { Vocabulary } from '../../standard/catalog.ts'
import type { CandidateReads } from '../../workers/candidates/reads.ts'
import { skillNames } from '../../workers/candidates/skill-names.ts'
import { sandboxOriginOf } from './origin.ts'
import { sandboxReads } from './reads.ts'
import { sandboxCandidates } from './sandbox-candidates.ts'
import { type SandboxStatuses, sandboxStatuses } from './statuses.ts'

export interface Sandbox {
  reads: CandidateReads
  statuses: SandboxStatuses
  /** The ids of the scores, by username. */
  scoreIds: ReadonlyMap<string, string>
}

export function openSandbox({
  publicUrl,
  records,
  clock,
}: {
  publicUrl: string
  records: Vocabulary['records']
  clock: Clock
}): Sandbox {
  const origin = sandboxOriginOf(publicUrl)
  const labels = new Map(records.map(({ id, label }) => [id, label]))
  const candidates = sandboxCandidates(origin, labels)
  return {
    reads: sandboxReads(candidates, { names: skillNames(records), origin }),
    scoreIds: new Map(
      candidates
        .filter(({ row }) => row.snapshot !== null)
        .map(({ id, row }) => [row.username, id]),
    ),
    statuses: sandboxStatuses(candidates, { origin, clock }),
  }
}
