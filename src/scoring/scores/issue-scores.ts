/** Issues credentials for scores that an operator brings. A score with an id is issued once. */
import { Compile } from 'typebox/compile'
import { findCredentials, findUnrevokedCurrent } from '../../credentials/api.ts'
import { type IssuedCredential, type Issuer, issueCredentials } from '../../credentials/issue.ts'
import { credentialPayload, type Score, subjectUrl } from '../../credentials/payload.ts'
import { scoreLine } from '../../credentials/schema.ts'
import { activeSigner, type Credential, type KeyFolder } from '../../credentials/signers.ts'
import { applyBatch, type BatchContext } from '../../operations/ingest.ts'
import { changed, unchanged } from '../../operations/operation.ts'
import type { Queryable, Tx } from '../../platform/db/db.ts'
import { canonicalJson } from '../../platform/json/canonical-json.ts'
import { type Fault, firstFault } from '../../platform/json/shape-fault.ts'
import { parseStrictJson } from '../../platform/json/strict-json.ts'
import { bandOf } from '../../standard/bands.ts'
import { findUsernameOwners, lockWorkers } from '../../workers/api.ts'
import { findWorkerCredentials } from './store.ts'

export interface Issuing extends Omit<Issuer, 'signer'> {
  signers: KeyFolder
  /** Whether a score may supersede a computed one. */
  replacesComputed: boolean
}

export type Issued =
  /** `now` is false if an earlier line or run issued it. */
  { credential: Credential; now: boolean } | { refused: Fault }

/**
 * Issues a batch in one transaction. Returns an answer for each score, in order. Throws
 * `SignerMissing` if this process cannot sign.
 */
export async function issueScores(
  context: BatchContext,
  issuing: Issuing,
  scores: readonly ScoreToIssue[],
): Promise<Issued[]> {
  for (;;) {
    const before = await idsInUse(context.db, scores)
    try {
      const call = { ...issuing, now: context.clock() }
      return await applyBatch(context, { audit: 'credentials.issued', apply }, scores, call)
    } catch (error) {
      // A concurrent run may have used one of the ids. The next attempt finds it.
      if ((await idsInUse(context.db, scores)).size === before.size) throw error
    }
  }
}

/** The audit entry names the key, and the first and the last credential. */
async function apply(tx: Tx, scores: readonly ScoreToIssue[], issuing: Issuing & { now: Date }) {
  const { now } = issuing
  // Looked up for each batch, because a key may be rotated during a long run.
  const signer = await activeSigner(tx, issuing.signers)
  const known = await idsInUse(tx, scores)
  const unissued = unissuedOf(scores, known)
  const computed = await lockComputedScores(tx, unissued.map(usernameOf))
  const isRefused = ({ username }: ScoreToIssue) =>
    computed.has(username) && !issuing.replacesComputed
  const fresh = unissued.filter((score) => !isRefused(score))
  const dated = fresh.map((score) => ({ ...score, issuedAt: now }))
  const issued = await issueCredentials(tx, { ...issuing, signer }, dated)
  const made = new Map(fresh.map((score, i) => [score, issued[i]?.credential as object]))
  for (const [{ id }, credential] of made) if (id !== undefined) known.set(id, { ...credential })
  const answers = scores.map((score): Issued => {
    const credential = made.get(score)
    if (credential !== undefined) return { credential: { ...credential }, now: true }
    const existing = known.get(score.id ?? '')
    if (existing === undefined && isRefused(score)) return { refused: hasComputedScore }
    if (existing === undefined || !isSame(existing, score, issuing)) return { refused: idIsInUse }
    return { credential: existing, now: false }
  })
  const [firstId, lastId] = [issued.at(0), issued.at(-1)].map(idOf)
  if (firstId === undefined || lastId === undefined) return unchanged(answers)
  const details = { count: issued.length, firstId, lastId }
  return changed(answers, { subjects: [signer.kid], details })
}

function usernameOf({ username }: ScoreToIssue): string {
  return username
}

const idIsInUse: Fault = { field: 'id', reason: 'is in use for another content' }
const hasComputedScore: Fault = {
  field: 'username',
  reason: 'has a computed score: with --replace-computed the line supersedes it',
}

/** Returns the scores whose id no credential and no earlier score has. */
function unissuedOf(
  scores: readonly ScoreToIssue[],
  known: ReadonlyMap<string, Credential>,
): ScoreToIssue[] {
  return scores.filter(
    ({ id }, i) =>
      id === undefined || (!known.has(id) && scores.findIndex((other) => other.id === id) === i),
  )
}

/** A credential that the new one would supersede. */
export interface Superseded {
  username: string
  credentialId: string
  score: unknown
  /** Whether it states a computed score. */
  computed: boolean
}

export type Preview = { supersedes: Superseded | null } | { existing: true } | { refused: Fault }

/**
 * Returns what `issueScores` would do with each score, in order. Writes nothing and takes no lock.
 */
