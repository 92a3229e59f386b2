/** The loop of `assay credentials issue`: read a batch, commit it, write it; what is refused goes to another file. */
import { systemClock } from '../platform/clock.ts'
import type { Db } from '../platform/db/db.ts'
import type { Fault } from '../platform/json/shape-fault.ts'
import { tendLists } from '../score-credentials/issue.ts'
import type { ProofForm } from '../score-credentials/proof.ts'
import {
  activeSigner,
  type Issued,
  type Issuing,
  issueBatch,
  type Preview,
  previewBatch,
  type Superseded,
} from './issue-batch.ts'
import { type Line, type LineBatch, lineBatches } from './lines.ts'
import type { Progress } from './progress.ts'
import { convertProofOrFail } from './proof-form.ts'
import { refusalLine, tooLong } from './refusals.ts'
import { readScoreLine, type ScoreToIssue } from './score-line.ts'
import type { Sink } from './sink.ts'

/** A score takes some 300 bytes. */
const lineBytesMax = 16_384
const batchMax = 256
const batchesBetweenTending = 40

export interface Tally {
  lines: number
  issued: number
  /** Issued by an earlier line or run, and written again. */
  existing: number
  rejected: number
  interrupted: boolean
}

export interface IssueRun {
  db: Db
  issuing: Issuing
  form: ProofForm
  out: Sink
  errors: Sink
  progress: Progress
  signal: AbortSignal
}

/** When `signal` comes, the batch in hand is committed and written, and no other is begun. */
export async function issueLines(run: IssueRun, chunks: AsyncIterable<Uint8Array>): Promise<Tally> {
  const tally = { lines: 0, issued: 0, existing: 0, rejected: 0, interrupted: false }
  let batches = 0
  try {
    for await (const batch of lineBatches(chunks, { bytesMax: lineBytesMax, batchMax })) {
      if (run.signal.aborted) break
      if (batches++ % batchesBetweenTending === 0) await tend(run)
      await issueOneBatch(run, batch, tally)
    }
  } catch (error) {
    // The input was closed under us, on the operator's word.
    if (!(error instanceof Error && error.name === 'AbortError')) throw error
  }
  tally.interrupted = run.signal.aborted
  return tally
}

/** What a dry run finds: `issued` stays 0. */
export interface DryTally extends Tally {
  /** Credentials whose place a line would take, and how many of them state a computed score. */
  supersedes: { credentials: number; computed: number; first: Superseded[] }
}

/** Named of those that would be superseded; a file may hold any number. */
const supersededShownMax = 20

export interface DryRun extends Pick<IssueRun, 'db' | 'errors' | 'progress'> {
  previewing: Pick<Issuing, 'origin' | 'replacesComputed'>
}

/** Says what would become of the lines, and issues nothing. */
export async function checkLines(
  { db, previewing, errors, progress }: DryRun,
  chunks: AsyncIterable<Uint8Array>,
): Promise<DryTally> {
  const supersedes: DryTally['supersedes'] = { credentials: 0, computed: 0, first: [] }
  const tally = { lines: 0, issued: 0, existing: 0, rejected: 0, interrupted: false, supersedes }
  // Only the first line for a worker takes the place of what is there now.
  const counted = new Set<string>()
  for await (const batch of lineBatches(chunks, { bytesMax: lineBytesMax, batchMax })) {
    const read = batch.lines.map(readLine)
    const previews = (await previewBatch(db, previewing, scoresIn(read))).values()
    for (const [i, line] of read.entries()) {
      const preview = 'refused' in line ? line : (previews.next().value as Preview)
      tally.lines++
      if ('refused' in preview) {
        tally.rejected++
        await errors.write(refusalLine(batch.lines[i] as Line, preview.refused))
      } else if ('existing' in preview) tally.existing++
      else if (preview.supersedes !== null && !counted.has(preview.supersedes.credentialId)) {
        counted.add(preview.supersedes.credentialId)
        supersedes.credentials++
        if (preview.supersedes.computed) supersedes.computed++
        if (supersedes.first.length < supersededShownMax) supersedes.first.push(preview.supersedes)
      }
    }
    progress.at(tally.lines, batch.bytesRead)
  }
  return tally
}

function scoresIn(read: readonly (ScoreToIssue | { refused: Fault })[]): ScoreToIssue[] {
  return read.filter((line): line is ScoreToIssue => !('refused' in line))
}

async function tend({ db, issuing }: IssueRun): Promise<void> {
  const signer = await activeSigner(db, issuing)
  await tendLists(db, { ...issuing, signer }, systemClock())
}

async function issueOneBatch(run: IssueRun, batch: LineBatch, tally: Tally): Promise<void> {
  const { db, issuing, form, out, errors, progress } = run
  const { signers, origin } = issuing
  const read = batch.lines.map(readLine)
  const issued = await issueBatch(db, issuing, { scores: scoresIn(read), now: systemClock() })
  const answers = issued.values()
  let credentials = ''
  let refusals = ''
  for (const [i, line] of read.entries()) {
    const answer = 'refused' in line ? line : (answers.next().value as Issued)
    tally.lines++
    if ('refused' in answer) {
      tally.rejected++
      refusals += refusalLine(batch.lines[i] as Line, answer.refused)
      continue
    }
    tally[answer.now ? 'issued' : 'existing']++
    const credential = await convertProofOrFail(answer.credential, form, {
      origins: [origin],
      signers,
    })
    credentials += `${JSON.stringify(credential)}\n`
  }
  if (refusals !== '') await errors.write(refusals)
  if (credentials !== '') await out.write(credentials)
  progress.at(tally.lines, batch.bytesRead)
}

function readLine(line: Line): ScoreToIssue | { refused: Fault } {
  return line.isTooLong ? { refused: tooLong(lineBytesMax) } : readScoreLine(line.bytes)
}
