/** `assay credentials verify`: by the local registry, offline from files, or by asking a deployment. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { systemClock } from '../platform/clock.ts'
import { UnavailableError } from '../platform/http/errors.ts'
import { isJsonObject } from '../platform/json/json-object.ts'
import { parseStrictJson } from '../platform/json/strict-json.ts'
import { findKeys } from '../score-credentials/key-store.ts'
import type { VerifyResult } from '../score-credentials/schema.ts'
import { verifyBodyBytesMax, verifyPath } from '../score-credentials/schema.ts'
import { signatureCache } from '../score-credentials/signature-cache.ts'
import { findStatuses } from '../score-credentials/store.ts'
import { trustOf } from '../score-credentials/trust.ts'
import { type RegisteredStatus, verifyCredential } from '../score-credentials/verify.ts'
import { keptEngines } from '../scores/engine.ts'
import { withDatabase } from './context.ts'
import { failure, usageError } from './fail.ts'
import { readInput } from './lines.ts'
import type { Outcome } from './output.ts'
import { postJson } from './post.ts'
import { toldResult } from './told-result.ts'
import { verifyOffline } from './verify-offline.ts'

export interface VerifyFlags {
  key?: string
  /** Files and folders. */
  list?: string[]
  url?: string
}

/** `settings` are read only where the local deployment is asked. */
export async function verifyCommand(
  settings: () => Config,
  file: string,
  flags: VerifyFlags,
): Promise<Outcome> {
  if (flags.list !== undefined && flags.key === undefined)
    throw usageError('--list needs --key: a list is worth as much as the key that signed it.')
  if (flags.url !== undefined && flags.key !== undefined)
    throw usageError('--url asks a deployment, --key checks offline: give one of them.')
  const presented = await presentedIn(file)
  const result = await verified(settings, presented, flags)
  return { exitCode: exitCodeOf(result), report: { ...result }, lines: toldResult(result) }
}

interface Presented {
  bytes: Buffer
  credential: Record<string, unknown>
  ambiguity: string | null
}

async function presentedIn(file: string): Promise<Presented> {
  const bytes = await readInput(file, verifyBodyBytesMax)
  const json = parseStrictJson(bytes)
  if (json.kind === 'invalid') throw usageError(`${file}: ${told(json.why)}`)
  if (!isJsonObject(json.value)) throw usageError(`${file}: not a JSON object`)
  return { bytes, credential: json.value, ambiguity: json.kind === 'ambiguous' ? json.why : null }
}

async function verified(
  settings: () => Config,
  presented: Presented,
  flags: VerifyFlags,
): Promise<VerifyResult> {
  if (flags.url !== undefined) return verifiedOnline(flags.url, presented)
  if (flags.key === undefined) return verifiedHere(settings(), presented)
  const files = { key: await jsonIn(flags.key), lists: await listsIn(flags.list ?? []) }
  const { credential, ambiguity } = presented
  try {
    return verifyOffline(credential, ambiguity, { files, now: systemClock() })
  } catch (error) {
    if (!(error instanceof Error) || !/^Key(File)?Refused$/.test(error.name)) throw error
    throw usageError(`${flags.key}: ${error.message}`, { cause: error })
  }
}

/** The status lists in files, and in every `.json` file of a folder. */
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
  if (json.kind !== 'value') throw usageError(`${file}: ${told(json.why)}`)
  return json.value
}

function told(why: string): string {
  return why.replace('The body', 'The file')
}

function verifiedHere(config: Config, { credential, ambiguity }: Presented): Promise<VerifyResult> {
  return withDatabase(config, async (db) =>
    verifyCredential(credential, ambiguity, {
      trust: trustOf([config.publicUrl, ...config.formerPublicUrls], await findKeys(db)),
      signatures: signatureCache(),
      engines: new Set(keptEngines().map(({ binarySha256 }) => binarySha256)),
      now: systemClock(),
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

async function verifiedOnline(address: string, { bytes }: Presented): Promise<VerifyResult> {
  const url = endpointOf(address)
  const { status, body } = await postJson(url, bytes).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error)
    throw failure(`${url.href} did not answer: ${why}`, { cause: error })
  })
  const json = parseStrictJson(body)
  if (status !== 200 || json.kind !== 'value' || !isVerifyResult(json.value))
    throw failure(`${url.href} answered ${status}: ${body.toString('utf8', 0, 500)}`)
  return json.value
}

/** The address of a deployment, or of its verify route. */
function endpointOf(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : null
  if (url === null || !/^https?:$/.test(url.protocol))
    throw usageError(
      '--url must be the address of a deployment, such as https://scores.example.org',
    )
  return url.pathname === '/' ? new URL(verifyPath, url) : url
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

/** What could not be checked is neither valid nor invalid. */
function exitCodeOf({ valid, reason }: VerifyResult): 0 | 1 | 2 {
  if (valid) return 0
  return reason === 'status_unavailable' ? 2 : 1
}
