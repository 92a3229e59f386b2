/** A real SMTP server that keeps every mail that it accepts, and answers as a test says. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { type ParsedMail, simpleParser } from 'mailparser'
import { SMTPServer } from 'smtp-server'
import { createAuthority } from '../../../src/demo/certificates.ts'

export interface ReceivedMail {
  to: string[]
  from: string
  subject: string
  text: string
  html: string
  messageId: string
  /** The first link in the text. */
  link: string
  raw: string
}

export interface MailServer {
  port: number
  /** The certificate authority, in PEM. */
  ca: string
  /** For SMTP_URL, by STARTTLS. */
  url: string
  received: ReceivedMail[]
  /** Recipients as the client named them, accepted or not. */
  recipients: string[]
  /** The answer to each recipient: null accepts. */
  answer: { toRecipient: { code: number; text: string } | null }
  stop(): Promise<void>
}

export interface MailServerOptions {
  port?: number
  /** The server offers no STARTTLS. */
  isPlain?: boolean
}

/** The caller's: `after(() => server.stop())`. */
export async function startMailServer({
  port = 0,
  isPlain = false,
}: MailServerOptions = {}): Promise<MailServer> {
  const authority = createAuthority()
  const received: ReceivedMail[] = []
  const recipients: string[] = []
  const answer: MailServer['answer'] = { toRecipient: null }
  const server = new SMTPServer({
    ...authority.certify('localhost', '127.0.0.1'),
    hideSTARTTLS: isPlain,
    authOptional: true,
    disableReverseLookup: true,
    onAuth: ({ username, password }, _session, done) =>
      username === 'mailer' && password === 'smtp-CANARY-password'
        ? done(null, { user: 'mailer' })
        : done(new Error('wrong password')),
    onRcptTo({ address }, _session, done) {
      recipients.push(address)
      const { toRecipient } = answer
      if (toRecipient === null) done()
      else done(Object.assign(new Error(toRecipient.text), { responseCode: toRecipient.code }))
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const raw = Buffer.concat(chunks).toString('utf8')
        const to = session.envelope.rcptTo.map(({ address }) => address)
        simpleParser(raw, (error: Error | null, mail) => {
          if (error === null) received.push(receivedMail(to, raw, mail))
          done(error)
        })
      })
    },
  })
  // A handshake that fails is the client's to report.
  server.on('error', () => {})
  server.listen(port, '127.0.0.1')
  await once(server.server, 'listening')
  const { port: listening } = server.server.address() as AddressInfo
  return {
    port: listening,
    ca: authority.cert,
    url: `smtp://mailer:smtp-CANARY-password@localhost:${listening}`,
    received,
    recipients,
    answer,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

function receivedMail(to: string[], raw: string, mail: ParsedMail): ReceivedMail {
  const text = mail.text ?? ''
  return {
    to,
    from: mail.from?.text ?? '',
    subject: mail.subject ?? '',
    text,
    html: typeof mail.html === 'string' ? mail.html : '',
    messageId: mail.messageId ?? '',
    link: /https?:\/\/\S+/.exec(text)?.[0] ?? '',
    raw,
  }
}
