/** The sandbox of one deployment. The credentials are signed once, when it is opened. */
import type { CandidateReads } from '../candidates/reads.ts'
import type { SkillNames } from '../candidates/skill-names.ts'
import type { Clock } from '../platform/clock.ts'
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
  names,
  clock,
}: {
  publicUrl: string
  names: SkillNames
  clock: Clock
}): Sandbox {
  const origin = sandboxOriginOf(publicUrl)
  const candidates = sandboxCandidates(origin)
  return {
    reads: sandboxReads(candidates, { names, origin }),
    scoreIds: new Map(
      candidates
        .filter(({ row }) => row.snapshot !== null)
        .map(({ id, row }) => [row.username, id]),
    ),
    statuses: sandboxStatuses(candidates, { origin, clock }),
  }
}
