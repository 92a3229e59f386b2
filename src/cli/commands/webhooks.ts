/** `assay webhooks`: webhook endpoints, their secrets, and deliveries to them. */
import type { Command } from 'commander'
import { openSecretsKeyring } from '../../app/secrets-keyring.ts'
import type { Config } from '../../config/config.ts'
import { wireTime } from '../../platform/clock.ts'
import { counted } from '../../platform/counted.ts'
import type { Keyring } from '../../platform/crypto/keyring.ts'
import type { Queryable } from '../../platform/db/db.ts'
import { findAttempts, type ShownAttempt } from '../../webhooks/delivery/delivery-store.ts'
import {
  type EndpointOf,
  type EndpointOwner,
  findFailingNow,
} from '../../webhooks/delivery/endpoint-store.ts'
import type { DeliveryLimits } from '../../webhooks/delivery/rate-store.ts'
import { replayDaysMax } from '../../webhooks/delivery/resend.ts'
import {
  activateAnnouncedSecret,
  announceSecret,
  createForAccount,
  limitDeliveries,
  reencryptAllSecrets,
  replaceLeakedSecret,
  sendAgain,
  sendMissed,
  setDeliveriesPaused,
  startDeliveries,
  stopDeliveries,
} from '../../webhooks/endpoints/actions.ts'
import { wireEndpoint } from '../../webhooks/endpoints/handlers.ts'
import { readEndpointRequest } from '../../webhooks/endpoints/request.ts'
import { announcedHoursMax } from '../../webhooks/endpoints/rotate-secret.ts'
import {
  type EndpointRow,
  findActiveIds,
  findEndpoints,
  findIdsOf,
  findNewestIds,
} from '../../webhooks/endpoints/store.ts'
import { accountOption, idFrom, limitOption, parseTime, wholeNumber } from '../args.ts'
import { act, command } from '../command.ts'
import { type CommandContext, withContext } from '../context.ts'
import { failure, usageError } from '../fail.ts'
import { accountNamed, accountNames } from '../names.ts'
import { done, type Outcome } from '../output.ts'
import { type Columns, listed } from '../render.ts'

const exampleId = '019e2cbb-7a00-7c1e-9f27-8b5a1c2d3e4f'
const endpointArgument = ['<id>', 'id of the endpoint', idFrom('assay webhooks endpoints')] as const

export function declareCommand(webhooks: Command): void {
  declareEndpointCommands(webhooks)
  declareDeliveryCommands(webhooks)
  declareSecretCommands(webhooks)
}

function declareEndpointCommands(webhooks: Command): void {
  command(
    webhooks,
    'endpoints',
    'Show webhook endpoints, the newest first',
    "assay webhooks endpoints --account 'Example Ltd' --all",
  )
    .option(...accountOption)
    .option('--all', 'disabled endpoints as well')
    .option('--failing', 'only endpoints that fail, with the error, the longest failing first')
    .option(...limitOption(200, 100_000))
    .action(act(listEndpoints))

  command(
    webhooks,
    'create',
    'Create a webhook endpoint for an account; its secret is shown once',
    "assay webhooks create https://hooks.example.com/in --account 'Example Ltd' --event score.updated",
  )
    .argument('<url>', 'https, a public host')
    .requiredOption(...accountOption)
    .requiredOption('--event <type...>', 'score.updated, score.revised, evidence.revoked, …')
    .option('--description <text>', 'at most 120 characters')
    .action(act(create))

  command(
    webhooks,
    'disable',
    'Send nothing more to an endpoint, and cancel its pending deliveries',
    `assay webhooks disable ${exampleId}`,
  )
    .argument(...endpointArgument)
    .action(act(disable))

  command(
    webhooks,
    'enable',
    'Send to a disabled endpoint again, from the next event on',
    `assay webhooks enable ${exampleId}`,
  )
    .argument(...endpointArgument)
    .action(act(enable))

  command(
    webhooks,
    'pause',
    'Hold back deliveries to an endpoint',
    `assay webhooks pause ${exampleId}`,
  )
    .argument(...endpointArgument)
    .action(act((id: string) => setPaused(id, true)))

  command(
    webhooks,
    'resume',
    'Let deliveries to a paused endpoint go',
    `assay webhooks resume ${exampleId}`,
  )
    .argument(...endpointArgument)
    .action(act((id: string) => setPaused(id, false)))

  command(
    webhooks,
    'limit',
    'Send to an endpoint no faster than it can take',
    `assay webhooks limit ${exampleId} --per-second 5 --at-once 2`,
  )
    .argument(...endpointArgument)
    .option('--per-second <n>', 'deliveries a second, 1 to 1000, or off', parseRate)
    .option('--at-once <n>', 'concurrent deliveries, 1 to 16', wholeNumber(1, 16))
    .action(act(limit))
}

