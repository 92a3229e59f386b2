/** `assay credentials revoke`: what is revoked stays so, and a second run changes nothing. */
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { systemClock } from '../platform/clock.ts'
import { sha256 } from '../platform/crypto/bytes.ts'
import type { Db, Tx } from '../platform/db/db.ts'
import { findKeys } from '../score-credentials/key-store.ts'
import { revokeDigests } from '../score-credentials/revoke.ts'
import { revokeCredentialsOfKey } from '../score-credentials/rotate-keys.ts'
import { findCredentials, findStatuses, type RevokedRow } from '../score-credentials/store.ts'
import { parseKid } from './args.ts'
import { withDatabase } from './context.ts'
import { type CredentialName, nameByHex, nameById, nameOfLine } from './credential-name.ts'
import { usageError } from './fail.ts'
import { type Line, lineBatches, openInput } from './lines.ts'
import { done, note, type Outcome } from './output.ts'

export interface RevokeFlags {
  id?: string[]
  token?: string[]
  digest?: string[]
  from?: string
  /** Kid or verification method. */
  key?: string
}

interface Named {
  text: string
  name: CredentialName
}

interface Tally {
  revoked: number
  alreadyRevoked: number
  notFound: number
}

const lineBytesMax = 16_384
const batchMax = 256

export async function revokeCommand(config: Config, flags: RevokeFlags): Promise<Outcome> {
  const given = namesGiven(flags)
  if (flags.key !== undefined) {
    if (given.length > 0 || flags.from !== undefined)
      throw usageError('Use --key alone: it names every credential of the key.')
    return revokeOfKeyCommand(config, parseKid(flags.key))
  }
  if (given.length === 0 && flags.from === undefined)
    throw usageError('Name credentials by --id, --token, --digest, --from or --key.')
  return withDatabase(config, async (db) => {
    const tally: Tally = { revoked: 0, alreadyRevoked: 0, notFound: 0 }
    for (let i = 0; i < given.length; i += batchMax)
      await revokeBatch(db, given.slice(i, i + batchMax), tally)
    if (flags.from !== undefined)
      for await (const batch of namesIn(flags.from)) await revokeBatch(db, batch, tally)
    const { revoked, alreadyRevoked, notFound } = tally
    const ok = notFound === 0
    return {
      exitCode: ok ? 0 : 1,
      report: { ok, ...tally },
      lines: [`${revoked} revoked, ${alreadyRevoked} had been revoked, ${notFound} not found`],
    }
  })
}

/**
 * Only for a revoked key: a key that signs would make credentials that are revoked from the start.
 */
function revokeOfKeyCommand(config: Config, kid: string): Promise<Outcome> {
  return withDatabase(config, async (db) => {
    const key = (await findKeys(db)).find((candidate) => candidate.kid === kid)
    if (key === undefined)
      return done({ ok: false, outcome: 'not_found', kid }, [`There is no key ${kid}.`], 1)
    if (key.state !== 'revoked')
      return done(
        { ok: false, outcome: 'key_not_revoked', kid },
        [`${kid} is ${key.state}. To revoke it and its credentials: \`assay keys revoke ${kid}\`.`],
        1,
      )
    const revoked = await revokeCredentialsOfKey({ db, actor: operator(), clock: systemClock }, kid)
    return revoked
      ? done({ ok: true, outcome: 'revoked', kid }, [
          `Every credential that ${kid} signed is revoked.`,
        ])
      : done({ ok: true, outcome: 'already_revoked', kid }, [
          `The credentials that ${kid} signed were revoked before.`,
        ])
  })
}

function namesGiven({ id = [], token = [], digest = [] }: RevokeFlags): Named[] {
  const named = (texts: string[], read: (text: string) => CredentialName | null, form: string) =>
    texts.map((text) => {
      const name = read(text)
      if (name === null) throw usageError(`${JSON.stringify(text)} is not ${form}`)
      return { text, name }
    })
  return [
    ...named(id, nameById, 'a credential id (a UUID)'),
    ...named(token, (text) => nameByHex(text, 'token'), 'a status token (64 hex characters)'),
    ...named(digest, (text) => nameByHex(text, 'digest'), 'a digest (64 hex characters)'),
  ]
}

/** A file that is no list of names is refused at its first such line: what was named before it is revoked. */
async function* namesIn(file: string): AsyncGenerator<Named[]> {
  const { chunks } = await openInput(file)
  for await (const { lines } of lineBatches(chunks, { bytesMax: lineBytesMax, batchMax })) {
    const names = lines.map(nameOf)
    const wrong = names.indexOf(null)
    yield names.slice(0, wrong === -1 ? names.length : wrong).flatMap((name) => name ?? [])
    if (wrong === -1) continue
    const place = `${file}, line ${lines[wrong]?.number}`
    throw usageError(
      `${place}: no id, token, digest or credential. What the lines before it name is revoked.`,
    )
  }
}

function nameOf({ bytes, isTooLong }: Line): Named | null {
  const text = Buffer.from(bytes).toString('utf8')
  const name = isTooLong ? null : nameOfLine(text)
  return name === null ? null : { text: name.by === 'id' ? name.id : text.trim(), name }
}

async function revokeBatch(db: Db, batch: readonly Named[], tally: Tally): Promise<void> {
  const { digests, rows } = await db.transaction(async (tx) => {
    const digests = await digestsOf(tx, batch)
    const found = new Map(
      digests.flatMap((digest) => (digest ? [[digest.toString('hex'), digest]] : [])),
    )
    return { digests, rows: await revokeRecorded(tx, [...found.values()], systemClock()) }
  })
  for (const [i, digest] of digests.entries()) {
    if (digest !== null) continue
    tally.notFound++
    note(`not found: ${batch[i]?.text}`)
  }
  for (const row of rows) tally[row.now ? 'revoked' : 'alreadyRevoked']++
}

async function revokeRecorded(tx: Tx, digests: readonly Buffer[], at: Date): Promise<RevokedRow[]> {
  const rows = await revokeDigests(tx, digests, at)
  const subjects = rows.filter((row) => row.now).map((row) => row.vcSha256.toString('hex'))
  const action = 'credentials.revoked'
  const details = { count: subjects.length }
  if (subjects.length > 0)
    await recordAction(tx, { actor: operator(), action, subjects, details }, at)
  return rows
}

/** In the order of the names; null where nothing has that name. */
async function digestsOf(tx: Tx, batch: readonly Named[]): Promise<(Buffer | null)[]> {
  const ids = batch.flatMap(({ name }) => (name.by === 'id' ? name.id : []))
  const byId = new Map(
    (ids.length === 0 ? [] : await findCredentials(tx, ids)).map((stored) => [
      stored.credentialId,
      sha256(stored.payload),
    ]),
  )
  // Both questions for what may be either; an id asks for nothing that exists.
  const nothing = Buffer.alloc(32)
  const questions = batch.flatMap(({ name }) => {
    const bytes = name.by === 'id' ? nothing : name.bytes
    return [
      { token: name.by === 'digest' ? nothing : bytes, vcSha256: bytes },
      { token: null, vcSha256: name.by === 'token' ? nothing : bytes },
    ]
  })
  const answers = await findStatuses(tx, questions)
  return batch.map(({ name }, i) => {
    if (name.by === 'id') return byId.get(name.id) ?? null
    const found = [answers[2 * i], answers[2 * i + 1]].find((one) => one?.kind === 'registered')
    return found?.kind === 'registered' ? found.vcSha256 : null
  })
}
