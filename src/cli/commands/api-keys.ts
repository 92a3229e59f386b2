/**
 * `assay api-keys`: the API keys of accounts. A key is printed only by the command that makes it.
 */
import type { Command } from 'commander'
import { keyColumns, wireKey } from '../../access/listed-key.ts'
import {
  activeKeysMax,
  createApiKey,
  restrictApiKey,
  revokeApiKey,
  rotateApiKey,
} from '../../access/manage.ts'
import { keyNameLengthMax, overlapHoursMax } from '../../access/schema.ts'
import { findKeys } from '../../access/store.ts'
import { wireTime } from '../../platform/clock.ts'
import { type Environment, environments, type Scope, scopes } from '../../platform/http/callers.ts'
import {
  accountArgument,
  each,
  idFrom,
  oneOf,
  parseNetwork,
  textUpTo,
  wholeNumber,
} from '../args.ts'
import { act, command } from '../command.ts'
import { withContext } from '../context.ts'
import { failure, usageError } from '../fail.ts'
import { accountNamed } from '../names.ts'
import { done, type Outcome } from '../output.ts'
import { listed } from '../render.ts'

const keyArgument = ['<id>', 'id of the key', idFrom('assay api-keys list ACCOUNT')] as const

/** The same limit as in the dashboard and its routes. */
const parseKeyName = textUpTo(keyNameLengthMax)

export function declareCommand(apiKeys: Command): void {
  command(
    apiKeys,
    'create',
    'Create a key, and print it this one time',
    "assay api-keys create 'Example Ltd' --scope scores:read --name production",
  )
    .argument(...accountArgument)
    .requiredOption(
      '--scope <scope...>',
      `${scopes.join(', ')}: only those needed`,
      each(oneOf(scopes)),
    )
    .option(
      '--environment <name>',
      'live, or test for sandbox data alone, free of charge',
      oneOf(environments),
      'live',
    )
    .option('--name <name>', 'tells the keys of the account apart', parseKeyName, 'API key')
    .option('--expires-days <n>', 'default: valid until it is revoked', wholeNumber(1, 3_650))
    .option(
      '--allow-from <network...>',
      'addresses and networks; default: from anywhere',
      parseNetwork,
    )
    .action(act(create))

  command(
    apiKeys,
    'list',
    'Show the keys of an account, the newest first',
    "assay api-keys list 'Example Ltd'",
  )
    .argument(...accountArgument)
    .action(act(list))

  command(
    apiKeys,
    'rotate',
    'Create a successor with the same rights; the key itself ends later',
    'assay api-keys rotate 01993f2e-5c1a-7b3e-8d4f-2a6b8c0d1e2f --overlap-hours 48',
  )
    .argument(...keyArgument)
    .option(
      '--overlap-hours <n>',
      'hours for which both keys are valid',
      wholeNumber(0, overlapHoursMax),
      24,
    )
    .option('--now', 'revoke the key at once')
    .action(act(rotate))

  command(
    apiKeys,
    'restrict',
    'Set the networks from which a key is valid, effective at once',
    'assay api-keys restrict 01993f2e-5c1a-7b3e-8d4f-2a6b8c0d1e2f --allow-from 192.0.2.0/24',
  )
    .argument(...keyArgument)
    .option(
      '--allow-from <network...>',
      'addresses and networks, such as 192.0.2.0/24',
      parseNetwork,
    )
    .option('--anywhere', 'remove the restriction')
    .action(act(restrict))

  command(
    apiKeys,
    'revoke',
    'Revoke a key, at once and for ever',
    'assay api-keys revoke 01993f2e-5c1a-7b3e-8d4f-2a6b8c0d1e2f',
  )
    .argument(...keyArgument)
    .action(act(revoke))
}

const shownOnce = 'The key is not shown again.'

interface CreateFlags {
  scope: Scope[]
  environment: Environment
  name: string
  expiresDays?: number
  allowFrom?: string[]
}

function create(named: string, flags: CreateFlags): Promise<Outcome> {
  const { environment, name, expiresDays, allowFrom: allowedFrom = null } = flags
  return withContext(async (context) => {
    const account = await accountNamed(context.db, named)
    const expiresAt =
      expiresDays === undefined
        ? null
        : new Date(context.clock().getTime() + expiresDays * 86_400_000)
    const rights = { environment, scopes: [...new Set(flags.scope)], allowedFrom, expiresAt }
    const wanted = { accountId: account.id, name, ...rights }
    const created = await createApiKey(context, wanted)
    if (created.outcome === 'no such account')
      throw failure(`The account ${account.name} was removed meanwhile.`)
    if (created.outcome === 'too many keys')
      throw failure(
        `${account.name} has ${activeKeysMax} active keys, its maximum. Revoke one first: \`assay api-keys revoke ID\`.`,
      )
    const { id, key } = created
    return done({ id, key, expiresAt: expiresAt && wireTime(expiresAt) }, [
      key,
      `id ${id}`,
      shownOnce,
    ])
  })
}

function list(named: string): Promise<Outcome> {
  return withContext(async ({ db, clock }) => {
    const account = await accountNamed(db, named)
    const now = clock()
    const rows = await findKeys(db, account.id)
    const keys = rows.map((key) => wireKey(key, now))
    const none = `${account.name} has no API key.`
    return listed({ keys }, { rows: keys, columns: keyColumns, none })
  })
}

function rotate(id: string, flags: { overlapHours: number; now?: boolean }): Promise<Outcome> {
  const overlapHours = flags.now ? 0 : flags.overlapHours
  return withContext(async (context) => {
    const rotated = await rotateApiKey(context, { id, overlapHours })
    if (rotated.outcome === 'no such key') throw unknownKey(id)
    if (rotated.outcome === 'not active')
      throw failure(`The key ${id} is revoked or has expired. Create a new one.`)
    if (rotated.outcome === 'rotated before')
      throw failure(`The key ${id} has a successor already. Rotate the successor.`)
    const { key, predecessorEndsAt: end } = rotated
    const predecessorEndsAt = wireTime(end)
    return done({ id: rotated.id, key, predecessorEndsAt }, [
      key,
      `id ${rotated.id}`,
      shownOnce,
      overlapHours === 0 ? 'The old key is revoked.' : `The old key ends at ${predecessorEndsAt}.`,
    ])
  })
}

interface RestrictFlags {
  allowFrom?: string[]
  anywhere?: boolean
}

function restrict(id: string, { allowFrom, anywhere = false }: RestrictFlags): Promise<Outcome> {
  if ((allowFrom === undefined) !== anywhere)
    throw usageError('Use either --allow-from or --anywhere.')
  const allowedFrom = allowFrom ?? null
  return withContext(async (context) => {
    const result = await restrictApiKey(context, id, allowedFrom)
    if (result === 'unknown') throw unknownKey(id)
    if (result === 'revoked') throw failure(`The key ${id} is revoked. Nothing was changed.`)
    const from = allowedFrom === null ? 'from anywhere' : `only from ${allowedFrom.join(', ')}`
    return done({ id, allowedFrom }, [`${id} is valid ${from}.`])
  })
}

function revoke(id: string): Promise<Outcome> {
  return withContext(async (context) => {
    const result = await revokeApiKey(context, id)
    if (result === 'unknown') throw unknownKey(id)
    return done({ id, result }, [
      result === 'before'
        ? `${id} was revoked before.`
        : `${id} is revoked: no request with it is served any more.`,
    ])
  })
}

/** Shows the beginning and the end of a key, never the key. */
function unknownKey(id: string): Error {
  return failure(`No API key has the id ${id}. \`assay api-keys list ACCOUNT\` shows them.`)
}