function declareDeliveryCommands(webhooks: Command): void {
  command(
    webhooks,
    'deliveries',
    'Show the last attempts to deliver to an endpoint, the newest first',
    `assay webhooks deliveries ${exampleId}`,
  )
    .argument(...endpointArgument)
    .option(...limitOption(25, 1_000))
    .action(act(listDeliveries))

  command(
    webhooks,
    'resend',
    'Send one event to an endpoint once more',
    `assay webhooks resend ${exampleId} evt_019e2cbb7a007c1e9f278b5a1c2d3e4f`,
  )
    .argument(...endpointArgument)
    .argument('<event>', 'id of the event, evt_…')
    .action(act(resend))

  command(
    webhooks,
    'replay',
    'Send an endpoint the events that it missed since a time',
    `assay webhooks replay ${exampleId} --since 2026-05-14T09:00Z`,
  )
    .argument(...endpointArgument)
    .requiredOption(
      '--since <time>',
      `a day or a time in UTC, at most ${replayDaysMax} days ago`,
      parseTime,
    )
    .action(act(replay))
}

function declareSecretCommands(webhooks: Command): void {
  command(
    webhooks,
    'rotate-secret',
    'Announce a new secret of an endpoint, or replace a leaked one; it is shown once',
    `assay webhooks rotate-secret ${exampleId} --now --drop-old`,
  )
    .argument(...endpointArgument)
    .option(
      '--hours <n>',
      'hours until the new secret signs in place of the old one (default: 24)',
      wholeNumber(0, announcedHoursMax),
    )
    .option('--now', 'the new secret signs at once, and for a day the old one beside it')
    .option('--drop-old', 'with --now, for a leaked secret: the old one signs nothing any more')
    .action(act(rotateSecret))

  command(
    webhooks,
    'activate-secret',
    'Let the announced secret of an endpoint sign from now on',
    `assay webhooks activate-secret ${exampleId}`,
  )
    .argument(...endpointArgument)
    .action(act(activateSecret))

  command(
    webhooks,
    'reencrypt',
    'Encrypt every secret with the first key of SECRETS_KEYRING',
    'assay webhooks reencrypt',
  ).action(act(reencrypt))
}

/** Parses a number of deliveries a second. Commander cannot carry null, so `off` stays a word. */
function parseRate(text: string): number | 'off' {
  return text === 'off' ? text : wholeNumber(1, 1_000)(text)
}

interface ListFlags {
  account?: string
  all?: boolean
  failing?: boolean
  limit: number
}

function listEndpoints(flags: ListFlags): Promise<Outcome> {
  if (flags.failing && flags.all)
    throw usageError('--failing shows active endpoints only. Leave out --all.')
  return withContext(async (context) => {
    const { db, clock } = context
    const accountId =
      flags.account === undefined ? null : (await accountNamed(db, flags.account)).id
    if (flags.failing) return listFailing(context, accountId, flags.limit)
    const rows = await findEndpoints(db, await idsOf(db, accountId, flags), clock())
    const names = await accountNames(db, rows)
    const columns: Columns<EndpointRow> = {
      ...endpointColumns(names),
      state: ({ disabledReason }) =>
        disabledReason === null ? 'active' : `disabled (${disabledReason})`,
      disabled: ({ disabledAt }) => disabledAt,
      perSecond: ({ perSecond }) => perSecond,
      events: ({ eventTypes }) => eventTypes.join(','),
      id: ({ id }) => id,
    }
    const endpoints = rows.map((row) => ({
      ...wireEndpoint(row),
      disabledReason: row.disabledReason,
      perSecond: row.perSecond,
    }))
    return listed({ endpoints }, { rows, columns, none: 'There is no webhook endpoint.' })
  })
}

