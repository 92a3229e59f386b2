/**
 * The loop of `assay credentials issue`: reads a batch, commits it, and writes its credentials.
 * After a crash the registry may hold a batch that was not written; a second run writes it again.
 */
import type { Config } from '../config/config.ts'
import { tendLists } from '../credentials/issue.ts'
import { originOf } from '../credentials/payload.ts'
import type { ProofForm } from '../credentials/proof.ts'
import {
  activeSigner,
  type Credential,
  convertProof,
  openSigners,
  type ProofConversion,
} from '../credentials/signers.ts'
import { systemClock } from '../platform/clock.ts'
import { counted } from '../platform/counted.ts'
import type { Fault } from '../platform/json/shape-fault.ts'
import {
  type Line,
  type LineBatch,
  lineTooLong,
  readLineBatches,
} from '../platform/line-batches.ts'
import {
  type Issued,
  type Issuing,
  issueScores,
  type Preview,
  previewScores,
  readScoreLine,
  type ScoreToIssue,
  type Superseded,
} from '../scoring/scores/issue-scores.ts'
import { type CommandContext, withContext } from './context.ts'
import {
  batchesUntil,
  chooseErrorsFile,
  type Input,
  openErrorsFile,
  openInput,
  renderRejectedLine,
  requireDifferentFiles,
} from './input-lines.ts'
import { failure, type Outcome, usageError } from './output.ts'
import { type OutputFile, openOutput } from './output-file.ts'
import { type Progress, renderProgress } from './render.ts'

export interface IssueFlags {
  from: string
  out: string
  errors?: string
  proof: ProofForm
  json?: boolean
  dryRun?: boolean
  replaceComputed?: boolean
}

export async function issueFile(flags: IssueFlags): Promise<Outcome> {
  const { from, out, json = false, dryRun = false } = flags
  if (json && out === '-' && !dryRun)
    throw usageError('With --json, standard output carries the report. Name a file with --out.')
  const errorsFile = chooseErrorsFile(flags)
  requireDifferentFiles({ '--from': from, '--out': out, '--errors': errorsFile })
  const input = await openInput(from)
  const work = dryRun ? checkFile : issueInput
  return withContext((context) => work(context, input, { flags, errorsFile }), {
    watchesSignal: !dryRun,
  })
}

interface Files {
  flags: IssueFlags
  /** Null: rejected lines go to standard error. */
  errorsFile: string | null
}

/** A score takes some 300 bytes. */
const lineBytesMax = 16_384
const batchMax = 256
const batchesBetweenMaintenance = 40

interface Tally {
  lines: number
  issued: number
  /** Issued by an earlier line or run, and written again. */
  existing: number
  rejected: number
  interrupted: boolean
}

const nothing: Tally = { lines: 0, issued: 0, existing: 0, rejected: 0, interrupted: false }

interface IssueRun {
  context: CommandContext
  issuing: Issuing
  form: ProofForm
  out: OutputFile
  errors: OutputFile
  progress: Progress
  tally: Tally
}

async function issueInput(
  context: CommandContext,
  { chunks, bytesTotal }: Input,
  { flags, errorsFile }: Files,
): Promise<Outcome> {
  const { config, db } = context
  const issuing: Issuing = {
    ...issuerOf(config),
    replacesComputed: flags.replaceComputed ?? false,
    signers: await openSigners(config.signingKeysDir),
  }
  // Without an active key the command fails here, before a file is made or emptied.
  await activeSigner(db, issuing.signers)
  await using out = await openOutput(flags.out)
  await using errors = await openErrorsFile(errorsFile)
  using progress = renderProgress(bytesTotal)
  const startedAt = performance.now()
  const run = { context, issuing, form: flags.proof, out, errors, progress, tally: { ...nothing } }
  await issueLines(run, chunks)
  return renderSummary(run.tally, { flags, errorsFile, ms: performance.now() - startedAt })
}

function issuerOf(config: Config) {
  return {
    origin: originOf(config.publicUrl),
    validityDays: config.credentialValidityDays,
    supersedeRevokes: config.supersedeRevokes,
  }
}

/** After an interruption, the current batch is committed and written, and no other is begun. */
async function issueLines(run: IssueRun, chunks: Input['chunks']): Promise<void> {
  const { context, tally } = run
  const { signal } = context
  const limits = { bytesMax: lineBytesMax, batchMax }
  let batches = 0
  for await (const batch of batchesUntil(signal, chunks, readLineBatches(chunks, limits))) {
    if (batches++ % batchesBetweenMaintenance === 0) await maintainLists(run)
    await issueBatch(run, batch)
  }
  tally.interrupted = signal.aborted
}

async function maintainLists({ context, issuing }: IssueRun): Promise<void> {
  const signer = await activeSigner(context.db, issuing.signers)
  await tendLists(context.db, { ...issuing, signer }, systemClock())
}

