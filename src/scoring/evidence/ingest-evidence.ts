/**
 * Import of evidence. A source identifies an item by its external id. The same external id with the
 * same content changes nothing; with different content it is refused.
 */
import type { Applied } from '../../operations/ingest.ts'
import { changed, unchanged } from '../../operations/operation.ts'
import { sha256 } from '../../platform/crypto/bytes.ts'
import { type Db, planAnew, type Tx } from '../../platform/db/db.ts'
import { uuidV7 } from '../../platform/db/uuid-v7.ts'
import { canonicalJson } from '../../platform/json/canonical-json.ts'
import { findWorkerIds, holdWorkers } from '../../workers/api.ts'
import type { Vocabulary } from '../core/evidence.ts'
import { evidenceFault, type WorkerName, workerNameOf } from './evidence-line.ts'
import { type BadgeSigner, readBadge } from './open-badge.ts'
import { deleteImport, markForRecomputation, renewImport } from './recomputation-store.ts'
import { knownSources } from './register-source.ts'
import {
  type Achievement,
  type BadgeLine,
  type EvidenceLine,
  type Refused,
  refused,
} from './schema.ts'
import {
  type EvidenceRow,
  findEvidenceByName,
  insertEvidence,
  insertPrivate,
  type StoredEvidence,
} from './store.ts'

export type Ingested = { result: 'added' | 'unchanged'; evidenceId: string } | Refused

export interface IngestRules {
  vocabulary: Vocabulary
  /** Rules for Open Badges. Without them every badge is refused. */
  badges?: BadgeRules
  now: Date
  /**
   * Names the import that the lines are a batch of. Its workers are scored when `endImport` is
   * called, or when no batch follows. Without it they are due at once.
   */
  importId?: string
}

export interface BadgeRules {
  /** Achievement id to skill, type and value. */
  achievements: ReadonlyMap<string, Achievement>
  /**
   * If true, badges with a `credentialStatus` are accepted, although the status is not looked up.
   */
  acceptsUncheckedStatus: boolean
}

const noBadges: BadgeRules = { achievements: new Map(), acceptsUncheckedStatus: false }

/** Adds evidence. The audit entry names the first and the last item. */
export async function importEvidence(
  tx: Tx,
  lines: readonly (EvidenceLine | BadgeLine)[],
  rules: IngestRules,
): Promise<Applied<'added' | 'unchanged', 'evidence.imported'>> {
  const answers = await ingestEvidence(tx, lines, rules)
  const added = answers.flatMap((one) =>
    'result' in one && one.result === 'added' ? one.evidenceId : [],
  )
  const [first, last] = [added.at(0), added.at(-1)]
  if (first === undefined || last === undefined) return unchanged(answers)
  return changed(answers, {
    subjects: [...new Set([first, last])],
    details: { count: added.length },
  })
}

/** Makes the workers of an import due. If it is never called, they are due some seconds later. */
export function endImport(db: Db, importId: string, now: Date): Promise<void> {
  return db.transaction((tx) => deleteImport(tx, importId, now))
}

/**
 * Adds evidence and returns one answer for each line, in order. New items, their private parts and
 * the marks of their workers commit together.
 */
export async function ingestEvidence(
  tx: Tx,
  lines: readonly (EvidenceLine | BadgeLine)[],
  rules: IngestRules,
): Promise<Ingested[]> {
  await planAnew(tx)
  if (rules.importId !== undefined) await renewImport(tx, rules.importId, rules.now)
  const read = await itemsOf(tx, lines, rules)
  const sound = read.filter((one) => 'item' in one).map(({ item }) => item)
  const first = firstOfEachName(sound)
  const known = await add(tx, first, rules)
  return read.map((one): Ingested => {
    if ('refused' in one) return one
    const { item } = one
    const stored = known.get(item.name) ?? first.get(item.name)
    if (stored === undefined) throw new Error('evidence is neither new nor known')
    const { evidenceId } = stored
    if (stored === item) return { result: 'added', evidenceId }
    if (isSame(stored, item)) return { result: 'unchanged', evidenceId }
    return refused('externalId', 'is in use for another content')
  })
}

type Stored = Omit<StoredEvidence, 'sourceId' | 'externalId'>

interface Item extends EvidenceRow, Stored {
  /** Source id and external id in one text. */
  name: string
}

/** Turns each line into an item, or into the reason for refusing it. */
async function itemsOf(
  tx: Tx,
  lines: readonly (EvidenceLine | BadgeLine)[],
  rules: IngestRules,
): Promise<Read[]> {
  const sources = await knownSources(tx, [...new Set(lines.map((line) => line.sourceId))])
  const named = lines.map((line) => ({ line, worker: workerNameOf(line) }))
  const names = named.flatMap(({ worker }) => ('by' in worker ? worker : []))
  const workers = await holdNamedWorkers(tx, names)
  return named.map(({ line, worker }) => {
    const source = sources.get(line.sourceId)
    if (source === undefined) return refused('sourceId', 'is not a registered source')
    if ('reason' in worker) return { refused: worker }
    const workerId = workers.get(nameKey(worker))
    if (workerId === undefined) return refused(worker.by, 'is not a registered worker')
    return 'credential' in line
      ? readBadgeItem(line, workerId, { ...rules, source })
      : readItem(line, workerId, rules)
  })
}