function idsOf(
  db: Queryable,
  accountId: string | null,
  { all: disabledToo = false, limit }: ListFlags,
): Promise<string[]> {
  if (accountId === null) return findNewestIds(db, { limit, disabledToo })
  return disabledToo ? findIdsOf(db, accountId) : findActiveIds(db, accountId)
}

async function listFailing(
  { db, clock }: CommandContext,
  accountId: string | null,
  limit: number,
): Promise<Outcome> {
  const owner: EndpointOwner = accountId === null ? 'any' : { userId: accountId }
  const failing = new Map(
    (await findFailingNow(db, { owner, limit })).map(({ id, ...health }) => [id, health]),
  )
  const found = await findEndpoints(db, [...failing.keys()], clock())
  const rows = [...failing].flatMap(([id, health]) => {
    const endpoint = found.find((one) => one.id === id)
    return endpoint === undefined ? [] : [{ ...endpoint, health }]
  })
  const columns: Columns<(typeof rows)[number]> = {
    ...endpointColumns(await accountNames(db, rows)),
    failingSince: ({ health }) => health.failingSince,
    attempts: ({ health }) => health.consecutiveFailures,
    lastError: ({ health }) => joined(health.responseStatus, health.errorCode),
    waiting: ({ health }) => health.waiting,
    id: ({ id }) => id,
  }
  const endpoints = rows.map(({ health, ...row }) => ({ ...wireEndpoint(row), health }))
  return listed({ endpoints }, { rows, columns, none: 'No webhook endpoint fails.' })
}

function endpointColumns(names: ReadonlyMap<string, string>) {
  return {
    account: ({ userId }: EndpointRow) => names.get(userId) ?? userId,
    url: ({ url }: EndpointRow) => url,
  }
}

function joined(...parts: (string | number | null)[]): string {
  return parts.filter((part) => part !== null).join(' ')
}

interface CreateFlags {
  account: string
  event: string[]
  description?: string
}

function create(url: string, { account, event, description }: CreateFlags): Promise<Outcome> {
  return withContext(async (context) => {
    const { rules } = context.config.webhooks
    const body = { url, events: event, ...(description !== undefined && { description }) }
    const read = readEndpointRequest(body, rules, { allowHttp: rules.allowHttp })
    if ('fault' in read) throw usageError(read.fault)
    const ring = await keyring(context.config)
    const { id: userId, name } = await accountNamed(context.db, account)
    const activeMax = context.config.webhookEndpointsMax
    const input = { userId, request: read.request, idempotencyKey: null }
    const creation = await createForAccount(context, { ring, activeMax }, input)
    if (creation.outcome !== 'created')
      throw failure(
        `${name} has ${activeMax} active endpoints, its maximum. Disable one first, or raise WEBHOOK_ENDPOINTS_MAX.`,
      )
    const { endpoint, signingSecret } = creation
    return done({ endpoint: wireEndpoint(endpoint), signingSecret }, [
      `endpoint        ${endpoint.id}`,
      `signing secret  ${signingSecret}`,
      'The secret is not shown again.',
    ])
  })
}

async function keyring(config: Config): Promise<Keyring> {
  const ring = await openSecretsKeyring(config)
  if (ring === null) throw failure('There is no key ring: set SECRETS_KEYRING.')
  return ring
}

function operatorOf(endpointId: string): EndpointOf {
  return { endpointId, owner: 'any' }
}

