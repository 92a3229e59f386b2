/** Pure: mail addresses of users. */
import { Type } from 'typebox'

/**
 * Allows ASCII alone, without the characters that separate or quote addresses. So no mail library
 * and no mail server can read a header or a second recipient in an address.
 */
const form =
  "^(?=.{3,254}$)[a-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[a-z0-9-]{1,63}(\\.[a-z0-9-]{1,63})*$"
const formed = new RegExp(form)

/**
 * Returns the address in lower case, or null if the text is no address. Addresses that differ only
 * in case belong to one user.
 */
export function parseEmail(text: string): string | null {
  const email = text.trim().toLowerCase()
  return formed.test(email) ? email : null
}

/** The address of a user, in the input of an operation. */
export const emailField = Type.String({
  pattern: form,
  description: 'must be a mail address, such as ada@example.org',
  'x-help': 'the mail address of the user',
  oneSpelling: (text: string) => text.trim().toLowerCase(),
})
