/**
 * Replay of a score with the engine, rules and evidence that made it. No current data is used, so
 * neither a release nor a corrected source changes the result of an old score.
 */
import { sha256Hex } from '../../platform/crypto/bytes.ts'
import type { Db, Queryable } from '../../platform/db/db.ts'
import { canonicalJson } from '../../platform/json/canonical-json.ts'
import { findWorkerIds } from '../../workers/api.ts'
import type { Evidence, ScoreInput, Vocabulary } from '../core/evidence.ts'
import type { ScoreResult } from '../core/score.ts'
import { EngineRefused, loadEngineOf, type PastEngine } from './engine.ts'
import {
  bytesAfter,
  type ErasedSnapshot,
  findErasedFrom,
  findRules,
  findSnapshotsFrom,
  publishedOfResult,
  type StoredSnapshot,
} from './history-store.ts'
import { resultOf } from './score-change.ts'
import { evidenceRootOf, evidenceTexts, snapshotId } from './snapshot.ts'

/** Engine and vocabulary that made a score. */
export interface Makers {
  engine: PastEngine
  vocabulary: Vocabulary
}

/** The hashes of the engine and the vocabulary that made a score. */
type MadeBy = Pick<StoredSnapshot, 'engineSha256' | 'vocabularySha256'>

/** Thrown if the vocabulary of a score is missing or altered. */
export class MakersMissing extends Error {
  override readonly name = 'MakersMissing'
}

/**
 * Returns a function that loads the engine and the vocabulary of a score, each of them once. `root`
 * is the folder that holds `engines/`. The function throws `EngineRefused` for the file of an
 * engine and `MakersMissing` for a vocabulary.
 */
export function openMakers(db: Queryable, root?: string): (stored: MadeBy) => Promise<Makers> {
  const engines = new Map<string, Promise<PastEngine>>()
  const vocabularies = new Map<string, Promise<Vocabulary>>()
  return async ({ engineSha256, vocabularySha256 }) => ({
    engine: await kept(engines, engineSha256, (hash) => loadEngineOf(hash, root)),
    vocabulary: await kept(vocabularies, vocabularySha256, (hash) => vocabularyOf(db, hash)),
  })
}

type Replayed =
  | { verdict: 'agrees' }
  | { verdict: 'differs'; difference: string }
  /**
   * The score can be neither confirmed nor contradicted. `reason` describes the fault of the
   * engine's file.
   */
  | { verdict: 'engine unavailable'; reason: string }

/**
 * Computes a score again and compares. A missing or altered vocabulary is a difference, because it
 * is in the database like the score.
 */
export async function replay(
  stored: StoredSnapshot,
  makersOf: (stored: StoredSnapshot) => Promise<Makers>,
): Promise<Replayed> {
  try {
    const difference = differenceOf(stored, await makersOf(stored))
    return difference === null ? { verdict: 'agrees' } : { verdict: 'differs', difference }
  } catch (error) {
    if (error instanceof EngineRefused)
      return { verdict: 'engine unavailable', reason: error.message }
    if (error instanceof MakersMissing) return { verdict: 'differs', difference: error.message }
    throw error
  }
}

function differenceOf(stored: StoredSnapshot, { engine, vocabulary }: Makers): string | null {
  const { nonce, workerId, asOf, evidenceRoot } = stored
  const evidence = JSON.parse(stored.evidence) as Evidence[]
  const texts = evidenceTexts(evidence)
  if (!evidenceRootOf(texts, nonce).equals(evidenceRoot))
    return 'the evidence is not that of its root'
  const result = resultOf(engine, inputOf(stored, vocabulary))
  if (result === null) return 'the engine refuses the evidence'
  if (canonicalJson(result) !== stored.result) return 'the result differs'
  if (!hasResult(stored, result) || !isNamed(stored, engine))
    return 'the score that is published is not that of the result'
  const facts = { workerId, asOf, nonce, engine, evidenceRoot, result }
  const vocabularySha256 = stored.vocabularySha256.toString('hex')
  const id = snapshotId({ ...facts, vocabularySha256 })
  return id.equals(stored.snapshotId) ? null : 'the id differs'
}

/** Returns the input that the engine received. */
export function inputOf({ evidence, asOf }: StoredSnapshot, vocabulary: Vocabulary): ScoreInput {
  const asOfDay = Date.parse(asOf) / 86_400_000
  return { evidence: JSON.parse(evidence) as Evidence[], vocabulary, asOfDay }
}

function isNamed(
  { engineId, engineVersion }: StoredSnapshot,
  { id, version }: PastEngine,
): boolean {
  return engineId === id && engineVersion === version
}