function disable(id: string): Promise<Outcome> {
  return withContext(async (context) => {
    const disabled = await stopDeliveries(context, operatorOf(id), 'operator')
    if (disabled.outcome === 'no such endpoint') throw rejected(id, disabled.outcome)
    const { endpoint } = disabled
    const isNew = disabled.outcome === 'disabled'
    const since = endpoint.disabledAt === null ? '' : wireTime(endpoint.disabledAt)
    return done({ changed: isNew, endpoint: wireEndpoint(endpoint) }, [
      isNew ? `${id} is disabled.` : `${id} has been disabled since ${since}.`,
    ])
  })
}

function enable(id: string): Promise<Outcome> {
  return withContext(async (context) => {
    const activeMax = context.config.webhookEndpointsMax
    const { outcome } = await startDeliveries(context, operatorOf(id), activeMax)
    if (outcome === 'at maximum')
      throw failure(`The account of ${id} has ${activeMax} active endpoints, its maximum.`)
    if (outcome === 'no such endpoint') throw rejected(id, outcome)
    return changedOutcome(id, outcome === 'enabled', 'receives events again')
  })
}

function setPaused(id: string, isPaused: boolean): Promise<Outcome> {
  return withContext(async (context) => {
    const { outcome } = await setDeliveriesPaused(context, operatorOf(id), isPaused)
    if (outcome === 'no such endpoint' || outcome === 'disabled') throw rejected(id, outcome)
    return changedOutcome(
      id,
      outcome === 'changed',
      isPaused ? 'is paused: events wait for it' : 'receives events again',
    )
  })
}

function activateSecret(id: string): Promise<Outcome> {
  return withContext(async (context) => {
    const { outcome } = await activateAnnouncedSecret(context, operatorOf(id))
    if (outcome === 'no such endpoint') throw rejected(id, outcome)
    if (outcome === 'none announced')
      throw failure(
        `${id} has no announced secret. Announce one with \`assay webhooks rotate-secret\`.`,
      )
    return changedOutcome(id, true, 'signs with its announced secret now')
  })
}

function changedOutcome(endpointId: string, isChanged: boolean, effect: string): Outcome {
  const line = isChanged ? `${endpointId} ${effect}.` : `${endpointId} was so before.`
  return done({ endpointId, changed: isChanged }, [line])
}

const rejections = {
  'no such endpoint': 'There is no such webhook endpoint. `assay webhooks endpoints` shows all.',
  'no such event': 'There is no such event, or it may no longer be sent.',
  disabled: 'The endpoint is disabled. Run `assay webhooks enable` first.',
  'a rotation is under way':
    'A rotation is under way. Wait until it ends, or, if a secret has leaked, add --now --drop-old.',
  'replaced by another operator':
    'The secret was replaced less than a minute ago, by another operator or an earlier command, which shows the new one. To replace that one too, run this command again in a minute.',
}

function rejected(endpointId: string, outcome: keyof typeof rejections) {
  return failure(`${endpointId}: ${rejections[outcome]}`, { report: { endpointId } })
}

interface LimitFlags {
  perSecond?: number | 'off'
  atOnce?: number
}

function limit(id: string, { perSecond, atOnce }: LimitFlags): Promise<Outcome> {
  if (perSecond === undefined && atOnce === undefined)
    throw usageError('Add --per-second, --at-once or both.')
  const limits: DeliveryLimits = {
    ...(perSecond !== undefined && { perSecond: perSecond === 'off' ? null : perSecond }),
    ...(atOnce !== undefined && { atOnce }),
  }
  return withContext(async (context) => {
    if (!(await limitDeliveries(context, operatorOf(id), limits)))
      throw rejected(id, 'no such endpoint')
    const rate = perSecond === 'off' ? 'without a limit a second' : `at most ${perSecond} a second`
    const parts = [
      ...(perSecond === undefined ? [] : [rate]),
      ...(atOnce === undefined ? [] : [`at most ${atOnce} at once`]),
    ]
    return done({ endpointId: id, ...limits }, [`${id} is sent events ${parts.join(', ')}.`])
  })
}

