/** The sandbox of one deployment: its people are signed once, when it is opened. */
import type { CandidateReads } from '../candidates/reads.ts'
import type { SkillNames } from '../candidates/skill-names.ts'
import type { Clock } from '../platform/clock.ts'
import type { Origin } from '../score-credentials/payload.ts'
import { sandboxOriginOf } from './credentials.ts'
import { sandboxPeople } from './issued-people.ts'
import { sandboxReads } from './reads.ts'
import { type SandboxStatuses, sandboxStatuses } from './statuses.ts'

export interface Sandbox {
  origin: Origin
  reads: CandidateReads
  statuses: SandboxStatuses
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
  const people = sandboxPeople(origin)
  return {
    origin,
    reads: sandboxReads(people, { names, origin }),
    statuses: sandboxStatuses(people, { origin, clock }),
  }
}
