/**
 * The handlers of the paid reads. A key of the test environment reads fictional candidates; every
 * other caller reads real ones.
 */
import type { Caller } from '../../edge/http/callers.ts'
import { jsonLdType } from '../../edge/http/contract.ts'
import type { Answer, Handlers } from '../../edge/http/endpoint.ts'
import { refuse } from '../../platform/errors.ts'
import type { candidateContract } from './contract.ts'
import type { CandidateReads, CredentialRead } from './reads.ts'
import type { CandidateDetail } from './schema.ts'
import { placeOfCursor } from './search-hit.ts'

export interface CandidatesOptions {
  live: CandidateReads
  sandbox: CandidateReads
}

export function candidateHandlers({
  live,
  sandbox,
}: CandidatesOptions): Handlers<typeof candidateContract> {
  const readsFor = (caller: Caller): CandidateReads =>
    caller.kind === 'key' && caller.environment === 'test' ? sandbox : live
  return {
    async searchCandidates({ query, caller }) {
      return searchAnswer(readsFor(caller), '/api/v1/candidates/search', query)
    },
    async getCandidate({ path, caller }) {
      const found = await readsFor(caller).candidate(path.username)
      if (found === null) return refuse('candidate_not_found')
      const { detail: body, scoreId } = found
      return scoreId === null
        ? { status: 200, body }
        : { status: 200, body, headers: { Link: linksOf(scoreId, body) } }
    },
    async getCandidateCredential({ path, query, caller }) {
      return credentialAnswer(await readsFor(caller).credential(path, query.proof))
    },
    async getScore({ path, caller }) {
      const body = await readsFor(caller).score(path.scoreId)
      return body === null ? refuse('score_not_found') : { status: 200, body }
    },
    async getScoreCredential({ path, query, caller }) {
      return credentialAnswer(await readsFor(caller).credential(path, query.proof))
    },
  }
}

/** Answers a search at `path`. The Link header leads to the next page. */
export async function searchAnswer(
  { search }: Pick<CandidateReads, 'search'>,
  path: string,
  query: { q: string; limit: string; after?: string | undefined },
): Promise<Answer> {
  const after = query.after === undefined ? undefined : placeOfCursor(query.after)
  if (after === null)
    return refuse('invalid_parameter', {
      message: `Parameter after is ${query.after}, which no search gave. Take it from the Link header with rel="next" of the page before.`,
    })
  const { text, next } = await search(query.q, { limit: Number(query.limit), after })
  const answer = { status: 200, body: undefined, text }
  if (next === null) return answer
  const parameters = new URLSearchParams({ q: query.q, limit: query.limit, after: next })
  return { ...answer, headers: { Link: `<${path}?${parameters.toString()}>; rel="next"` } }
}

/** Leads from a candidate to the score and its credential (decision D53). */
function linksOf(scoreId: string, { score }: CandidateDetail): string {
  const path = `/api/v1/scores/${scoreId}`
  const links = [`<${path}>; rel="related"`]
  if (score?.scoreVc != null) links.push(`<${path}/credential>; rel="describedby"`)
  return links.join(', ')
}

function credentialAnswer(read: CredentialRead): Answer {
  if ('credential' in read) return { status: 200, body: read.credential, contentType: jsonLdType }
  if (read.missing === 'score') return refuse('score_not_found')
  if (read.missing === 'credential') return refuse('score_credential_not_found')
  return refuse('signing_not_configured', {
    message: 'The key that signed this credential is not on this machine. Send proof=native.',
  })
}