const attemptColumns: Columns<ShownAttempt> = {
  time: ({ requestedAt }) => requestedAt,
  event: ({ eventId }) => eventId,
  type: ({ eventType }) => eventType,
  attempt: ({ attempt }) => attempt,
  status: ({ status }) => status,
  response: ({ responseStatus, errorCode }) => joined(responseStatus, errorCode),
  milliseconds: ({ durationMs }) => durationMs,
  next: ({ nextAttemptAt }) => nextAttemptAt,
}

function listDeliveries(endpointId: string, { limit }: { limit: number }): Promise<Outcome> {
  return withContext(async ({ db }) => {
    const deliveries = await findAttempts(db, { ...operatorOf(endpointId), limit })
    if (deliveries === null) throw rejected(endpointId, 'no such endpoint')
    const table = { rows: deliveries, columns: attemptColumns, none: 'No attempt was made yet.' }
    return listed({ endpointId, deliveries }, table)
  })
}

function resend(id: string, eventId: string): Promise<Outcome> {
  return withContext(async (context) => {
    const { outcome } = await sendAgain(context, { ...operatorOf(id), eventId })
    if (outcome !== 'queued') throw rejected(id, outcome)
    return done({ endpointId: id, eventId }, [`${eventId} is sent to ${id} once more.`])
  })
}

const dayMs = 86_400_000

/** Each batch is a transaction: events that were queued stay queued if the command ends early. */
function replay(id: string, { since }: { since: Date }): Promise<Outcome> {
  return withContext(
    async (context) => {
      if (since.getTime() < context.clock().getTime() - replayDaysMax * dayMs)
        throw usageError(
          `--since is ${wireTime(since)}. Use a time of the last ${replayDaysMax} days.`,
        )
      let queued = 0
      let hasMore = true
      while (hasMore && !context.signal.aborted) {
        const replayed = await sendMissed(context, operatorOf(id), since)
        if (replayed.outcome !== 'queued') throw rejected(id, replayed.outcome)
        queued += replayed.count
        hasMore = replayed.more
      }
      const lines = [`${counted(queued, 'missed event')} will be sent, twenty a second.`]
      if (hasMore) lines.push('Interrupted. Run the command again to queue the others.')
      return done({ queued, interrupted: hasMore }, lines, hasMore ? 1 : 0)
    },
    { watchesSignal: true },
  )
}

interface RotateFlags {
  hours?: number
  now?: boolean
  dropOld?: boolean
}

function rotateSecret(id: string, { hours, now = false, dropOld }: RotateFlags): Promise<Outcome> {
  if (now && hours !== undefined) throw usageError('Use either --now or --hours.')
  const announcedHours = now ? 0 : (hours ?? 24)
  if (dropOld && announcedHours > 0)
    throw usageError('--drop-old needs --now: the old secret signs until the new one does.')
  return withContext(async (context) => {
    const ring = await keyring(context.config)
    if (dropOld) {
      const replaced = await replaceLeakedSecret(context, { ...operatorOf(id), ring })
      if (replaced.outcome !== 'replaced') throw rejected(id, replaced.outcome)
      return done({ endpointId: id, signingSecret: replaced.secret }, [
        `The new secret, shown once: ${replaced.secret}`,
        'It signs from now on. The older secrets of the endpoint sign nothing any more.',
      ])
    }
    const rotated = await announceSecret(context, operatorOf(id), { ring, announcedHours })
    if (rotated.outcome !== 'rotated') throw rejected(id, rotated.outcome)
    const signsFrom = wireTime(rotated.signsFrom)
    return done({ endpointId: id, signingSecret: rotated.secret, signsFrom }, [
      `The new secret, shown once: ${rotated.secret}`,
      announcedHours === 0
        ? 'It signs from now on. For a day, the old one signs a header beside it.'
        : `It signs from ${signsFrom} on. Until then, it signs a header beside that of the old one.`,
    ])
  })
}

function reencrypt(): Promise<Outcome> {
  return withContext(async (context) => {
    const ring = await keyring(context.config)
    const [kid] = ring.keys()
    const reencrypted = await reencryptAllSecrets(context, ring)
    return done({ kid, reencrypted }, [
      `${counted(reencrypted, 'secret')} encrypted again. All are under ${kid}.`,
    ])
  })
}