export async function previewScores(
  db: Queryable,
  { origin, replacesComputed }: Pick<Issuing, 'origin' | 'replacesComputed'>,
  scores: readonly ScoreToIssue[],
): Promise<Preview[]> {
  const known = await idsInUse(db, scores)
  const unissued = new Set(unissuedOf(scores, known))
  const usernames = [...unissued].map(usernameOf)
  const computed = await findComputedScores(db, usernames)
  const subjects = usernames.map((username) => subjectUrl(origin, username))
  const activeCredentials = new Map(
    (await findUnrevokedCurrent(db, subjects)).map((current) => [current.subject, current]),
  )
  return scores.map((score): Preview => {
    const { username } = score
    const existing = known.get(score.id ?? '')
    if (existing !== undefined && !isSame(existing, score, { origin }))
      return { refused: idIsInUse }
    if (!unissued.has(score)) return { existing: true }
    if (computed.has(username) && !replacesComputed) return { refused: hasComputedScore }
    const current = activeCredentials.get(subjectUrl(origin, username))
    if (current === undefined) return { supersedes: null }
    const { vcSha256, credentialId, payload } = current
    return {
      supersedes: {
        username,
        credentialId,
        score: JSON.parse(payload).credentialSubject.score,
        computed: computed.get(username)?.equals(vcSha256) ?? false,
      },
    }
  })
}

function idOf(issued: IssuedCredential | undefined): string | undefined {
  return issued?.credential.id.replace('urn:uuid:', '')
}

async function idsInUse(
  db: Queryable,
  scores: readonly ScoreToIssue[],
): Promise<Map<string, Credential>> {
  const ids = scores.flatMap(({ id }) => id ?? [])
  const found = ids.length === 0 ? [] : await findCredentials(db, ids)
  return new Map(
    found.map(({ credentialId, payload, proof }) => [
      credentialId,
      { ...JSON.parse(payload), proof: JSON.parse(proof) },
    ]),
  )
}

/** Tells whether the score, if issued today, would state the same about the same worker. */
function isSame(
  existing: Credential,
  score: ScoreToIssue,
  { origin }: Pick<Issuing, 'origin'>,
): boolean {
  const facts = { id: '', slot: { token: '', listId: '', index: 0 } }
  const dates = { validFrom: new Date(0), validUntil: new Date(0) }
  const { credentialSubject } = credentialPayload(origin, score, { ...facts, ...dates })
  return canonicalJson(existing.credentialSubject) === canonicalJson(credentialSubject)
}

/**
 * Returns those of `usernames` whose worker has a computed score, with the digest of its
 * credential, or null if the score has none. A username that the worker had before counts too.
 */
async function findComputedScores(
  db: Queryable,
  usernames: readonly string[],
): Promise<Map<string, Buffer | null>> {
  const owners = await findUsernameOwners(db, usernames)
  const workerIds = owners.map(({ workerId }) => workerId)
  const scores = workerIds.length === 0 ? [] : await findWorkerCredentials(db, workerIds)
  const active = new Map(
    scores.filter((score) => score.active).map(({ workerId, vcSha256 }) => [workerId, vcSha256]),
  )
  return new Map(
    owners.flatMap(({ username, workerId }) => {
      const vcSha256 = active.get(workerId)
      return vcSha256 === undefined ? [] : [[username, vcSha256]]
    }),
  )
}

/**
 * Does the same as `findComputedScores` and locks the workers, so that none of them gets a computed
 * score until the transaction ends.
 */
async function lockComputedScores(
  tx: Tx,
  usernames: readonly string[],
): Promise<Map<string, Buffer | null>> {
  const owners = await findUsernameOwners(tx, usernames)
  if (owners.length === 0) return new Map()
  await lockWorkers(
    tx,
    owners.map(({ workerId }) => workerId),
  )
  return findComputedScores(tx, usernames)
}

export interface ScoreToIssue extends Score {
  id?: string
}

const shape = Compile(scoreLine)

/**
 * The band is computed where it is not given; nothing else is filled in or repaired (decision D8).
 */
export function readScoreLine(bytes: Uint8Array): ScoreToIssue | { refused: Fault } {
  const json = parseStrictJson(bytes)
  if (json.kind !== 'value') return refused(null, json.why.replace('The body', 'The line'))
  const line = json.value
  if (!shape.Check(line)) return { refused: firstFault(shape, line) }
  const { scoreBand = bandOf(line.score), id, ...rest } = line
  if (scoreBand !== bandOf(line.score))
    return refused('scoreBand', `the band of ${line.score} is ${bandOf(line.score)}`)
  if (line.confidenceLow > line.score)
    return refused('confidenceLow', 'must not be above the score')
  if (line.confidenceHigh < line.score)
    return refused('confidenceHigh', 'must not be below the score')
  const score = { ...rest, scoreBand }
  // PostgreSQL writes a UUID in lowercase, so ids are compared in it.
  return id === undefined ? score : { ...score, id: id.toLowerCase() }
}

function refused(field: string | null, reason: string): { refused: Fault } {
  return { refused: { field, reason } }
}
