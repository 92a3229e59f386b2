/**
 * The one client that sends mail. Our dialler opens its connections within our deadline, because
 * the library has no deadline for a foreign dialler. Without STARTTLS nothing is sent, because a
 * machine in the middle could read the password and the links.
 */
import { getCACertificates } from 'node:tls'
import { createTransport } from 'nodemailer'
import { deadlineMs } from '../deadlines.ts'
import { dialer } from './dial.ts'
import { EgressError, failureText, tlsCause } from './failures.ts'
import { systemResolver } from './names.ts'
import { operatorRules } from './rules.ts'

export interface MailClientOptions {
  /** `smtp://` or `smtps://`, with user and password if the server wants them. */
  smtpUrl: string
  /** False only for a server on this machine. */
  requireTls: boolean
  /** The address of the sender. */
  from: string
  /** PEM certificates to trust beside the usual ones. */
  extraCa?: string | undefined
  deadlines?: Partial<MailDeadlines>
}

/** Milliseconds. */
export interface MailDeadlines {
  connectMs: number
  /** Between two answers of the server. */
  silenceMs: number
  /** The whole mail. */
  totalMs: number
}

const usualDeadlines = (): MailDeadlines => ({
  connectMs: deadlineMs('mailConnect'),
  silenceMs: deadlineMs('mailSilence'),
  totalMs: deadlineMs('mailExchange'),
})

export interface Mail {
  /** One address, as `parseEmail` accepts it: the library sends it to the server as it stands. */
  to: string
  subject: string
  text: string
  html: string
  /** The same for every attempt at a mail, so that a receiver can recognise a repeat. */
  messageId: string
}

export type MailResult =
  | { result: 'sent' }
  /** The server will never take this mail: it named the recipient or the content as the reason. */
  | { result: 'rejected'; code: number; why: string }
  /** Another attempt may succeed. A mail whose last answer was lost may have been delivered. */
  | { result: 'failed'; why: string }

export interface MailClient {
  /** Never throws because of the mail server's behaviour. */
  send(mail: Mail): Promise<MailResult>
  /** Connects and signs in, and sends nothing. Returns why a mail would fail, or null. */
  check(): Promise<string | null>
  close(): void
}

export function openMailClient(options: MailClientOptions): MailClient {
  const { smtpUrl, requireTls, from, extraCa } = options
  const { connectMs, silenceMs, totalMs } = { ...usualDeadlines(), ...options.deadlines }
  const dial = dialer({ rules: operatorRules, resolve: systemResolver, connectMs })
  const ca = extraCa === undefined ? {} : { ca: [...getCACertificates('default'), extraCa] }
  const transport = createTransport({
    url: smtpUrl,
    requireTLS: requireTls,
    tls: { minVersion: 'TLSv1.2', ...ca },
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    socketTimeout: silenceMs,
    disableFileAccess: true,
    disableUrlAccess: true,
    getSocket: (target, done) => {
      const { host = '', port = 0 } = target
      // Plain TCP: the library makes TLS itself, by STARTTLS or at once.
      dial({ protocol: 'smtp:', hostname: host, host, port: String(port) }, (error, socket) =>
        error === null ? done(null, { connection: socket }) : done(error),
      )
    },
  })
  return {
    async send({ to, messageId, ...content }) {
      try {
        await transport.sendMail({
          ...content,
          messageId,
          from: { name: 'assay', address: from },
          to: { name: '', address: to },
          headers: { 'Auto-Submitted': 'auto-generated' },
          signal: AbortSignal.timeout(totalMs),
        })
        return { result: 'sent' }
      } catch (error) {
        return failureOf(error)
      }
    },
    async check() {
      try {
        await transport.verify()
        return null
      } catch (error) {
        return whyOf(error)
      }
    },
    close: () => transport.close(),
  }
}

/**
 * Errors about the envelope or the content concern this mail alone. A wrong password concerns every
 * mail, and is mended.
 */
const aboutTheMail = new Set(['EENVELOPE', 'EMESSAGE'])

function failureOf(error: unknown): MailResult {
  const { code, responseCode } = Object(error) as { code?: unknown; responseCode?: unknown }
  if (typeof responseCode === 'number' && responseCode >= 500 && aboutTheMail.has(String(code)))
    return { result: 'rejected', code: responseCode, why: whyOf(error) }
  return { result: 'failed', why: whyOf(error) }
}

const whyCharactersMax = 200

/**
 * Returns the code of the library and the answer of the server, or the cause of the connection's
 * failure. An answer may repeat the address of the recipient, which is left out.
 */
function whyOf(error: unknown): string {
  const { code, response, message, cause } = Object(error) as Record<string, unknown>
  const name = typeof code === 'string' ? code : 'error'
  if (typeof response === 'string' && response !== '')
    return `${name}: ${withoutAddresses(response)}`
  if (error instanceof EgressError) return failureText(error.failure, error)
  const text = tlsCause(error) ?? tlsCause(cause) ?? message
  return typeof text === 'string' ? `${name}: ${withoutAddresses(text)}` : name
}

function withoutAddresses(text: string): string {
  return text
    .replace(/\S*@\S*/g, '[address]')
    .replace(/\s+/g, ' ')
    .slice(0, whyCharactersMax)
}
