/** `assay keys`: the signing keys of score credentials. */
import type { Command } from 'commander'
import { findKeys } from '../../credentials/api.ts'
import { makeKeyFile, readSigners } from '../../credentials/key-files.ts'
import { publishedBeforeUseSeconds } from '../../credentials/rotate-keys.ts'
import type { SigningKey } from '../../credentials/trust.ts'
import type { OutputOf } from '../../operations/perform.ts'
import { counted } from '../../platform/counted.ts'
import { type Columns, sameNames } from '../../platform/render-table.ts'
import { countDueReissues, countPublicScoresOf, waitForReissues } from '../../scoring/api.ts'
import { credentialsReissue } from '../../scoring/scores/credential-operations.ts'
import { markRevokedKeys } from '../../scoring/scores/reissue.ts'
import {
  keysCreate,
  keysList,
  keysRevoke,
  keysRotate,
} from '../../scoring/scores/signing-key-operations.ts'
import { parseKid } from '../args.ts'
import { act, command } from '../command.ts'
import { type CommandContext, withContext } from '../context.ts'
import { performHere } from '../operation-command.ts'
import { done, Failure, failure, type Outcome, usageError } from '../output.ts'
import { listed, renderProgress } from '../render.ts'

export function declareCommand(keys: Command): void {
  command(
    keys,
    'create',
    'Make a key file and register it; the first key signs at once',
    'assay keys create',
  ).action(act(create))

  command(
    keys,
    'rotate',
    'Sign with the oldest pending key from now on, and retire the active one',
    'assay keys rotate',
  )
    .option('--now', 'do not wait until caches know the new key')
    .action(act(rotate))

  command(keys, 'list', 'Show every key and its state', 'assay keys list').action(act(list))

  command(
    keys,
    'revoke',
    'Revoke a compromised key for ever: everything that it signed becomes invalid',
    'assay keys revoke z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK --yes',
  )
    .argument('<kid>', 'the id of the key, or a verification method that ends with it', parseKid)
    .option('--yes', 'go ahead; without it, the command explains the consequences')
    .option('--keep-credentials', 'do not revoke the credentials that the key signed')
    .action(act(revoke))
}

function create(): Promise<Outcome> {
  return withContext(async (context) => {
    const { signingKeysDir: folder } = context.config
    // The file first: a registered key without a file would leave the service without a signer.
    const kid = await makeKeyFile(folder)
    const { state } = await performHere(context, keysCreate, { input: { kid }, flags: {} })
    return done({ kid, state, folder }, [
      `created ${kid} (${state}) in ${folder}`,
      state === 'active'
        ? 'It signs from now on.'
        : `It is published. Run \`assay keys rotate\` in ${publishedBeforeUseSeconds / 60} minutes at the earliest to sign with it.`,
      'Back up the file: without it, this key cannot sign any more.',
    ])
  })
}

function rotate({ now = false }: { now?: boolean }): Promise<Outcome> {
  return withContext(async (context) => {
    const { signingKeysDir: folder } = context.config
    const signers = await readSigners(folder)
    const rotation = await performHere(context, keysRotate, { input: { now }, flags: {} })
    const { active, retired } = rotation
    const isOnThisMachine = signers.has(active)
    const lines = [`${active} signs from now on.`]
    if (retired !== null) lines.push(`${retired} is retired: its signatures stay valid.`)
    if (!isOnThisMachine)
      lines.push(`Its file is not in ${folder}: this machine cannot sign with it.`)
    return done({ ...rotation, isOnThisMachine }, lines)
  })
}

type Registered = OutputOf<typeof keysList>['keys'][number]

interface ListedKey extends Partial<Omit<Registered, 'state'>> {
  state: string
  /** Whether the file of the key is on this machine. */
  isOnThisMachine: boolean
}

/** At most 120 characters wide. `--json` has every time. */
const columns: Columns<ListedKey> = {
  ...sameNames('kid', 'state'),
  since: ({ revokedAt, retiredAt, activatedAt, createdAt }) =>
    revokedAt ?? retiredAt ?? activatedAt ?? createdAt ?? null,
  credentials: ({ revokedAt, credentialsRevokedAt }) =>
    revokedAt ? (credentialsRevokedAt ? 'revoked' : 'kept') : null,
  file: ({ isOnThisMachine }) => (isOnThisMachine ? 'here' : 'not here'),
}

function list(): Promise<Outcome> {
  return withContext(async (context) => {
    const { keys } = await performHere(context, keysList, { input: {}, flags: {} })
    const signers = await readSigners(context.config.signingKeysDir)
    const unregistered = [...signers.keys()].filter((kid) => !keys.some((key) => key.kid === kid))
    const registered = keys.map((key) => ({ ...key, isOnThisMachine: signers.has(key.kid) }))
    const others = unregistered.map((kid) => ({
      kid,
      state: 'not registered',
      isOnThisMachine: true,
    }))
    const rows: ListedKey[] = [...registered, ...others]
    return listed({ keys: registered, unregistered }, { rows, columns, none: keysList.none ?? '' })
  })
}

