/** `assay credentials`: issuing, showing, revoking and verifying score credentials. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { findKeys, findStatuses } from '../../credentials/api.ts'
import {
  type CredentialName,
  nameByHex,
  nameById,
  nameOfLine,
} from '../../credentials/credential-name.ts'
import { KeyFileRefused } from '../../credentials/key-file.ts'
import { type ProofForm, proofForms } from '../../credentials/proof.ts'
import { type VerifyResult, verifyBodyBytesMax, verifyPath } from '../../credentials/schema.ts'
import { signatureCache } from '../../credentials/signature-cache.ts'
import { trustOf } from '../../credentials/trust.ts'
import { type RegisteredStatus, verifyCredential } from '../../credentials/verify.ts'
import { verifyOffline } from '../../credentials/verify-offline.ts'
import type { InputOf } from '../../operations/perform.ts'
import { systemClock } from '../../platform/clock.ts'
import { openEgress } from '../../platform/egress/client.ts'
import { operatorRules } from '../../platform/egress/rules.ts'
import { UnavailableError } from '../../platform/errors.ts'
import { isJsonObject } from '../../platform/json/closed-object.ts'
import { parseStrictJson } from '../../platform/json/strict-json.ts'
import { type Line, readLineBatches } from '../../platform/line-batches.ts'
import { oneLine, renderFields } from '../../platform/render-fields.ts'
import {
  credentialsExport,
  credentialsList,
  credentialsReissue,
  credentialsRevoke,
  credentialsRevokeOfKey,
  credentialsShow,
  revokedLines,
  revokedMax,
} from '../../scoring/scores/credential-operations.ts'
import { keptEngines } from '../../scoring/scores/engine.ts'
import { byOption, each, oneOf, parseUrl, usernameArgument } from '../args.ts'
import { act, command } from '../command.ts'
import { withContext } from '../context.ts'
import { batchesUntil, openInput, readInput } from '../input-lines.ts'
import { issueFile } from '../issue-lines.ts'
import { askFirst, type CommonFlags, declareOperations, performHere } from '../operation-command.ts'
import { done, failure, note, type Outcome, usageError } from '../output.ts'
import { type ExportFlags, exportedPage, exportPages, outOption } from '../output-file.ts'

const proofOption = ['--proof <form>', proofForms.join(', '), oneOf(proofForms), 'native'] as const

export function declareCommand(credentials: Command): void {
  command(
    credentials,
    'issue',
    'Issue a credential for each line of a file',
    'assay credentials issue --from scores.ndjson --out credentials.ndjson',
  )
    .requiredOption('--from <file>', 'scores as NDJSON, one a line; - for standard input')
    .option('--out <file>', 'for the credentials, one a line in the order of the scores', '-')
    .option('--errors <file>', 'for rejected lines (default: FROM.errors.ndjson)')
    .option(...proofOption)
    .option(
      '--replace-computed',
      'also issue for workers with a computed score, and supersede its credential',
    )
    .option(
      '--dry-run',
      'only check the lines, and show what they would supersede: needs no key, issues nothing',
    )
    .addHelpText(
      'after',
      '\nAfter an interruption, run the command again: a line with an `id` is issued once.',
    )
    .action(act(issueFile))

  command(
    credentials,
    'show',
    'Print the current credential of a worker: ends with 1 if there is none, or it is revoked or expired',
    'assay credentials show ada-lovelace',
  )
    .argument(...usernameArgument)
    .option(...proofOption)
    .action(act(show))

  command(
    credentials,
    'export',
    'Write all credentials as they were issued, one a line, the latest first',
    'assay credentials export --out credentials.ndjson',
  )
    .option('--username <username>', 'only those that name this worker')
    .option(...outOption)
    .action(act(exportAll))

  command(
    credentials,
    'revoke',
    'Revoke credentials for ever',
    'assay credentials revoke --id 01993f2e-5c1a-7b3e-8d4f-2a6b8c0d1e2f --yes',
  )
    .option('--id <uuid...>', 'by credential id', each(parseId))
    .option('--token <hex...>', 'by status token', each(parseToken))
    .option('--digest <hex...>', 'by vcSha256', each(parseDigest))
    .option(
      '--from <file>',
      'ids, tokens, digests or credentials, one a line; - for standard input',
    )
    .option(...byOption)
    .option('--dry-run', 'show what would change, and change nothing')
    .option('--yes', 'do it without asking')
    .action(act(revoke))

  declareOperations(credentials, [credentialsList, credentialsRevokeOfKey, credentialsReissue])

  command(
    credentials,
    'verify',
    'Verify a credential: ends with 0 valid, 1 invalid, 2 not possible to check',
    'assay credentials verify credential.json --key did.json --list status-lists/',
  )
    .argument('<file>', 'the credential; - for standard input')
    .option('--key <file>', 'offline: the did.json of the issuer, which has all its keys')
    // Not variadic: `--list <path...>` would take the credential too, if it comes last.
    .option(
      '--list <path>',
      'offline: a status list, or a folder of them; repeat it for several',
      each((path) => path),
    )
    .option('--url <url>', 'online: ask this deployment', parseUrl)
    .action(act(verify, { failureCode: 2 }))
}

function show(username: string, { proof }: { proof: ProofForm }): Promise<Outcome> {
  return withContext(async (context) => {
    const input = { username, proof }
    const { credential, flaw } = await performHere(context, credentialsShow, { input, flags: {} })
    const lines = [JSON.stringify(credential, null, 2)]
    if (flaw === null) return done({ credential }, lines)
    const message = `${username}: ${flaw}.`
    note(message)
    return done({ username, message, credential }, lines, 1)
  })
}

function exportAll({ username, ...flags }: ExportFlags & { username?: string }): Promise<Outcome> {
  return withContext(
    (context) =>
      exportPages(flags, { signal: context.signal, noun: 'credential' }, async (after) => {
        const input: InputOf<typeof credentialsExport> = {
          limit: exportedPage,
          ...(username !== undefined && { username }),
          ...(after !== null && { after }),
        }
        const page = await performHere(context, credentialsExport, { input, flags: {} })
        return { rows: page.credentials, next: page.next }
      }),
    { watchesSignal: true },
  )
}

/** A name and the text that the operator wrote for it. */
interface Named {
  text: string
  name: CredentialName
}

