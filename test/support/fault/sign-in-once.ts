/**
 * A process that signs a user in once, from the request to the session, and kills itself at a
 * boundary. Usage: `node sign-in-once.ts URL SMTP_URL CA_FILE EMAIL BOUNDARY`. A boundary is before
 * each statement, before each commit, before the mail is sent, and before each line of output. A
 * line of output stands for an answer to the browser.
 */
import { readFileSync, writeSync } from 'node:fs'
import { sendMails } from '../../../src/accounts/send-mails.ts'
import { confirmLink, requestLink } from '../../../src/accounts/sign-in.ts'
import { type Db, openDb } from '../../../src/platform/db/db.ts'
import { openMailClient } from '../../../src/platform/egress/mail-client.ts'
import { mailRenderer } from '../../../src/web/mails.ts'
import { boundedDb } from './faults.ts'
import '../start/timeout-multiplier.ts'

const [url = '', smtpUrl = '', caFile = '', email = '', boundary] = process.argv.slice(2)
const options = { connectionsMax: 1, applicationName: 'sign-in-once', onError: () => {} }
const db = openDb({ url, ...options })
let reached = 0
const step = () => {
  if (reached++ === Number(boundary)) process.kill(process.pid, 'SIGKILL')
}
const mortal: Db = {
  ...boundedDb(db, step),
  rows: (statement) => {
    step()
    return db.rows(statement)
  },
  run: (statement) => {
    step()
    return db.run(statement)
  },
}
const answer = (line: string) => {
  step()
  writeSync(1, `${line}\n`)
}

const now = new Date('2026-03-01T09:00:00Z')
const clock = () => now
const visitor = { network: { buckets: [] }, userAgent: undefined, cookies: undefined }
await requestLink(mortal, { email, next: null, visitor }, now)
answer('requested')

const client = openMailClient({
  smtpUrl,
  requireTls: true,
  from: 'no-reply@example.com',
  extraCa: readFileSync(caFile, 'utf8'),
})
const render = mailRenderer('https://scores.example.org')
let token: string | undefined
await sendMails({
  db: mortal,
  clock,
  publicUrl: 'https://scores.example.org',
  operatorUrl: 'https://scores.example.org',
  client: {
    ...client,
    send: (mail) => {
      step()
      return client.send(mail)
    },
  },
  render: (content) => {
    if ('url' in content) token = new URL(content.url).searchParams.get('token') ?? undefined
    return render(content)
  },
  signUp: async () => null,
  onResult: () => {},
})
client.close()

const rules = { idleDays: 7, days: 30 }
const signedIn = await confirmLink(mortal, { token, visitor, previousValue: null }, { rules, now })
if (signedIn === null) throw new Error('the link did not sign in')
answer('signed in')
await db.close()