type Read = { item: Item } | Refused

function readItem(line: EvidenceLine, workerId: string, { vocabulary, now }: IngestRules): Read {
  const fault = evidenceFault(line, { vocabulary, today: dateOf(now) })
  return fault === null ? { item: itemOf(line, workerId, now) } : { refused: fault }
}

/** Reads a badge as evidence. Its private part is the badge itself. */
function readBadgeItem(
  { sourceId, credential }: BadgeLine,
  workerId: string,
  rules: IngestRules & { source: BadgeSigner },
): Read {
  const { source, badges = noBadges, now } = rules
  const badge = readBadge(credential, { ...source, ...badges, now })
  if ('reason' in badge) return { refused: badge }
  const read = readItem({ ...badge, sourceId }, workerId, rules)
  if ('refused' in read) return read
  return { item: { ...read.item, payload: canonicalJson({ openBadge: credential }) } }
}

function dateOf(time: Date): string {
  return time.toISOString().slice(0, 10)
}

/** Returns worker ids by `nameKey`. Locks the workers against erasure until the transaction ends. */
export async function holdNamedWorkers(
  tx: Tx,
  names: readonly WorkerName[],
): Promise<Map<string, string>> {
  const namedBy = (by: WorkerName['by']): string[] => [
    ...new Set(names.flatMap((one) => (one.by === by ? one.name : []))),
  ]
  const found = await findWorkerIds(tx, {
    workerIds: namedBy('workerId'),
    externalIds: namedBy('workerExternalId'),
    usernames: namedBy('username'),
  })
  const there = await holdWorkers(tx, [...new Set(found.map(({ workerId }) => workerId))])
  const held = found.filter(({ workerId }) => there.has(workerId))
  return new Map(held.map((row) => [nameKey(row), row.workerId]))
}

export function nameKey({ by, name }: WorkerName): string {
  return `${by} ${name}`
}

function itemOf(line: EvidenceLine, workerId: string, now: Date): Item {
  const { sourceId, externalId, skillId, type, value, observedOn, expiresOn = null } = line
  const name = JSON.stringify([sourceId, externalId])
  const isOver = expiresOn !== null && expiresOn <= dateOf(now)
  return {
    name,
    evidenceId: uuidV7(now),
    workerId,
    sourceId,
    externalId,
    skillId,
    type,
    value,
    observedOn,
    expiresOn,
    // An item without an artefact has the digest of its own name.
    digest: line.digest === undefined ? sha256(name) : Buffer.from(line.digest, 'hex'),
    ingestedAt: now,
    state: isOver ? 'expired' : 'active',
    payload: line.private === undefined ? null : canonicalJson(line.private),
    isErased: false,
  }
}

function firstOfEachName(items: readonly Item[]): Map<string, Item> {
  const first = new Map<string, Item>()
  for (const item of items) if (!first.has(item.name)) first.set(item.name, item)
  return first
}

/** Returns the stored items by name. */
async function storedByName(
  tx: Tx,
  items: ReadonlyMap<string, Item>,
): Promise<Map<string, Stored>> {
  const found = items.size === 0 ? [] : await findEvidenceByName(tx, [...items.values()])
  return new Map(found.map((row) => [JSON.stringify([row.sourceId, row.externalId]), row]))
}

/**
 * Inserts new items. Returns the items that were there before or that another transaction inserted
 * meanwhile.
 */
async function add(
  tx: Tx,
  items: ReadonlyMap<string, Item>,
  { now, importId }: IngestRules,
): Promise<Map<string, Stored>> {
  const fresh = [...items.values()]
  const inserted = fresh.length === 0 ? new Set() : await insertEvidence(tx, fresh)
  const added = fresh.filter(({ evidenceId }) => inserted.has(evidenceId))
  const payloads = added.flatMap(({ evidenceId, payload }) =>
    payload === null ? [] : { evidenceId, payload },
  )
  if (payloads.length > 0) await insertPrivate(tx, payloads)
  const workers = added.map(({ workerId }) => workerId)
  await markForRecomputation(tx, workers, { reason: 'evidence_added', now, importId })
  const before = fresh.filter(({ evidenceId }) => !inserted.has(evidenceId))
  return storedByName(tx, new Map(before.map((item) => [item.name, item])))
}

/**
 * Compares the content. An erased private part cannot be compared and counts as equal, so the item
 * stays erased.
 */
function isSame(stored: Stored, item: Item): boolean {
  return (
    stored.workerId === item.workerId &&
    stored.skillId === item.skillId &&
    stored.type === item.type &&
    stored.value === item.value &&
    stored.observedOn === item.observedOn &&
    stored.expiresOn === item.expiresOn &&
    stored.digest.equals(item.digest) &&
    (stored.isErased || stored.payload === item.payload)
  )
}