function parseId(text: string): Named {
  return namedOr(text, nameById(text), 'Use a credential id, a UUID.')
}

function parseToken(text: string): Named {
  return namedOr(text, nameByHex(text, 'token'), 'Use a status token, 64 hex characters.')
}

function parseDigest(text: string): Named {
  return namedOr(text, nameByHex(text, 'digest'), 'Use a vcSha256, 64 hex characters.')
}

function namedOr(text: string, name: CredentialName | null, message: string): Named {
  if (name === null) throw new InvalidArgumentError(message)
  return { text, name }
}

interface RevokeFlags extends CommonFlags {
  id?: Named[]
  token?: Named[]
  digest?: Named[]
  from?: string
}

async function revoke(flags: RevokeFlags): Promise<Outcome> {
  const { id = [], token = [], digest = [], from, dryRun = false } = flags
  const named = [...id, ...token, ...digest]
  if (named.length === 0 && from === undefined)
    throw usageError('Name credentials with --id, --token, --digest or --from.')
  await askFirst(credentialsRevoke, flags)
  return withContext(
    async (context) => {
      const { signal } = context
      const tally = { revoked: 0, alreadyRevoked: 0, notFound: 0 }
      let scores = 0
      const revokeBatch = async (batch: readonly Named[]): Promise<void> => {
        if (batch.length === 0) return
        const input = { credentials: batch.map(({ name, text }) => namedText(name, text)) }
        const output = await performHere(context, credentialsRevoke, { input, flags })
        const { revoked, alreadyRevoked, notFound } = output
        for (const one of notFound) note(`not found: ${one}`)
        tally.revoked += revoked
        tally.alreadyRevoked += alreadyRevoked
        tally.notFound += notFound.length
        scores = output.scores
      }
      for (let i = 0; i < named.length && !signal.aborted; i += revokedMax)
        await revokeBatch(named.slice(i, i + revokedMax))
      if (from !== undefined)
        for await (const batch of namesIn(from, signal)) await revokeBatch(batch)
      const interrupted = signal.aborted
      const lines = [
        ...(dryRun ? ['Dry run: nothing was changed. Without --dry-run:'] : []),
        ...revokedLines({ ...tally, scores }),
      ]
      if (interrupted)
        lines.push('Interrupted. Run the command again: it revokes the credentials that are left.')
      const report = { ...(dryRun && { dryRun }), ...tally, interrupted, scores }
      return done(report, lines, tally.notFound === 0 && !interrupted ? 0 : 1)
    },
    { watchesSignal: true },
  )
}