function hasResult(stored: StoredSnapshot, result: ScoreResult): boolean {
  return publishedOfResult.every((name) => stored[name] === result[name])
}

async function vocabularyOf(db: Queryable, sha256: string): Promise<Vocabulary> {
  const rules = await findRules(db, Buffer.from(sha256, 'hex'))
  if (rules === undefined) throw new MakersMissing(`no vocabulary has the SHA-256 ${sha256}`)
  if (sha256Hex(rules) !== sha256) throw new MakersMissing(`the rules under ${sha256} were changed`)
  return JSON.parse(rules) as Vocabulary
}

function kept<Value>(
  values: Map<string, Promise<Value>>,
  hash: Buffer,
  load: (hash: string) => Promise<Value>,
): Promise<Value> {
  const name = hash.toString('hex')
  const value = values.get(name) ?? load(name)
  values.set(name, value)
  return value
}

/** An engine whose file is missing or altered. */
export interface UnavailableEngine {
  version: string
  sha256: string
  reason: string
}

interface Difference {
  snapshotId: string
  difference: string
}

export interface ReplayTally {
  replayed: number
  /** Scores whose engine is not available. */
  notReplayed: number
  /** Scores of erased workers, whose evidence is gone. */
  erased: number
  differ: number
  /** The first differing scores. */
  differing: Difference[]
  unavailable: (UnavailableEngine & { scores: number })[]
}

interface ReplayAllOptions {
  /** Folder that holds `engines/`, by default that of this project. */
  root?: string
  onDifference?: (difference: Difference) => void
  /** Called after each page. It may throw to end the replay. */
  onPage?: (tally: ReplayTally) => void
}

const pageRows = 500
const differingMax = 1_000

/**
 * Replays page by page in the order of ids, so memory does not grow with the history. Scores that
 * are issued meanwhile may be included.
 */
export async function replayAll(db: Db, options: ReplayAllOptions = {}): Promise<ReplayTally> {
  const { root, onPage } = options
  const makersOf = openMakers(db, root)
  const tally: ReplayTally = {
    replayed: 0,
    notReplayed: 0,
    erased: 0,
    differ: 0,
    differing: [],
    unavailable: [],
  }
  for await (const page of pages((from) => findSnapshotsFrom(db, from, pageRows))) {
    for (const stored of page) count(tally, stored, await replay(stored, makersOf), options)
    onPage?.(tally)
  }
  for await (const page of pages((from) => findErasedFrom(db, from, pageRows))) {
    await countErased(db, tally, page, options)
    onPage?.(tally)
  }
  return tally
}

function count(
  tally: ReplayTally,
  stored: StoredSnapshot,
  result: Replayed,
  options: ReplayAllOptions,
): void {
  if (result.verdict === 'engine unavailable') {
    tally.notReplayed++
    countUnavailable(tally, stored, result.reason)
    return
  }
  tally.replayed++
  if (result.verdict === 'differs') countDifference(tally, stored, result.difference, options)
}

function countUnavailable(
  { unavailable }: ReplayTally,
  { engineVersion: version, engineSha256 }: StoredSnapshot,
  reason: string,
): void {
  const sha256 = engineSha256.toString('hex')
  const known = unavailable.find((engine) => engine.sha256 === sha256)
  if (known === undefined) unavailable.push({ version, sha256, reason, scores: 1 })
  else known.scores++
}

function countDifference(
  tally: ReplayTally,
  { snapshotId: id }: ErasedSnapshot,
  difference: string,
  { onDifference }: ReplayAllOptions,
): void {
  const one = { snapshotId: id.toString('hex'), difference }
  if (++tally.differ <= differingMax) tally.differing.push(one)
  onDifference?.(one)
}

/** Only an erasure may remove the evidence of a score. */
async function countErased(
  db: Db,
  tally: ReplayTally,
  gone: readonly ErasedSnapshot[],
  options: ReplayAllOptions,
): Promise<void> {
  const workerIds = gone.map(({ workerId }) => workerId)
  const found = await findWorkerIds(db, { workerIds, externalIds: [], usernames: [] })
  const present = new Set(found.map(({ workerId }) => workerId))
  for (const snapshot of gone)
    if (present.has(snapshot.workerId))
      countDifference(tally, snapshot, 'its evidence is gone', options)
    else tally.erased++
}

async function* pages<Row extends ErasedSnapshot>(
  find: (from: Buffer) => Promise<Row[]>,
): AsyncGenerator<Row[]> {
  for (let from: Buffer = Buffer.alloc(0); ; ) {
    const page = await find(from)
    const last = page.at(-1)
    if (last === undefined) return
    yield page
    from = bytesAfter(last.snapshotId)
  }
}