async function issueBatch(run: IssueRun, batch: LineBatch): Promise<void> {
  const { context, issuing, form, out, errors, progress, tally } = run
  const { signers, origin } = issuing
  const read = batch.lines.map(readLine)
  const answers = (await issueScores(context, issuing, scoresIn(read))).values()
  let credentials = ''
  let rejected = ''
  for (const [i, line] of read.entries()) {
    const answer = 'refused' in line ? line : (answers.next().value as Issued)
    tally.lines++
    if ('refused' in answer) {
      tally.rejected++
      rejected += renderRejectedLine(batch.lines[i] as Line, answer.refused)
      continue
    }
    tally[answer.now ? 'issued' : 'existing']++
    const conversion = { origins: [origin], signers }
    const credential = await convertProofOrFail(answer.credential, form, conversion)
    credentials += `${JSON.stringify(credential)}\n`
  }
  if (rejected !== '') await errors.write(rejected)
  if (credentials !== '') await out.write(credentials)
  progress.update(tally.lines, batch.bytesRead)
}

interface DryTally extends Tally {
  /** The credentials that the lines would supersede; `computed` counts those of computed scores. */
  supersedes: { credentials: number; computed: number; first: Superseded[] }
}

/** A file may supersede any number of credentials; the first ones are named. */
const supersededShownMax = 20

/** Reports what would become of the lines, and issues nothing. */
async function checkFile(
  { db, config }: CommandContext,
  { chunks, bytesTotal }: Input,
  { flags, errorsFile }: Files,
): Promise<Outcome> {
  await using errors = await openErrorsFile(errorsFile)
  using progress = renderProgress(bytesTotal)
  const startedAt = performance.now()
  const issuing = { ...issuerOf(config), replacesComputed: flags.replaceComputed ?? false }
  const tally: DryTally = { ...nothing, supersedes: { credentials: 0, computed: 0, first: [] } }
  // Only the first line for a worker supersedes the current credential.
  const superseded = new Set<string>()
  for await (const batch of readLineBatches(chunks, { bytesMax: lineBytesMax, batchMax })) {
    const read = batch.lines.map(readLine)
    const previews = (await previewScores(db, issuing, scoresIn(read))).values()
    for (const [i, line] of read.entries()) {
      const preview = 'refused' in line ? line : (previews.next().value as Preview)
      if ('refused' in preview)
        await errors.write(renderRejectedLine(batch.lines[i] as Line, preview.refused))
      countPreview(tally, preview, superseded)
    }
    progress.update(tally.lines, batch.bytesRead)
  }
  const ms = performance.now() - startedAt
  const { lines, ...outcome } = renderSummary(tally, { flags, errorsFile, ms })
  return { ...outcome, lines: [...lines, ...renderSuperseded(tally, config)] }
}

function countPreview(tally: DryTally, preview: Preview, superseded: Set<string>): void {
  const { supersedes } = tally
  tally.lines++
  if ('refused' in preview) tally.rejected++
  else if ('existing' in preview) tally.existing++
  else if (preview.supersedes !== null && !superseded.has(preview.supersedes.credentialId)) {
    superseded.add(preview.supersedes.credentialId)
    supersedes.credentials++
    if (preview.supersedes.computed) supersedes.computed++
    if (supersedes.first.length < supersededShownMax) supersedes.first.push(preview.supersedes)
  }
}

function scoresIn(read: readonly (ScoreToIssue | { refused: Fault })[]): ScoreToIssue[] {
  return read.filter((line): line is ScoreToIssue => !('refused' in line))
}

function readLine(line: Line): ScoreToIssue | { refused: Fault } {
  return line.isTooLong ? { refused: lineTooLong(lineBytesMax) } : readScoreLine(line.bytes)
}

function renderSuperseded({ supersedes }: DryTally, { supersedeRevokes }: Config): string[] {
  const { credentials, computed, first } = supersedes
  if (credentials === 0) return []
  const verb = supersedeRevokes ? 'supersede and revoke' : 'supersede'
  const more = credentials - first.length
  return [
    `Credentials that this would ${verb}: ${credentials}, of computed scores: ${computed}.`,
    ...first.map(
      ({ username, score, credentialId, computed }) =>
        `  ${username}: score ${String(score)}${computed ? ', computed' : ''}, credential ${credentialId}`,
    ),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ]
}

function renderSummary(tally: Tally, { flags, errorsFile, ms }: Files & { ms: number }): Outcome {
  const ok = tally.rejected === 0 && !tally.interrupted
  const linesPerSecond = Math.round((tally.lines * 1_000) / Math.max(ms, 1))
  const result = flags.dryRun
    ? 'nothing issued (dry run)'
    : `${tally.issued} issued, ${tally.existing} issued before`
  const lines = [
    `${counted(tally.lines, 'line')}: ${result}, ${tally.rejected} rejected (${linesPerSecond} lines/s)`,
  ]
  // Without a rejected line there is no file.
  const errors = tally.rejected > 0 ? errorsFile : null
  if (errors !== null) lines.push(`The rejected lines are in ${errors}.`)
  if (tally.interrupted)
    lines.push('Interrupted. Run the command again: a line with an id is issued once.')
  return {
    exitCode: ok ? 0 : 1,
    report: { ok, ...tally, linesPerSecond, out: flags.out, errors },
    lines,
    linesTo: 'stderr',
  }
}

/** Calls `convertProof`. Throws `Failure` if the private key that signed is not on this machine. */
async function convertProofOrFail(
  credential: Credential,
  form: ProofForm,
  conversion: ProofConversion,
): Promise<Credential> {
  const made = await convertProof(credential, form, conversion)
  if ('credential' in made) return made.credential
  throw failure(
    `${String(credential.id)} was signed by ${made.cannotSignAs}, and its private key is not on this machine. Use --proof native.`,
  )
}
