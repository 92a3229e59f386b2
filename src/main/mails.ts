/** Composes the sending of mails in the jobs process: client, job and metrics. */

import { createAccount } from '../accounts/access/manage.ts'
import {
  insertMembership,
  type MailKind,
  sweepInvitations,
  sweepMailBudget,
  sweepMails,
} from '../accounts/api.ts'
import { type MailSenderOptions, sendMails } from '../accounts/send-mails.ts'
import { findOrCreateUser } from '../accounts/users.ts'
import { theService } from '../audit/actions.ts'
import { recordAction } from '../audit/record.ts'
import { grantCredits } from '../billing/credits/credits.ts'
import type { Config } from '../config/config.ts'
import type { Tx } from '../platform/db/db.ts'
import { type MailClient, openMailClient } from '../platform/egress/mail-client.ts'
import type { Job } from '../platform/job-runner.ts'
import { mailRenderer } from '../web/mails.ts'
import { readAuthorities } from './authorities.ts'
import type { ServiceOptions } from './context.ts'
import { lostJobsJob, noticeJob } from './jobs/notices.ts'
import { openServices } from './operation-services.ts'

export type MailOptions = Pick<ServiceOptions, 'config' | 'db' | 'log' | 'clock' | 'metrics'>

/** Short, because a user waits for the link. */
const pollMs = 500

/** Returns the jobs of mails. Without a mail server they only delete old links. */
export async function mailJobs(
  options: MailOptions,
  closing: AsyncDisposableStack,
): Promise<Job[]> {
  const { db, clock } = options
  const sweep = {
    name: 'delete old sign-in links and invitations',
    everyMs: 600_000,
    async run() {
      await sweepMails(db, clock())
      await sweepInvitations(db, clock())
      await sweepMailBudget(db, clock())
    },
  }
  const sender = await mailSender(options, closing)
  if (sender === null) return [sweep]
  return [sweep, sender, noticeJob({ ...options, services: openServices(options.config) })]
}

/** Returns the job of a server whose background jobs run elsewhere, if its operator gets mails. */
export async function mailJobsOfServer(
  options: MailOptions,
  closing: AsyncDisposableStack,
): Promise<Job[]> {
  if (options.config.notices.to.length === 0) return []
  const sender = await mailSender(options, closing, 'notice')
  if (sender === null) return []
  return [lostJobsJob({ ...options, services: openServices(options.config) }, sender.run)]
}

async function mailSender(
  { config, db, log, clock, metrics }: MailOptions,
  closing: AsyncDisposableStack,
  only?: MailKind,
): Promise<Job | null> {
  const { mail, publicUrl, operatorUrl, signUp } = config
  if (mail === null) return null
  const client = await openMails(mail)
  closing.defer(() => client.close())
  const count = metrics.counter({
    name: 'mails_total',
    help: 'Attempts to send a mail, by outcome.',
    labels: ['kind', 'outcome'],
  })
  const senderOptions: MailSenderOptions = {
    db,
    clock,
    publicUrl,
    operatorUrl,
    client,
    render: mailRenderer(publicUrl),
    only,
    signUp: async (tx, email, now) =>
      signUp.isOpen ? signUpUser(tx, { email, credits: signUp.credits }, now) : null,
    onResult({ id: mailId, kind, attempt }, sent) {
      count(kind, sent.result)
      if (sent.result === 'failed')
        log.warn('a mail was not sent', { mailId, attempt, why: sent.why })
      if (sent.result === 'rejected')
        log.warn('the mail server rejected a mail', { mailId, code: sent.code, why: sent.why })
      if (sent.result === 'given up') log.error('a mail was given up', null, { mailId, attempt })
    },
  }
  return { name: 'send mails', everyMs: pollMs, run: (signal) => sendMails(senderOptions, signal) }
}

export async function openMails(mail: NonNullable<Config['mail']>): Promise<MailClient> {
  const { smtpUrl, from, requireTls, caFile } = mail
  const extraCa = caFile === undefined ? undefined : await readAuthorities('SMTP_CA_FILE', caFile)
  return openMailClient({ smtpUrl, from, requireTls, extraCa })
}

/** Makes a user and an account of their own. A second call for the same address makes neither. */
export async function signUpUser(
  tx: Tx,
  { email, credits }: { email: string; credits: number },
  now: Date,
): Promise<string> {
  const user = await findOrCreateUser(tx, { email, name: null, now })
  // An account is named without the address, which an erasure must be able to remove.
  const account = await createAccount(tx, `sign-up ${user.id}`, now)
  if (account === null) return user.id
  const [userId, accountId] = [user.id, account.id]
  await insertMembership(tx, { userId, accountId, role: 'owner', createdAt: now })
  const actor = theService
  const created = { action: 'accounts.created', subjects: [accountId], details: {} } as const
  await recordAction(tx, { ...created, actor }, now)
  const details = { account: accountId }
  await recordAction(tx, { action: 'users.signed_up', subjects: [userId], details, actor }, now)
  if (credits > 0) {
    const entry = { accountId, delta: credits, reason: 'sign-up' }
    await grantCredits(tx, { ...entry, reference: `sign-up ${accountId}` }, { actor, now })
  }
  return userId
}