/** A token may be in a status URL. */
function namedText(name: CredentialName, text: string): string {
  return name.by === 'id' ? name.id : text.trim()
}

const nameBytesMax = 16_384

/**
 * Throws at the first line that names no credential. The credentials of earlier lines are revoked.
 * The signal ends it.
 */
async function* namesIn(file: string, signal: AbortSignal): AsyncGenerator<Named[]> {
  const { chunks } = await openInput(file)
  const limits = { bytesMax: nameBytesMax, batchMax: revokedMax }
  for await (const { lines } of batchesUntil(signal, chunks, readLineBatches(chunks, limits))) {
    const names = lines.map(nameIn)
    const wrong = names.indexOf(null)
    yield names.slice(0, wrong === -1 ? names.length : wrong).flatMap((name) => name ?? [])
    if (wrong === -1) continue
    throw usageError(
      `${file}, line ${lines[wrong]?.number}: no id, token, digest or credential. The credentials of the lines before it are revoked.`,
    )
  }
}

function nameIn({ bytes, isTooLong }: Line): Named | null {
  const text = Buffer.from(bytes).toString('utf8')
  const name = isTooLong ? null : nameOfLine(text)
  return name === null ? null : { text: name.by === 'id' ? name.id : text.trim(), name }
}

interface VerifyFlags {
  key?: string
  /** Files and folders. */
  list?: string[]
  url?: URL
}

async function verify(file: string, flags: VerifyFlags): Promise<Outcome> {
  if (flags.list !== undefined && flags.key === undefined)
    throw usageError('--list needs --key: the key verifies the signature of the list.')
  if (flags.url !== undefined && flags.key !== undefined)
    throw usageError('--url asks a deployment, --key checks offline. Use one of them.')
  const presented = await presentedIn(file)
  const result = await verifyPresented(presented, flags)
  const exitCode = exitCodeOf(result, flags)
  return { exitCode, report: { ...result }, lines: renderResult(result, exitCode) }
}

interface Presented {
  bytes: Buffer
  credential: Record<string, unknown>
  ambiguity: string | null
}

async function presentedIn(file: string): Promise<Presented> {
  const bytes = await readInput(file, verifyBodyBytesMax)
  const json = parseStrictJson(bytes)
  if (json.kind === 'invalid') throw usageError(`${file}: ${aboutFile(json.why)}`)
  if (!isJsonObject(json.value)) throw usageError(`${file}: The file is not a JSON object.`)
  return { bytes, credential: json.value, ambiguity: json.kind === 'ambiguous' ? json.why : null }
}

async function verifyPresented(presented: Presented, flags: VerifyFlags): Promise<VerifyResult> {
  if (flags.url !== undefined) return verifyOnline(flags.url, presented)
  if (flags.key === undefined) return verifyByRegistry(presented)
  const files = { key: await jsonIn(flags.key), lists: await listsIn(flags.list ?? []) }
  const { credential, ambiguity } = presented
  try {
    return verifyOffline(credential, ambiguity, { files, now: systemClock() })
  } catch (error) {
    if (!(error instanceof KeyFileRefused)) throw error
    throw usageError(`${flags.key}: ${error.message}`, { cause: error })
  }
}

/** Returns the status lists in files, and in every `.json` file of a folder. */
async function listsIn(paths: readonly string[]): Promise<unknown[]> {
  const lists: unknown[] = []
  for (const path of paths) {
    const isFolder = await stat(path).then(
      (found) => found.isDirectory(),
      () => false,
    )
    const names = isFolder ? (await readdir(path)).filter((name) => name.endsWith('.json')) : null
    const files = names?.map((name) => join(path, name)) ?? [path]
    for (const file of files) lists.push(await jsonIn(file))
  }
  return lists
}

const documentBytesMax = 16 * 1024 * 1024

