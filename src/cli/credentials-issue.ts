/**
 * `assay credentials issue`: scores in, signed credentials out, a batch a transaction. A credential is written after its transaction
 * has committed; so after a crash the registry may hold a batch that was not written, which a second run writes again.
 */
import { addAbortSignal } from 'node:stream'
import type { Config } from '../config/config.ts'
import { originOf } from '../score-credentials/payload.ts'
import { openSigners } from '../score-credentials/signers.ts'
import { withDatabase } from './context.ts'
import { usageError } from './fail.ts'
import { keepMemoryFlat } from './flat-memory.ts'
import { activeSigner, type Issuing } from './issue-batch.ts'
import { checkLines, type DryRun, type DryTally, issueLines, type Tally } from './issue-lines.ts'
import { type Input, openInput } from './lines.ts'
import type { Outcome } from './output.ts'
import { showProgress } from './progress.ts'
import { proofFormOf } from './proof-form.ts'
import { closed, errorSink, errorsFileOf, refuseSameFile } from './refusals.ts'
import { openSink } from './sink.ts'

export interface IssueFlags {
  from: string
  out: string
  errors?: string
  proof: string
  json?: boolean
  dryRun?: boolean
  replaceComputed?: boolean
}

export async function issueCommand(config: Config, flags: IssueFlags): Promise<Outcome> {
  keepMemoryFlat()
  const form = proofFormOf(flags.proof)
  if (flags.json && flags.out === '-' && !flags.dryRun)
    throw usageError('With --json standard output carries the report: name a file with --out.')
  const errorsFile = errorsFileOf(flags)
  refuseSameFile({ '--from': flags.from, '--out': flags.out, '--errors': errorsFile })
  const input = await openInput(flags.from)
  const previewing = {
    origin: originOf(config.publicUrl),
    replacesComputed: flags.replaceComputed ?? false,
  }
  if (flags.dryRun)
    return withDatabase(config, (db) =>
      dryRun({ db, previewing }, input, { config, flags, errorsFile }),
    )
  const issuing: Issuing = {
    ...previewing,
    validityDays: config.credentialValidityDays,
    supersedeRevokes: config.supersedeRevokes,
    signers: await openSigners(config.signingKeysDir),
    keysFolder: config.signingKeysDir,
  }
  return withDatabase(
    config,
    async (db, signal) => {
      // Before a file is made or emptied.
      await activeSigner(db, issuing)
      addAbortSignal(signal, input.chunks)
      await using closing = new AsyncDisposableStack()
      const out = closed(await openSink(flags.out), closing)
      const errors = closed(await errorSink(errorsFile), closing)
      const progress = showProgress(input.bytesTotal)
      closing.defer(() => progress.end())
      const startedAt = performance.now()
      const run = { db, issuing, form, out, errors, progress, signal }
      const tally = await issueLines(run, input.chunks)
      const ms = performance.now() - startedAt
      return summary(tally, { flags, errorsFile, ms })
    },
    { watchesSignal: true },
  )
}

async function dryRun(
  on: Pick<DryRun, 'db' | 'previewing'>,
  input: Input,
  { config, flags, errorsFile }: Omit<Circumstances, 'ms'> & { config: Config },
): Promise<Outcome> {
  await using closing = new AsyncDisposableStack()
  const errors = closed(await errorSink(errorsFile), closing)
  const progress = showProgress(input.bytesTotal)
  closing.defer(() => progress.end())
  const startedAt = performance.now()
  const tally = await checkLines({ ...on, errors, progress }, input.chunks)
  const { lines, ...outcome } = summary(tally, {
    flags,
    errorsFile,
    ms: performance.now() - startedAt,
  })
  return { ...outcome, lines: [...lines, ...renderSuperseded(tally, config)] }
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

interface Circumstances {
  flags: IssueFlags
  errorsFile: string | null
  ms: number
}

function summary(tally: Tally, { flags, errorsFile, ms }: Circumstances): Outcome {
  const ok = tally.rejected === 0 && !tally.interrupted
  const linesPerSecond = Math.round((tally.lines * 1_000) / Math.max(ms, 1))
  const told = flags.dryRun
    ? 'nothing issued (dry run)'
    : `${tally.issued} issued, ${tally.existing} had been issued`
  const lines = [
    `${tally.lines} lines: ${told}, ${tally.rejected} refused (${linesPerSecond} lines/s)`,
  ]
  // Without a refused line there is no file.
  const errors = tally.rejected > 0 ? errorsFile : null
  if (errors !== null) lines.push(`The refused lines are in ${errors}.`)
  if (tally.interrupted)
    lines.push('Interrupted. Run it again: lines with an id are not issued twice.')
  return {
    exitCode: ok ? 0 : 1,
    report: { ok, ...tally, linesPerSecond, out: flags.out, errors },
    lines,
    linesTo: 'stderr',
  }
}
