/** Pure: mail addresses of users. */

/**
 * ASCII alone, and none of the characters that separate or quote addresses: an address can neither inject a header nor name a second
 * recipient, whatever a mail library or a mail server makes of it.
 */
const form = /^(?=.{3,254}$)[a-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*$/

/** Returns the address in lower case, or null if it is none. An address names one user, however it is typed. */
export function parseEmail(text: string): string | null {
  const email = text.trim().toLowerCase()
  return form.test(email) ? email : null
}
