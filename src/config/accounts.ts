/** Settings of users, their sessions, and sign-in mails. */
import { needNames } from '../health/needs.ts'
import {
  flag,
  integer,
  list,
  oneOf,
  path,
  type Reading,
  readerOf,
  type SettingTable,
} from './setting.ts'

export const accountsSettings = {
  SESSION_IDLE_DAYS: {
    default: '7',
    unit: 'days',
    effect: 'A session ends if it is not used for this long.',
    parse: integer(1, 365),
  },
  SESSION_DAYS: {
    default: '30',
    unit: 'days',
    effect: 'A session ends this long after sign-in, even if it is used.',
    parse: integer(1, 365),
  },
  SMTP_URL: {
    default: 'none',
    unit: 'smtp:// or smtps:// URL, with user and password if the server requires them',
    effect: 'The server that sends sign-in links and invitations; without it no mail is sent.',
    confidential: true,
    parse: smtpUrl,
  },
  MAIL_FROM: {
    default: 'none',
    unit: 'mail address',
    effect: 'The sender of every mail; required with SMTP_URL.',
    parse: mailAddress,
  },
  SMTP_REQUIRE_TLS: {
    default: 'true',
    unit: 'true or false',
    effect:
      'With false, mails and the password of SMTP_URL may go out unencrypted: only for a mail server on this machine.',
    parse: flag,
  },
  SMTP_CA_FILE: {
    default: 'none',
    unit: 'PEM file',
    effect:
      'Certificate authorities to trust for the mail server, in addition to those of this machine.',
    parse: path,
  },
  NOTICES_TO: {
    default: 'none',
    unit: 'mail addresses, separated by commas',
    effect: 'Who gets the notices for the operator by mail; it needs SMTP_URL.',
    parse: (text) => [...new Set(list(text).map((one) => mailAddress(one).toLowerCase()))],
  },
  NOTICES_OFF: {
    default: '',
    unit: 'names of notices, separated by commas',
    effect: `Notices that the operator does not get: ${needNames.join(', ')}.`,
    parse: (text) => list(text).map(oneOf(...needNames)),
  },
  OIDC_ISSUER: {
    default: 'none',
    unit: 'https URL',
    effect:
      'The issuer of the OpenID Connect provider by which users sign in; without it there is none. It needs OIDC_CLIENT_ID and OIDC_CLIENT_SECRET.',
    parse: issuerUrl,
  },
  OIDC_CLIENT_ID: {
    default: 'none',
    unit: 'text',
    effect: 'The id under which the provider knows this service; required with OIDC_ISSUER.',
    parse: shortText,
  },
  OIDC_CLIENT_SECRET: {
    default: 'none',
    unit: 'text',
    effect:
      'The secret of that client, sent to the provider by HTTP Basic; required with OIDC_ISSUER.',
    confidential: true,
    parse: shortText,
  },
  OIDC_NAME: {
    default: 'the host of OIDC_ISSUER',
    unit: 'text',
    effect: 'The name of the provider on the sign-in page.',
    parse: shortText,
  },
  SIGN_UP: {
    default: 'invited',
    unit: 'invited or open',
    effect:
      'With open, any mail address that requests a sign-in link, or that the provider has verified, gets a user and an account; it needs SMTP_URL or OIDC_ISSUER.',
    parse: oneOf('invited', 'open'),
  },
  SIGN_UP_CREDITS: {
    default: '0',
    unit: 'credits',
    effect: 'Credits that a new account gets with SIGN_UP=open.',
    parse: integer(0, 1_000_000),
  },
} as const satisfies SettingTable

export function readAccounts(reading: Reading) {
  const { read, readOr } = readerOf(accountsSettings, reading)
  const smtp = read('SMTP_URL')
  const from = read('MAIL_FROM')
  const isOpen = readOr('SIGN_UP') === 'open'
  const isUnset = (name: string): boolean => (reading.env[name] ?? '') === ''
  if (smtp !== undefined && isUnset('MAIL_FROM'))
    reading.problems.push('MAIL_FROM must be set where SMTP_URL is: it is the sender of every mail')
  if (!isUnset('NOTICES_TO') && isUnset('SMTP_URL'))
    reading.problems.push('SMTP_URL must be set where NOTICES_TO is: it sends the notices')
  if (isOpen && isUnset('SMTP_URL') && isUnset('OIDC_ISSUER'))
    reading.problems.push(
      'SMTP_URL or OIDC_ISSUER must be set where SIGN_UP is open: a new user signs in by mail or by a provider',
    )
  return {
    sessions: { idleDays: readOr('SESSION_IDLE_DAYS'), days: readOr('SESSION_DAYS') },
    mail:
      smtp === undefined || from === undefined
        ? null
        : {
            smtpUrl: smtp,
            from,
            requireTls: readOr('SMTP_REQUIRE_TLS'),
            caFile: read('SMTP_CA_FILE'),
          },
    notices: { to: read('NOTICES_TO') ?? [], off: readOr('NOTICES_OFF') },
    oidc: readOidc(reading),
    signUp: { isOpen, credits: readOr('SIGN_UP_CREDITS') },
  }
}

/** Reads the settings of the provider: all three are set, or none is. */
function readOidc(reading: Reading) {
  const { read } = readerOf(accountsSettings, reading)
  const required = ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'] as const
  const isSet = (name: string): boolean => (reading.env[name] ?? '') !== ''
  const given = required.filter(isSet)
  const missing = required.filter((name) => !isSet(name))
  if (given.length > 0 && missing.length > 0)
    reading.problems.push(`${missing.join(' and ')} must be set where ${given.join(' and ')} is`)
  const [issuer, clientId, clientSecret] = [
    read('OIDC_ISSUER'),
    read('OIDC_CLIENT_ID'),
    read('OIDC_CLIENT_SECRET'),
  ]
  const name = read('OIDC_NAME')
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) return null
  return { issuer, clientId, clientSecret, name: name ?? new URL(issuer).host }
}

/**
 * Allows http on this machine alone: over http, an attacker on the way could answer for the
 * provider.
 */
function issuerUrl(text: string): string {
  const url = URL.parse(text)
  const isLocal = url !== null && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)
  const isSound =
    url !== null &&
    (url.protocol === 'https:' || (url.protocol === 'http:' && isLocal)) &&
    url.username === '' &&
    url.password === '' &&
    !/[?#]/.test(text)
  if (!isSound)
    throw new Error(
      'the https URL of the issuer, without a query, such as https://login.example.com; http is allowed on this machine alone',
    )
  return text
}

function shortText(text: string): string {
  if (!/^[\P{Cc}]{1,500}$/u.test(text) || text.trim() !== text)
    throw new Error('a text of at most 500 characters, without control characters or outer spaces')
  return text
}

/** Rejects a query: it sets options of the mail library, one of which disables TLS verification. */
function smtpUrl(text: string): string {
  const url = URL.parse(text)
  const isSound =
    url !== null &&
    /^smtps?:$/.test(url.protocol) &&
    url.hostname !== '' &&
    url.search === '' &&
    url.hash === '' &&
    !/[?#]/.test(text) &&
    /^\/?$/.test(url.pathname)
  if (!isSound)
    throw new Error(
      'an smtp or smtps URL such as smtps://user:password@mail.example.com, without a path or query',
    )
  return text
}

function mailAddress(text: string): string {
  if (!/^[^\s<>@,;:"()[\]\\]{1,64}@[a-z0-9.-]{1,253}$/i.test(text))
    throw new Error('a mail address such as no-reply@example.com')
  return text
}
