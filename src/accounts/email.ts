/** Pure: mail addresses of users. */

/**
 * Allows ASCII alone, without the characters that separate or quote addresses. So no mail library
 * and no mail server can read a header or a second recipient in an address.
 */
const form = /^(?=.{3,254}$)[a-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*$/

/**
 * Returns the address in lower case, or null if the text is no address. Addresses that differ only
 * in case belong to one user.
 */
export function parseEmail(text: string): string | null {
  const email = text.trim().toLowerCase()
  return form.test(email) ? email : null
}
