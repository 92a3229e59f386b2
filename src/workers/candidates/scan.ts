/**
 * Pure: searches a short list of candidates by examining each one. The order is that of the search
 * index (decision D35).
 */
import { placeOf } from './place-of.ts'
import { comparePlaces, type Place, type Search, type SearchHit } from './search-hit.ts'
import type { SkillNames } from './skill-names.ts'

/** Returns the first `limit` matching candidates behind the place `after`, best match first. */
export function scanCandidates<Candidate extends SearchHit>(
  candidates: readonly Candidate[],
  { search, after, limit }: { search: Search; after: Place; limit: number },
  names: SkillNames,
): Candidate[] {
  return candidates
    .flatMap((candidate) => {
      const place = placeOf(candidate, search, names)
      return place !== null && comparePlaces(place, after) > 0 ? { candidate, place } : []
    })
    .sort((a, b) => comparePlaces(a.place, b.place))
    .slice(0, limit)
    .map(({ candidate }) => candidate)
}
