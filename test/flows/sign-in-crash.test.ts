/** A process is killed between any two steps of sign-in: request, mail, confirmation. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { sendMails } from '../../src/accounts/send-mails.ts'
import { confirmLink, requestLink } from '../../src/accounts/sign-in.ts'
import { sql } from '../../src/platform/db/db.ts'
import { openMailClient } from '../../src/platform/egress/mail-client.ts'
import { mailRenderer } from '../../src/web/mails.ts'
import { newSession } from '../support/build/sessions.ts'
import { testDatabase } from '../support/start/database.ts'
import { startMailServer } from '../support/start/mail-server.ts'
import { eventually, temporaryFolder } from '../support/start/processes.ts'

const database = await testDatabase()
const { db } = database
const mail = await startMailServer()
after(async () => {
  await mail.stop()
  await database.drop()
})
const caFile = join(temporaryFolder(), 'mail-ca.pem')
writeFileSync(caFile, mail.ca)
const client = openMailClient({
  smtpUrl: mail.url,
  requireTls: true,
  from: 'no-reply@example.com',
  extraCa: mail.ca,
})
after(() => client.close())

const visitor = { network: { buckets: [] }, userAgent: undefined, cookies: undefined }
/** After the lease of a mail that the killed process had claimed, and before its link expires. */
const later = new Date('2026-03-01T09:02:00Z')

const connections = sql`
  select pid from pg_stat_activity
  where datname = current_database() and application_name = 'sign-in-once'`

interface Run {
  wasKilled: boolean
  /** The answers that the browser received. */
  answers: string[]
}

async function signInOnce(email: string, boundary: number): Promise<Run> {
  const args = [database.url, mail.url, caFile, email, String(boundary)]
  const file = 'test/support/fault/sign-in-once.ts'
  const child = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [out, [code, signal]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  assert.ok(code === 0 || signal === 'SIGKILL', `ended with ${code ?? signal}`)
  // Until PostgreSQL notices the end, the locks of an open transaction hide a mail from the sender.
  await eventually('the connection of the killed process is closed', {
    see: async () => (await db.rows(connections)).length === 0,
  })
  return { wasKilled: signal === 'SIGKILL', answers: out.split('\n').filter(Boolean) }
}

/** `newSessions` are those beside the first one, with which the user was made. */
async function stateOf(email: string): Promise<{ mails: number; newSessions: number }> {
  const [state] = await db.rows<{ mails: number; newSessions: number }>(sql`
    select (select count(*) from mails where email = ${email}) as mails,
      (select count(*) - 1 from sessions s join users u on u.id = s.user_id
       where u.email = ${email}) as "newSessions"`)
  return state ?? assert.fail()
}

/** Sends the mails that are due, as the next jobs process does. */
async function sendDue(): Promise<void> {
  await sendMails({
    db,
    clock: () => later,
    publicUrl: 'https://scores.example.org',
    operatorUrl: 'https://scores.example.org',
    client,
    render: mailRenderer('https://scores.example.org'),
    signUp: async () => null,
    onResult: () => {},
  })
}

/** Presses the button of every link that the address has received. Returns how many signed in. */
async function confirmAll(email: string): Promise<number> {
  const mails = mail.received.filter(({ to }) => to.includes(email))
  assert.ok(mails.length >= 1, 'a mail is sent at least once')
  const rules = { idleDays: 7, days: 30 }
  const confirmed = await Promise.all(
    mails.map(({ link }) => {
      const token = new URL(link).searchParams.get('token') ?? ''
      return confirmLink(db, { token, visitor, previousValue: null }, { rules, now: later })
    }),
  )
  return confirmed.filter((signedIn) => signedIn !== null).length
}

test('SIGKILL at every boundary of sign-in: no request is lost, and the links of a mail make one session', async () => {
  let boundary = 0
  for (let wasKilled = true; wasKilled; boundary++) {
    const at = `killed at boundary ${boundary}`
    const { email } = await newSession(db)
    const run = await signInOnce(email, boundary)
    wasKilled = run.wasKilled
    const left = await stateOf(email)
    if (run.answers.includes('requested'))
      assert.equal(left.mails + left.newSessions, 1, `${at}: the request is kept`)
    if (run.answers.includes('signed in')) assert.equal(left.newSessions, 1, at)
    if (left.mails + left.newSessions === 0)
      await requestLink(db, { email, next: null, visitor }, later)
    await sendDue()
    assert.equal(await confirmAll(email), 1 - left.newSessions, at)
    assert.equal(await confirmAll(email), 0, `${at}: a link works once`)
    assert.deepEqual(await stateOf(email), { mails: 0, newSessions: 1 }, at)
  }
  assert.ok(boundary > 15, `${boundary} boundaries`)
})
