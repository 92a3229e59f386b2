/** `assay consent grant` and `withdraw`: the person's own decision, entered by the operator. */
import { operator, recordAction } from '../audit/record.ts'
import type { Config } from '../config/config.ts'
import { systemClock } from '../platform/clock.ts'
import type { Tx } from '../platform/db/db.ts'
import { changeConsent } from '../scores/keep-sharing.ts'
import type { Attribution, ConsentOutcome, ConsentRequest } from '../workers/consent.ts'
import { isPermission, permissions } from '../workers/schema.ts'
import { withDatabase } from './context.ts'
import { unknownWorker, usageError } from './fail.ts'
import { done, type Outcome } from './output.ts'
import { actorGiven, usernameGiven } from './person.ts'

export interface ConsentFlags {
  by: string
  /** Of the text agreed to; null to withdraw. */
  textVersion: string | null
}

const textVersionForm = /^[0-9A-Za-z][0-9A-Za-z._:-]{0,63}$/

export function changeConsentCommand(
  config: Config,
  [given, permission]: readonly [string, string],
  { by, textVersion }: ConsentFlags,
): Promise<Outcome> {
  const username = usernameGiven(given)
  const actor = actorGiven(by)
  if (!isPermission(permission))
    throw usageError(
      `${JSON.stringify(permission)} is not a permission: one of ${permissions.join(', ')}.`,
    )
  if (textVersion !== null && !textVersionForm.test(textVersion))
    throw usageError('--text-version: 1 to 64 letters, digits or . _ : -')
  return withDatabase(config, async (db) => {
    const wish = { permission, textVersion, by: actor, at: systemClock() }
    const changed = await db.transaction((tx) => changeRecorded(tx, username, wish))
    if (changed.outcome === 'unknown_worker') throw unknownWorker(username)
    const told = { username, permission, granted: textVersion !== null }
    if (changed.outcome === 'unchanged')
      return done({ ok: true, ...told, changed: false }, [`${username}: nothing to change`])
    const { consentVersion, previousGranted } = changed.change
    const { onboardedNow } = changed
    const word = textVersion === null ? 'withdrawn' : 'granted'
    const lines = [`${username}: ${permission} ${word} (consent version ${consentVersion})`]
    if (onboardedNow) lines.push(`${username} is onboarded now.`)
    return done(
      { ok: true, ...told, changed: true, consentVersion, previousGranted, onboardedNow },
      lines,
    )
  })
}

async function changeRecorded(
  tx: Tx,
  username: string,
  wish: ConsentRequest & Attribution,
): Promise<ConsentOutcome> {
  const changed = await changeConsent(tx, username, wish)
  if (changed.outcome !== 'changed') return changed
  const action = wish.textVersion === null ? 'consent.withdrawn' : 'consent.granted'
  const subjects = [changed.change.workerId]
  const details = { permission: wish.permission }
  await recordAction(tx, { actor: operator(), action, subjects, details }, wish.at)
  return changed
}
