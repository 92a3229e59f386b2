/**
 * Issues credentials.
 *
 * Tables: writes `score_credentials`, and `status_lists` if a list is opened or closed. One call
 * commits all or nothing.
 * Crash: before the commit nothing remains. After the commit the credential is in the registry, in
 * its list and verifiable.
 */
import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import { sha256 } from '../platform/crypto/bytes.ts'
import type { Db, Tx } from '../platform/db/db.ts'
import { canonicalJson } from '../platform/json/canonical-json.ts'
import { holdKeys } from './key-store.ts'
import {
  closeList,
  findOpenListIds,
  findOpenLists,
  insertList,
  lockStatusLists,
} from './list-store.ts'
import {
  credentialPayload,
  type Payload,
  type Score,
  type StatusSlot,
  subjectUrl,
} from './payload.ts'
import { makeProof, type Proof } from './proof.ts'
import { type ListSigner, signList } from './publish-lists.ts'
import { revokeDigests } from './revoke.ts'
import { requireActiveKey } from './rotate-keys.ts'
import { listAfterlifeDays, listFillMax, listLength, openListsWanted } from './status-list.ts'
import {
  type CredentialRow,
  findCredentials,
  findTakenSlots,
  insertCredentials,
  supersedeCredentials,
  supersedeReplaced,
} from './store.ts'

/** The addresses, the signer and the policy of the deployment. */
export interface Issuer extends ListSigner {
  validityDays: number
  /** True if a newer score revokes the older credential (decision D28). */
  supersedeRevokes: boolean
}

export interface NewCredential extends Score {
  /** UUID of the credential. Random by default. */
  id?: string
  /** Start of validity and time of signing. */
  issuedAt: Date
  /**
   * `vcSha256` of a credential that was issued under a former username and that this one
   * supersedes. Current credentials of the present username are superseded in any case.
   */
  replaces?: Buffer | null
}

export interface IssuedCredential {
  /** The credential with its native proof. */
  credential: Payload & { proof: Proof }
  vcSha256: string
  statusToken: string
}

/**
 * Issues one credential for each score, within the caller's transaction. The last credential of a
 * subject is its current one; earlier ones are marked superseded. Throws if an `id` is in use or if
 * the signer's key is not active.
 */
export async function issueCredentials(
  tx: Tx,
  issuer: Issuer,
  scores: readonly NewCredential[],
): Promise<IssuedCredential[]> {
  if (scores.length === 0) return []
  // The key must not be revoked between this check and the commit. Otherwise the published lists
  // would miss the bits of these credentials.
  await holdKeys(tx)
  await requireActiveKey(tx, issuer.signer.kid)
  const now = scores.map((score) => score.issuedAt).reduce((a, b) => (a > b ? a : b))
  const last = new Map(scores.map((score, place) => [score.username, place]))
  const replaced = scores.flatMap(({ replaces }) => replaces ?? [])
  const issued: IssuedCredential[] = []
  const superseded = replaced.length === 0 ? [] : await supersedeReplaced(tx, replaced, now)
  // A concurrent transaction may take a list index or insert the current credential of a subject.
  // Each round tries again the scores that were not inserted.
  for (let places = [...scores.keys()]; places.length > 0; ) {
    const slots = await freeSlots(tx, issuer, places.length)
    const signed = places.map((place, i) => {
      const score = scores[place] as NewCredential
      const { row, issued } = signCredential(issuer, score, slots[i] as StatusSlot)
      const supersededAt = last.get(score.username) === place ? null : now
      return { place, issued, row: { ...row, supersededAt } }
    })
    const rows = signed.map(({ row }) => row)
    const current = rows.filter((row) => row.supersededAt === null).map((row) => row.subject)
    superseded.push(...(await supersedeCredentials(tx, current, now)))
    const inserted = new Set(await insertCredentials(tx, rows))
    for (const { place, issued: one, row } of signed) {
      if (!inserted.has(one.vcSha256)) continue
      issued[place] = one
      if (row.supersededAt !== null) superseded.push(row.vcSha256)
    }
    places = places.filter((place) => issued[place] === undefined)
    await refuseUsedIds(
      tx,
      places.map((place) => (scores[place] as NewCredential).id),
    )
  }
  if (issuer.supersedeRevokes && superseded.length > 0) await revokeDigests(tx, superseded, now)
  return issued
}

async function refuseUsedIds(tx: Tx, ids: readonly (string | undefined)[]): Promise<void> {
  const ownIds = ids.filter((id) => id !== undefined)
  const [used] = ownIds.length === 0 ? [] : await findCredentials(tx, ownIds)
  if (used !== undefined) throw new Error(`the credential id ${used.credentialId} is in use`)
}

