/** `assay consent`: the permissions that workers give, entered by the operator. */
import type { Command } from 'commander'
import { setConsent } from '../../scores/keep-sharing.ts'
import { type Permission, permissions } from '../../workers/schema.ts'
import { byOption, oneOf, parseTextVersion, usernameArgument } from '../args.ts'
import { act, command } from '../command.ts'
import { withContext } from '../context.ts'
import { unknownWorker } from '../fail.ts'
import { done, type Outcome } from '../output.ts'

const permissionArgument = ['<permission>', permissions.join(', '), oneOf(permissions)] as const

export function declareCommand(consent: Command): void {
  command(
    consent,
    'grant',
    'Record that a worker grants a permission',
    'assay consent grant ada-lovelace score_sharing --text-version 2026-05',
  )
    .argument(...usernameArgument)
    .argument(...permissionArgument)
    .option(
      '--text-version <version>',
      'of the text that the worker agreed to',
      parseTextVersion,
      '1',
    )
    .option(...byOption)
    .action(act(change))

  command(
    consent,
    'withdraw',
    'Record that a worker withdraws a permission',
    'assay consent withdraw ada-lovelace score_sharing',
  )
    .argument(...usernameArgument)
    .argument(...permissionArgument)
    .option(...byOption)
    .action(act(change))
}

interface ChangeFlags {
  by: string
  /** Only `grant` has it. */
  textVersion?: string
}

function change(username: string, permission: Permission, flags: ChangeFlags): Promise<Outcome> {
  const { by, textVersion = null } = flags
  return withContext(async (context) => {
    const answer = await setConsent(context, username, { permission, textVersion, by })
    if (answer.outcome === 'unknown_worker') throw unknownWorker(username)
    const request = { username, permission, granted: textVersion !== null }
    if (answer.outcome === 'unchanged')
      return done({ ...request, changed: false }, [`${username}: ${permission} is so already.`])
    const { consentVersion, previousGranted } = answer.change
    const { onboardedNow } = answer
    const word = textVersion === null ? 'withdrawn' : 'granted'
    const lines = [`${username}: ${permission} ${word} (consent version ${consentVersion})`]
    if (onboardedNow) lines.push(`${username} is onboarded now.`)
    const report = { ...request, changed: true, consentVersion, previousGranted, onboardedNow }
    return done(report, lines)
  })
}
