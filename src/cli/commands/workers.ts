/** `assay workers`: the workers, with everything that is stored about them. */
import { writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import type { Command } from 'commander'
import type { Dispute } from '../../disputes/dispute.ts'
import { findDisputes, findLatestDisputeIds } from '../../disputes/store.ts'
import { wireTime } from '../../platform/clock.ts'
import { counted } from '../../platform/counted.ts'
import { eraseWorkerFor } from '../../privacy/erase-worker.ts'
import { exportWorkerFor } from '../../privacy/export-worker.ts'
import { type ErasureReason, erasureReasons } from '../../privacy/reasons.ts'
import { findActiveSnapshots } from '../../scores/store.ts'
import { workersImport } from '../../scores/worker-ingest.ts'
import { hidingScore, type ScoreGate } from '../../workers/gate.ts'
import { identityAt } from '../../workers/identity-state.ts'
import { missingFor } from '../../workers/onboard.ts'
import { type Permission, permissions } from '../../workers/schema.ts'
import type { Worker } from '../../workers/store.ts'
import { byOption, formatOption, oneOf, usernameArgument } from '../args.ts'
import { act, command } from '../command.ts'
import { withContext } from '../context.ts'
import { failure, unknownWorker, usageError } from '../fail.ts'
import { type ImportFlags, importLines } from '../import-lines.ts'
import { workerNamed } from '../names.ts'
import { done, note, type Outcome } from '../output.ts'
import { oneLine, renderFields } from '../render.ts'

export function declareCommand(workers: Command): void {
  command(
    workers,
    'import',
    'Register workers, or update their profiles, from a file',
    'assay workers import --from workers.ndjson',
  )
    .requiredOption('--from <file>', 'workers, one a line; - for standard input')
    .option(...formatOption)
    .option('--errors <file>', 'for rejected lines (default: FROM.errors.ndjson)')
    .option('--dry-run', 'check every line against the database, and change nothing')
    .option(...byOption)
    .addHelpText(
      'after',
      '\nAfter an interruption, run the command again. A line names its worker by `externalId`, or else by `username`.',
    )
    .action(act(importFile))

  command(
    workers,
    'show',
    'Show a worker, and what decides whether the score is public',
    'assay workers show ada-lovelace',
  )
    .argument(...usernameArgument)
    .action(act(show))

  command(
    workers,
    'export',
    'Write everything that is stored about a worker to a file',
    'assay workers export ada-lovelace --out ada-lovelace.json',
  )
    .argument(...usernameArgument)
    .option('--out <file>', 'a new file that only you can read', '-')
    .action(act(exportFile))

  command(
    workers,
    'erase',
    'Erase a worker for ever',
    'assay workers erase ada-lovelace --reason worker_request --yes',
  )
    .argument(...usernameArgument)
    .requiredOption('--reason <reason>', erasureReasons.join(', '), oneOf(erasureReasons))
    .option('--yes', 'go ahead; without it, the command asks for the username')
    .option(...byOption)
    .action(act(erase))
}

function importFile(flags: ImportFlags & { by: string }): Promise<Outcome> {
  const { line: shape, apply, ...declared } = workersImport
  return importLines(flags, {
    ...declared,
    shape,
    // Without an external id, the earlier lines decide which worker has the username.
    keysOf: ({ externalId, profile }) =>
      externalId === null ? null : [`id ${externalId}`, `name ${profile.username}`],
    apply: (context, lines) => apply(context, lines, { by: flags.by, importId: '', services: {} }),
  })
}

function show(username: string): Promise<Outcome> {
  return withContext(async ({ db, clock }) => {
    const worker = await workerNamed(db, username)
    const disputes = await findDisputes(
      db,
      await findLatestDisputeIds(db, { workerId: worker.workerId, after: null, limit: 10_000 }),
    )
    const openDisputes = disputes.filter(({ endedAt }) => endedAt === null)
    const [active] = await findActiveSnapshots(db, [worker.workerId])
    return renderWorker(worker, { openDisputes, hasScore: active !== undefined, now: clock() })
  })
}

interface Facts {
  openDisputes: readonly Dispute[]
  hasScore: boolean
  now: Date
}

function renderWorker(worker: Worker, facts: Facts): Outcome {
  const { workerId, externalId, profile, onboardedAt, consents, consentVersion } = worker
  const { termsVersion: version, termsAcceptedAt } = worker
  const { openDisputes, now } = facts
  const missing = missingFor(worker)
  const identity = {
    state: identityAt(worker.identity, now),
    verifiedUntil: timeOrNull(worker.identity?.verifiedUntil ?? null),
  }
  const scoreHiddenBy = hidingGates(worker, facts)
  const granted = permissions.map((permission) => [permission, consents[permission] ?? null])
  const report = {
    ok: true,
    workerId,
    externalId,
    ...profile,
    terms: version === null ? null : { version, acceptedAt: timeOrNull(termsAcceptedAt) },
    onboardedAt: timeOrNull(onboardedAt),
    missing,
    consentVersion,
    consents: Object.fromEntries(granted),
    identity,
    openDisputes: openDisputes.map(({ id }) => id),
    restricted: openDisputes.some(({ restricted }) => restricted),
    scoreHiddenBy,
  }
  const until = identity.verifiedUntil === null ? '' : ` until ${identity.verifiedUntil}`
  const hidden = scoreHiddenBy.map((gate) => gateTexts[gate]).join(', ')
  return done(report, [
    `${profile.username}: ${oneLine(profile.displayName)}`,
    ...renderFields({
      worker: externalId === null ? workerId : `${workerId} (${externalId})`,
      title: profile.title,
      since: profile.memberSince,
      skills: profile.skills.length,
      onboarded: onboardedAt ?? `no, missing: ${missing.join(', ')}`,
      identity: `${identity.state}${until}`,
      disputes: `${openDisputes.length} open`,
      score: hidden === '' ? 'public' : `hidden: ${hidden}`,
      ...Object.fromEntries(permissions.map((one) => [one, consentText(worker, one)])),
    }),
  ])
}

function hidingGates(worker: Worker, { openDisputes, hasScore, now }: Facts): ScoreGate[] {
  const isGranted = (permission: Permission) => worker.consents[permission]?.granted ?? false
  return hidingScore({
    onboarded: worker.onboardedAt !== null,
    snapshotActive: hasScore,
    consents: {
      public_profile: isGranted('public_profile'),
      search_listing: isGranted('search_listing'),
      score_sharing: isGranted('score_sharing'),
    },
    identityActive: identityAt(worker.identity, now) === 'verified',
    restricted: openDisputes.some(({ restricted }) => restricted),
  })
}

const gateTexts: Record<ScoreGate, string> = {
  no_score: 'there is no score',
  not_onboarded: 'not onboarded',
  public_profile: 'no consent to public_profile',
  score_sharing: 'no consent to score_sharing',
  identity: 'the identity is not verified',
  dispute: 'an open dispute hides it',
}

function consentText({ consents }: Worker, permission: Permission): string {
  const consent = consents[permission]
  if (consent === undefined) return 'none'
  return consent.granted ? `granted, text ${consent.textVersion}` : 'withdrawn'
}

function timeOrNull(time: Date | null): string | null {
  return time === null ? null : wireTime(time)
}

function exportFile(username: string, { out }: { out: string }): Promise<Outcome> {
  return withContext(async (context) => {
    const exported = await exportWorkerFor(context, username)
    if (exported === null) throw unknownWorker(username)
    const text = `${JSON.stringify(exported, null, 2)}\n`
    if (out === '-') return { exitCode: 0, report: exported, lines: [text.trimEnd()] }
    await writeFile(out, text, { flag: 'wx', mode: 0o600 }).catch((error: unknown) => {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason'
      const reason = code === 'EEXIST' ? 'exists already' : `cannot be written (${code})`
      throw usageError(`${out} ${reason}. Name another file.`, { cause: error })
    })
    return done({ username, out }, [`Everything that is stored about ${username} is in ${out}.`])
  })
}

interface EraseFlags {
  reason: ErasureReason
  yes?: boolean
  by: string
}

async function erase(username: string, { reason, yes = false, by }: EraseFlags): Promise<Outcome> {
  if (!yes) await confirm(username)
  return withContext(async (context) => {
    const erased = await eraseWorkerFor(context, username, { reason, by })
    if (erased === null) throw unknownWorker(username)
    const { credentialsErased, evidenceErased, reportsErased } = erased
    return done({ ...erased }, [
      `${username} is erased: ${counted(evidenceErased, 'item')} of evidence and ${counted(reportsErased, 'report')} deleted, ${counted(credentialsErased, 'credential')} revoked and deleted.`,
      'Your backups still hold the worker: docs/privacy.md says what to do.',
    ])
  })
}

/** Reads one line. If standard input ends before it, nothing is erased and the exit code is 2. */
async function confirm(username: string): Promise<void> {
  note(
    `This erases everything that is stored about ${username} for ever: every credential, score, item of evidence and report. The username is never given again.`,
  )
  note('Type the username to go ahead:')
  const lines = createInterface({ input: process.stdin })
  let answered: string | null = null
  try {
    for await (const line of lines) {
      answered = line.trim()
      if (answered === username) return
      break
    }
  } finally {
    lines.close()
    process.stdin.destroy()
  }
  if (answered === null)
    throw usageError(
      'You cannot be asked: standard input has ended. Nothing was changed. Pass --yes to erase without a question.',
    )
  throw failure('That is not the username. Nothing was changed.')
}
