/** One transaction of `assay credentials issue`: a score with an id is issued once, however often it is read. */
import { operator, recordAction } from '../audit/record.ts'
import type { Db, Queryable, Tx } from '../platform/db/db.ts'
import { canonicalJson } from '../platform/json/canonical-json.ts'
import type { Fault } from '../platform/json/shape-fault.ts'
import type { Credential } from '../score-credentials/convert-proof.ts'
import { type IssuedCredential, type Issuer, issueCredentials } from '../score-credentials/issue.ts'
import { findKeys } from '../score-credentials/key-store.ts'
import { credentialPayload, subjectUrl } from '../score-credentials/payload.ts'
import type { Signers } from '../score-credentials/signers.ts'
import type { Signer } from '../score-credentials/signing-key.ts'
import { findCredentials, findUnrevokedCurrent } from '../score-credentials/store.ts'
import { findComputedScores, lockComputedScores } from '../scores/computed-scores.ts'
import { failure } from './fail.ts'
import type { ScoreToIssue } from './score-line.ts'

export interface Issuing extends Omit<Issuer, 'signer'> {
  signers: Signers
  /** Whether a score from the file may take the place of a computed one. */
  replacesComputed: boolean
  /** Said where it lacks the active key. */
  keysFolder: string
}

export type Issued =
  /** `now` is false where an earlier line or run issued it. */
  { credential: Credential; now: boolean } | { refused: Fault }

/** One answer for each score, in order; all of it is committed. Throws `Failure` where this machine cannot sign. */
export async function issueBatch(
  db: Db,
  issuing: Issuing,
  { scores, now }: { scores: readonly ScoreToIssue[]; now: Date },
): Promise<Issued[]> {
  for (;;) {
    const before = await idsInUse(db, scores)
    try {
      return await db.transaction((tx) => issueInside(tx, issuing, { scores, now }))
    } catch (error) {
      // Another run was faster with one of the ids: this time it is found.
      if ((await idsInUse(db, scores)).size === before.size) throw error
    }
  }
}

/** Who signs now. */
export async function activeSigner(
  db: Queryable,
  { signers, keysFolder }: Pick<Issuing, 'signers' | 'keysFolder'>,
): Promise<Signer> {
  const active = (await findKeys(db)).find((key) => key.state === 'active')
  if (active === undefined)
    throw failure('No signing key is active: `assay keys create`, or `assay keys rotate`.')
  const signer = await signers.of(active.kid)
  if (signer === undefined)
    throw failure(
      `The private key of the active key ${active.kid} is not in ${keysFolder}. Run this where it is, or set SIGNING_KEYS_DIR.`,
    )
  return signer
}

async function issueInside(
  tx: Tx,
  issuing: Issuing,
  { scores, now }: { scores: readonly ScoreToIssue[]; now: Date },
): Promise<Issued[]> {
  // Looked up for each batch: a key may be rotated during a long run.
  const signer = await activeSigner(tx, issuing)
  const known = await idsInUse(tx, scores)
  const unissued = unissuedOf(scores, known)
  const computed = await lockComputedScores(
    tx,
    unissued.map(({ username }) => username),
  )
  const isRefused = ({ username }: ScoreToIssue) =>
    computed.has(username) && !issuing.replacesComputed
  const fresh = unissued.filter((score) => !isRefused(score))
  const issued = await issueCredentials(
    tx,
    { ...issuing, signer },
    fresh.map((score) => ({ ...score, issuedAt: now })),
  )
  await recordIssued(tx, issued, { kid: signer.kid, now })
  const made = new Map(fresh.map((score, i) => [score, issued[i]?.credential as object]))
  for (const [{ id }, credential] of made) if (id !== undefined) known.set(id, { ...credential })
  return scores.map((score): Issued => {
    const credential = made.get(score)
    if (credential !== undefined) return { credential: { ...credential }, now: true }
    const existing = known.get(score.id ?? '')
    if (existing === undefined && isRefused(score)) return { refused: hasComputedScore }
    if (existing === undefined || !isSame(existing, score, issuing)) return { refused: idIsInUse }
    return { credential: existing, now: false }
  })
}

const idIsInUse: Fault = { field: 'id', reason: 'is in use for another content' }
const hasComputedScore: Fault = {
  field: 'username',
  reason: 'has a computed score: with --replace-computed the line supersedes it',
}

/** The scores whose id no credential and no earlier line has. */
function unissuedOf(
  scores: readonly ScoreToIssue[],
  known: ReadonlyMap<string, Credential>,
): ScoreToIssue[] {
  return scores.filter(
    ({ id }, i) =>
      id === undefined || (!known.has(id) && scores.findIndex((other) => other.id === id) === i),
  )
}

/** A credential whose place the line's credential would take. */
export interface Superseded {
  username: string
  credentialId: string
  score: unknown
  /** Whether it states a computed score. */
  computed: boolean
}

export type Preview = { supersedes: Superseded | null } | { existing: true } | { refused: Fault }

/** One answer for each score, in order: what `issueBatch` would do with it. Writes nothing and takes no lock. */
export async function previewBatch(
  db: Queryable,
  { origin, replacesComputed }: Pick<Issuing, 'origin' | 'replacesComputed'>,
  scores: readonly ScoreToIssue[],
): Promise<Preview[]> {
  const known = await idsInUse(db, scores)
  const unissued = new Set(unissuedOf(scores, known))
  const usernames = [...unissued].map(({ username }) => username)
  const computed = await findComputedScores(db, usernames)
  const subjects = usernames.map((username) => subjectUrl(origin, username))
  const standing = new Map(
    (await findUnrevokedCurrent(db, subjects)).map((current) => [current.subject, current]),
  )
  return scores.map((score): Preview => {
    const { username } = score
    const existing = known.get(score.id ?? '')
    if (existing !== undefined && !isSame(existing, score, { origin }))
      return { refused: idIsInUse }
    if (!unissued.has(score)) return { existing: true }
    if (computed.has(username) && !replacesComputed) return { refused: hasComputedScore }
    const current = standing.get(subjectUrl(origin, username))
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

/** An entry for each batch, in its transaction: after a kill the log tells exactly what was issued. */
async function recordIssued(
  tx: Tx,
  issued: readonly IssuedCredential[],
  { kid, now }: { kid: string; now: Date },
): Promise<void> {
  const [firstId, lastId] = [issued.at(0), issued.at(-1)].map(idOf)
  if (firstId === undefined || lastId === undefined) return
  const details = { count: issued.length, firstId, lastId }
  const action = 'credentials.issued'
  await recordAction(tx, { actor: operator(), action, subjects: [kid], details }, now)
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

/** Whether the score, issued today, would state the same of the same person. */
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
