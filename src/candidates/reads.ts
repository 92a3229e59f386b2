/** The public reads of real people. Look-ups of one turn of the event loop are one statement; who is hidden is found like who is absent. */
import type { Clock } from '../platform/clock.ts'
import { coalesce } from '../platform/coalesce.ts'
import type { Db } from '../platform/db.ts'
import type { Origin } from '../score-credentials/payload.ts'
import { candidateDetail, type PublicRow, publicScore } from './public-read.ts'
import { findBySnapshot, findByUsername } from './public-store.ts'
import type { CandidateDetail, PublicScore } from './schema.ts'
import { candidateSearch, type SearchCandidates } from './search.ts'
import type { SkillNames } from './skill-names.ts'

/** What the routes serve: of real people to whoever pays, of fictional ones to test keys. */
export interface CandidateReads {
  search: SearchCandidates
  /** `username` without @. Null where there is none to be read. */
  candidate(username: string): Promise<CandidateDetail | null>
  /** `id` in lowercase. Null where there is none to be read. */
  score(id: string): Promise<PublicScore | null>
}

interface ReadsOptions {
  db: Db
  names: SkillNames
  origin: Origin
  clock: Clock
}

export function candidateReads({ db, names, origin, clock }: ReadsOptions): CandidateReads {
  const byUsername = coalesce<string, PublicRow | undefined>({
    name: 'candidates',
    run: async (usernames) => {
      const rows = await findByUsername(db, usernames)
      const found = new Map(rows.map((row) => [row.username, row]))
      return usernames.map((username) => found.get(username))
    },
  })
  const bySnapshot = coalesce<string, PublicRow | undefined>({
    name: 'scores',
    run: async (ids) => {
      const rows = await findBySnapshot(db, ids)
      const found = new Map(rows.map((row) => [row.snapshot?.id, row]))
      return ids.map((id) => found.get(id))
    },
  })
  return {
    search: candidateSearch(db, names),
    async candidate(username) {
      const row = await byUsername(username)
      return row === undefined ? null : candidateDetail(row, { origin, now: clock() })
    },
    async score(id) {
      const row = await bySnapshot(id)
      return row === undefined ? null : publicScore(row, { origin, now: clock() })
    },
  }
}