interface RevokeFlags {
  yes?: boolean
  keepCredentials?: boolean
}

function revoke(
  kid: string,
  { yes = false, keepCredentials = false }: RevokeFlags,
): Promise<Outcome> {
  const credentials = keepCredentials ? 'kept' : 'revoked'
  return withContext(
    async (context) => {
      const keys = await findKeys(context.db)
      const key = keys.find((candidate) => candidate.kid === kid)
      if (key === undefined)
        throw failure(`No signing key has the id ${kid}. \`assay keys list\` shows all keys.`, {
          report: { error: 'signing_key_not_found', kid },
        })
      if (key.state === 'revoked') {
        const kept = key.credentialsRevokedAt === null ? [keptHint(kid)] : []
        const { report, lines } = await replaceCredentials(context)
        const told = [`${kid} was revoked before.`, ...kept, ...lines]
        return done({ kid, result: 'before', ...report }, told)
      }
      const scores = await countPublicScoresOf(context.db, kid, context.clock())
      if (!yes)
        throw usageError(consequencesOf(key, { keys, keepCredentials, scores }).join('\n'), {
          report: { kid, scores },
        })
      const input = { kid, keepCredentials }
      const revoked = await performHere(context, keysRevoke, { input, flags: {} })
      const { report, lines } = await replaceCredentials(context)
      const told = revoked.result === 'revoked' && { credentials }
      return done({ ...revoked, ...told, ...report }, [
        keepCredentials
          ? `${kid} is revoked. ${keptHint(kid)}`
          : `${kid} and every credential that it signed are revoked.`,
        ...lines,
        ...nextSteps(key, keys),
      ])
    },
    { watchesSignal: true },
  )
}

/**
 * Replaces the credentials of public scores that were revoked with a key, together with any jobs
 * process, and shows the progress. Without the file of the active key it leaves all to the jobs
 * process.
 */
async function replaceCredentials(context: CommandContext) {
  const { db, clock, signal } = context
  await markRevokedKeys(db, clock())
  const scores = await countDueReissues(db, clock())
  using progress = renderProgress(scores, 'scores')
  let why = ''
  let left = scores
  try {
    for (let hasWaited = false; !signal.aborted; ) {
      const { more } = await performHere(context, credentialsReissue, {
        input: {},
        flags: {},
        options: { batchesMsMax: 0 },
      })
      left = Math.min(left, await countDueReissues(db, clock()))
      progress.update(scores - left, scores - left)
      if (more === true) continue
      if (left === 0 || hasWaited) break
      // A jobs process holds the last ones. The next round finds them done, or undone by a crash.
      await db.transaction((tx) => waitForReissues(tx, clock()))
      hasWaited = true
    }
    if (signal.aborted) why = 'Interrupted. '
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    why = `${error.message} `
  }
  const lines = [`${scores - left} of ${counted(scores, 'public score')} have a new credential.`]
  if (left > 0)
    lines.push(
      `${why}A jobs process that has the active key issues the other ${left}. Until then they are read without a credential. \`assay doctor\` counts them.`,
    )
  return { report: { scores, reissued: scores - left }, lines: scores === 0 ? [] : lines }
}

function keptHint(kid: string): string {
  return `The status of its credentials is still active. To revoke them, run \`assay credentials revoke-of-key ${kid}\`.`
}

interface Consequences {
  keys: readonly SigningKey[]
  keepCredentials: boolean
  /** Number of public scores whose credential the key signed. */
  scores: number
}

function consequencesOf(
  key: SigningKey,
  { keys, keepCredentials, scores }: Consequences,
): string[] {
  return [
    `This revokes ${key.kid} (${key.state}) for ever:`,
    '- every credential that it signed becomes invalid, with the reason key_revoked;',
    keepCredentials
      ? '- their status by token and in the signed lists stays as it is (--keep-credentials);'
      : '- their status by token and in the signed lists becomes revoked;',
    `- ${counted(scores, 'public score')} get new credentials, signed by the active key;`,
    '- credentials that were issued from files have to be issued again.',
    'Do it if someone else may have the private key. To replace a safe key, use `assay keys rotate`.',
    ...nextSteps(key, keys),
    'Nothing was changed. To go ahead, repeat the command with --yes.',
  ]
}

function nextSteps(key: SigningKey, keys: readonly SigningKey[]): string[] {
  if (key.state !== 'active') return []
  const hasPending = keys.some((candidate) => candidate.state === 'pending')
  const next = hasPending ? 'assay keys rotate' : 'assay keys create'
  return [`No key signs after that until you run \`${next}\`.`]
}
