/** How a person is named on the command line. */
import { faultOfText } from '../workers/profile.ts'
import { usernamePattern } from '../workers/username.ts'
import { usageError } from './fail.ts'

const form = new RegExp(usernamePattern)

/** With or without a leading `@`. Throws `Failure` for what no username can be. */
export function usernameGiven(text: string): string {
  const username = text.startsWith('@') ? text.slice(1) : text
  if (!form.test(username))
    throw usageError(
      `${JSON.stringify(text)} is not a username: 3 to 30 of a-z 0-9 _ -, a letter or digit at both ends.`,
    )
  return username
}

/** Who does something, as kept with the change. Throws `Failure` for what no name can be. */
export function actorGiven(by: string): string {
  const fault = faultOfText('--by', by, { max: 200 })
  if (fault !== null) throw usageError(`--by ${fault.reason}.`)
  return by
}