async function jsonIn(file: string): Promise<unknown> {
  const json = parseStrictJson(await readInput(file, documentBytesMax))
  if (json.kind !== 'value') throw usageError(`${file}: ${aboutFile(json.why)}`)
  return json.value
}

function aboutFile(why: string): string {
  return why.replace('The body', 'The file')
}

function verifyByRegistry({ credential, ambiguity }: Presented): Promise<VerifyResult> {
  return withContext(async ({ db, config, clock }) =>
    verifyCredential(credential, ambiguity, {
      trust: trustOf([config.publicUrl, ...config.formerPublicUrls], await findKeys(db)),
      signatures: signatureCache(),
      engines: new Set(keptEngines().map(({ binarySha256 }) => binarySha256)),
      now: clock(),
      statusOf: async (question): Promise<RegisteredStatus> => {
        try {
          const [status] = await findStatuses(db, [question])
          return status ?? { kind: 'unknown' }
        } catch (error) {
          if (error instanceof UnavailableError) return { kind: 'unavailable' }
          throw error
        }
      },
    }),
  )
}

const answerBytesMax = 1_048_576

/** Asks a deployment, by its address or that of its verify route. Follows no redirect. */
async function verifyOnline(address: URL, { bytes }: Presented): Promise<VerifyResult> {
  const url = address.pathname === '/' ? new URL(verifyPath, address) : address
  await using closing = new AsyncDisposableStack()
  const egress = openEgress({ rules: operatorRules })
  closing.defer(() => egress.close())
  const request = {
    method: 'POST',
    url: url.href,
    headers: { 'content-type': 'application/json' },
    body: bytes,
    answerBytesMax,
  } as const
  const answer = await egress.send(request)
  if ('failure' in answer)
    throw failure(`${url.href} did not answer: ${answer.error.message}`, { cause: answer.error })
  if (answer.isCut) throw failure(`${url.href} answered with more than 1 MiB.`)
  const json = parseStrictJson(answer.body)
  if (answer.status !== 200 || json.kind !== 'value' || !isVerifyResult(json.value))
    throw failure(`${url.href} answered ${answer.status}: ${answer.body.toString('utf8', 0, 500)}`)
  return json.value
}

function isVerifyResult(value: unknown): value is VerifyResult {
  return (
    isJsonObject(value) &&
    typeof value.valid === 'boolean' &&
    isJsonObject(value.revocation) &&
    Array.isArray(value.notes) &&
    isJsonObject(value.presented)
  )
}

/**
 * A credential that could not be checked is neither valid nor invalid. Only a service knows every
 * key of an issuer; a key file may lack one.
 */
function exitCodeOf({ valid, reason }: VerifyResult, { key }: VerifyFlags): 0 | 1 | 2 {
  if (valid) return 0
  const isUnchecked = reason === 'status_unavailable' || (reason === 'unknown_key' && key)
  return isUnchecked ? 2 : 1
}

const verdicts = { 0: 'VALID', 1: 'NOT VALID', 2: 'NOT CHECKED' }

export function renderResult(result: VerifyResult, exitCode: 0 | 1 | 2): string[] {
  const { valid, reason, message, credential, notes } = result
  const why = valid ? '' : ` (${oneLine(reason)})`
  return [
    `${verdicts[exitCode]}${why}: ${oneLine(message)}`,
    ...renderFields({
      issuer: result.issuerMatch ? 'is the expected one' : 'is not the expected one',
      signature: result.signatureValid ? 'is valid' : 'is not valid, or was not checked',
      revocation: revocationOf(result),
      ...(credential && {
        subject: String(credential.subject),
        score: `${String(credential.score)} (${String(credential.scoreBand)})`,
        'as of': String(credential.issuedAt),
      }),
      ...(notes.length > 0 && { notes: notes.join(', ') }),
    }),
  ]
}

function revocationOf({ revocation, signatureValid }: VerifyResult): string {
  const { checked, revoked, revokedAt } = revocation
  if (!checked) return 'not checked'
  // A changed document has the status token of the original.
  if (!revoked && !signatureValid) return 'not checked: the status is that of the original document'
  if (!revoked) return 'not revoked'
  return revokedAt ? `revoked on ${revokedAt}` : 'revoked'
}
