/** `assay identity`: the results of the operator's identity checks. */
import type { Command } from 'commander'
import { systemClock, wireTime } from '../../platform/clock.ts'
import { type OperatorMove, setIdentity } from '../../scores/keep-sharing.ts'
import { yearsAfter } from '../../workers/identity-state.ts'
import { byOption, parseTime, usernameArgument } from '../args.ts'
import { act, command } from '../command.ts'
import { withContext } from '../context.ts'
import { failure, unknownWorker, usageError } from '../fail.ts'
import { done, type Outcome } from '../output.ts'

export function declareCommand(identity: Command): void {
  command(
    identity,
    'verify',
    'Record that you have checked the identity of a worker',
    'assay identity verify ada-lovelace --until 2027-05-14',
  )
    .argument(...usernameArgument)
    .option(
      '--until <time>',
      'the check counts before this day or time (default: a year)',
      parseTime,
    )
    .option(...byOption)
    .action(act(verify))

  command(
    identity,
    'revoke',
    'Record that an identity check does not count any more',
    'assay identity revoke ada-lovelace',
  )
    .argument(...usernameArgument)
    .option(...byOption)
    .action(act(revoke))
}

function verify(username: string, flags: { by: string; until?: Date }): Promise<Outcome> {
  const { by, until = yearsAfter(systemClock(), 1) } = flags
  return apply(username, { move: 'verify', until }, by)
}

function revoke(username: string, { by }: { by: string }): Promise<Outcome> {
  return apply(username, { move: 'revoke' }, by)
}

function apply(username: string, move: OperatorMove, by: string): Promise<Outcome> {
  return withContext(async (context) => {
    const answer = await setIdentity(context, username, { ...move, by })
    if (answer.outcome === 'unknown_worker') throw unknownWorker(username)
    if (answer.outcome === 'unusable') throw usageError(`--until ${answer.fault.reason}.`)
    const { from } = answer
    if (answer.outcome === 'refused')
      throw failure(`${username}: there is nothing to ${move.move}, the identity is ${from}.`, {
        report: { username, from },
      })
    if (answer.outcome === 'unchanged')
      return done({ username, changed: false, identity: from }, [
        `${username}: nothing to change, the identity is ${from}`,
      ])
    const verifiedUntil = move.move === 'verify' ? wireTime(move.until) : null
    const until = verifiedUntil === null ? '' : ` until ${verifiedUntil}`
    return done({ username, changed: true, from, identity: answer.to, verifiedUntil }, [
      `${username}: identity ${answer.to}${until} (it was ${from})`,
    ])
  })
}