/** Signs one credential. No I/O. */
export function signCredential(
  issuer: Issuer,
  score: NewCredential,
  slot: StatusSlot,
): { issued: IssuedCredential; row: CredentialRow } {
  const { origin, signer } = issuer
  const validFrom = score.issuedAt
  const id = score.id ?? randomUUID()
  const validUntil = new Date(validFrom.getTime() + issuer.validityDays * 86_400_000)
  const payload = credentialPayload(origin, score, { id, slot, validFrom, validUntil })
  const canonical = canonicalJson(payload)
  const vcSha256 = sha256(canonical)
  const proof = makeProof(
    {
      document: payload as unknown as Record<string, unknown>,
      shape: origin.shape,
      jcsSha256: vcSha256,
    },
    {
      form: 'native',
      created: payload.validFrom,
      verificationMethod: `${origin.issuer}#${signer.kid}`,
    },
    signer,
  )
  return {
    issued: {
      credential: { ...payload, proof },
      vcSha256: vcSha256.toString('hex'),
      statusToken: slot.token,
    },
    row: {
      vcSha256,
      statusToken: Buffer.from(slot.token, 'hex'),
      credentialId: id,
      subject: subjectUrl(origin, score.username),
      listId: slot.listId,
      listIndex: slot.index,
      kid: signer.kid,
      payload: canonical,
      proof: JSON.stringify(proof),
      issuedAt: validFrom,
      validUntil,
      supersededAt: null,
    },
  }
}

/**
 * Minimum of list indexes tried in one query, so that one query usually suffices for one
 * credential.
 */
const triesMin = 8
const fruitlessRoundsBeforeNewList = 8

/**
 * Returns unused random indexes in random open lists. Neither list nor index reveals the order of
 * issue.
 */
async function freeSlots(tx: Tx, issuer: Issuer, wanted: number): Promise<StatusSlot[]> {
  let listIds = await findOpenListIds(tx, issuer.origin.issuer)
  if (listIds.length === 0) listIds = await tendListsIn(tx, issuer, new Date())
  const free = new Map<string, StatusSlot>()
  for (let fruitless = 0; free.size < wanted; ) {
    // Every open list is almost full, and `tendLists` has not closed it yet.
    if (fruitless === fruitlessRoundsBeforeNewList) {
      listIds = [await openList(tx, issuer, new Date())]
      fruitless = 0
    }
    const before = free.size
    const tries = Array.from({ length: Math.max(triesMin, wanted - before) }, () =>
      randomSlot(listIds),
    )
    const taken = new Set((await findTakenSlots(tx, tries)).map(placeOf))
    for (const slot of tries) if (!taken.has(placeOf(slot))) free.set(placeOf(slot), slot)
    fruitless = free.size === before ? fruitless + 1 : 0
  }
  return [...free.values()].slice(0, wanted)
}

function placeOf(slot: { listId: string; index: number }): string {
  return `${slot.listId}/${slot.index}`
}

function randomSlot(listIds: readonly string[]): StatusSlot {
  const listId = listIds[randomInt(listIds.length)] as string
  return { listId, index: randomInt(listLength), token: randomBytes(32).toString('hex') }
}

/**
 * Closes lists that are full enough and opens new ones until `openListsWanted` are open. Returns
 * the ids of the open lists. The jobs process and bulk issuing call it repeatedly; it is cheap.
 */
export function tendLists(db: Db, issuer: Issuer, now: Date): Promise<string[]> {
  return db.transaction((tx) => tendListsIn(tx, issuer, now))
}

async function tendListsIn(tx: Tx, issuer: Issuer, now: Date): Promise<string[]> {
  await lockStatusLists(tx)
  const open: string[] = []
  for (const { listId, credentials } of await findOpenLists(tx, issuer.origin.issuer)) {
    if (credentials < listFillMax) open.push(listId)
    else await closeList(tx, listId, { at: now, afterlifeDays: listAfterlifeDays })
  }
  while (open.length < openListsWanted) open.push(await openList(tx, issuer, now))
  return open
}

/**
 * Inserts a list that is already published, with no bit set. A credential therefore never refers to
 * a missing list.
 */
async function openList(tx: Tx, issuer: Issuer, now: Date): Promise<string> {
  const listId = randomListId()
  await insertList(tx, signList(issuer, { listId, revision: 0, indexes: [], publishedAt: now }))
  return listId
}

const base32 = 'abcdefghijklmnopqrstuvwxyz234567'

/** Returns ten random base32 characters. A counter would reveal the volume and age of the list. */
function randomListId(): string {
  return Array.from(randomBytes(10), (byte) => base32[byte & 31]).join('')
}
