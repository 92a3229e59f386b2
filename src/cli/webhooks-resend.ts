/** `assay webhooks resend` and `replay`: sends one event again, or every event that an endpoint missed. */
import type { Config } from '../config/config.ts'
import { systemClock } from '../platform/clock.ts'
import { replayDaysMax, replaySince, resendEvent } from '../webhooks/delivery/resend.ts'
import { usageError } from './fail.ts'
import { done, type Outcome } from './output.ts'
import { changeEndpoint, refusalOf } from './webhook-endpoint.ts'

export function resendCommand(config: Config, endpoint: string, eventId: string): Promise<Outcome> {
  return changeEndpoint(config, endpoint, async (tx, endpointId, at) => {
    const outcome = await resendEvent(tx, { endpointId, eventId, at })
    if (outcome !== 'queued') return refusalOf(outcome)
    return {
      entry: { action: 'webhooks.resent', subjects: [endpointId], details: { eventId } },
      result: { eventId },
      lines: [`${eventId} is sent to ${endpointId} once more.`],
    }
  })
}

const dayMs = 86_400_000

/** Batch by batch, each with its entry: what is queued stays queued, whatever ends the command. */
export async function replayCommand(
  config: Config,
  endpoint: string,
  flags: { since: string },
): Promise<Outcome> {
  const since = sinceOf(flags.since, systemClock())
  let total = 0
  for (;;) {
    let more = false
    const outcome = await changeEndpoint(config, endpoint, async (tx, endpointId, at) => {
      const replayed = await replaySince(tx, { endpointId, since, at })
      if (replayed.outcome !== 'queued') return refusalOf(replayed.outcome)
      const { count } = replayed
      more = replayed.more
      total += count
      const subjects = [endpointId]
      return {
        entry: count > 0 ? { action: 'webhooks.replayed', subjects, details: { count } } : null,
        result: {},
        lines: [],
      }
    })
    if (outcome.exitCode !== 0) return outcome
    if (!more) break
  }
  return done({ ok: true, queued: total }, [`${total} missed events are sent, twenty a second.`])
}

function sinceOf(text: string, now: Date): Date {
  const since = /^\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d+)?Z)?$/.test(text) ? new Date(text) : null
  if (since === null || Number.isNaN(since.getTime()))
    throw usageError('--since is a day or a time in UTC: 2026-05-14 or 2026-05-14T09:00:00Z.')
  if (since.getTime() < now.getTime() - replayDaysMax * dayMs)
    throw usageError(`--since reaches back ${replayDaysMax} days at most.`)
  return since
}
