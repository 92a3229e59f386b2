import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { after, test } from 'node:test'
import { newAccount } from '../../test/support/build/accounts.ts'
import { newKey } from '../../test/support/build/keys.ts'
import { newSession } from '../../test/support/build/sessions.ts'
import { cutOffEverywhere } from '../../test/support/fault/faults.ts'
import { testDatabase } from '../../test/support/start/database.ts'
import { type MailServer, startMailServer } from '../../test/support/start/mail-server.ts'
import { freePort } from '../../test/support/start/processes.ts'
import { readConfig } from '../config/config.ts'
import { needNames, needPages } from '../health/needs.ts'
import { lostJobsJob, queueNeeds, queueOwnerNotices } from '../main/jobs/notices.ts'
import { signUpUser } from '../main/mails.ts'
import { sql } from '../platform/db/db.ts'
import { type MailClientOptions, openMailClient } from '../platform/egress/mail-client.ts'
import { mailRenderer } from '../web/mails.ts'
import { inviteMember, withdrawInvitation } from './invitations.ts'
import { insertMail, sweepMails } from './mail-store.ts'
import { type DueNotice, queueNotices, updateNoticesOff } from './notices.ts'
import { nextMailAt, sendMails } from './send-mails.ts'
import { readLink } from './sign-in.ts'
import { addMember, endMembership } from './users.ts'

const database = await testDatabase()
const { db } = database
after(() => database.drop())

const publicUrl = 'https://scores.example.org'
const begun = Date.parse('2026-03-01T09:00:00Z')
const from = 'no-reply@scores.example.org'

interface Sender {
  /** Sends the mails that are due after so many seconds. Returns their outcomes. */
  at(seconds: number): Promise<string[]>
  now(): Date
}

function senderTo(
  smtpUrl: string,
  {
    isOpen = false,
    only,
    ...options
  }: Partial<MailClientOptions> & { isOpen?: boolean; only?: 'notice' } = {},
): Sender {
  let now = new Date(begun)
  const client = openMailClient({ smtpUrl, requireTls: true, from, ...options })
  after(() => client.close())
  return {
    now: () => now,
    async at(seconds) {
      now = new Date(begun + seconds * 1_000)
      const outcomes: string[] = []
      await sendMails({
        db,
        clock: () => now,
        publicUrl,
        operatorUrl: publicUrl,
        client,
        render: mailRenderer('https://scores.example.org'),
        only,
        signUp: async (tx, email, at) =>
          isOpen ? signUpUser(tx, { email, credits: 25 }, at) : null,
        onResult: (_, result) => {
          const detail = 'why' in result ? result.why : 'code' in result ? String(result.code) : ''
          outcomes.push(`${result.result} ${detail}`.trim())
        },
      })
      return outcomes
    },
  }
}

async function queue(email: string, seconds = 0): Promise<string> {
  const id = randomUUID()
  const at = new Date(begun + seconds * 1_000)
  await insertMail(db, { id, kind: 'sign_in', email, next: null, createdAt: at, dueAt: at })
  return id
}

async function started(options?: Parameters<typeof startMailServer>[0]): Promise<MailServer> {
  const server = await startMailServer(options)
  after(() => server.stop())
  return server
}

const waiting = async (): Promise<number> =>
  (await db.rows(sql`select 1 from mails where due_at is not null`)).length

const { email } = await newSession(db)
const tokenOf = (link: string) => new URL(link).searchParams.get('token') ?? undefined

test('a mail server that is down for an hour loses no mail; the link is valid for 15 minutes from the attempt that sent it', async () => {
  const port = await freePort()
  const ca = await started()
  const sender = senderTo(`smtp://localhost:${port}`, { extraCa: ca.ca })
  await queue(email)
  let tried = 0
  for (let second = 0; second < 3_600; second++) tried += (await sender.at(second)).length
  assert.equal(tried, 6, 'after 0, 5, 35, 155, 755 and 2,555 seconds')
  assert.equal(await waiting(), 1)
  const server = await started({ port })
  const again = senderTo(`smtp://localhost:${port}`, { extraCa: server.ca })
  assert.deepEqual(await again.at(3_600), [])
  assert.deepEqual(await again.at(2_555 + 3_600), ['sent'])
  assert.equal(await waiting(), 0)
  const token = tokenOf(server.received[0]?.link ?? '')
  const sentAt = again.now().getTime()
  assert.equal(await readLink(db, token, new Date(sentAt + 15 * 60_000 - 1)), email)
  assert.equal(await readLink(db, token, new Date(sentAt + 15 * 60_000)), null)
  await sweepMails(db, new Date(sentAt + 15 * 60_000))
  assert.equal((await db.rows(sql`select 1 from mails`)).length, 0, 'an old link is deleted')
})

test('a mail is sent again after 4xx, a lost connection or a wrong password, and given up after 5xx for its recipient', async () => {
  const server = await started()
  const sender = senderTo(server.url, { extraCa: server.ca })
  server.answer.toRecipient = { code: 451, text: 'later' }
  await queue(email)
  assert.deepEqual(await sender.at(0), ['failed EENVELOPE: 451 later'])
  server.answer.toRecipient = null
  assert.deepEqual(await sender.at(4), [], 'not before 5 seconds')
  assert.deepEqual(await sender.at(5), ['sent'])
  server.answer.toRecipient = { code: 550, text: `no mailbox ${email}` }
  await queue(email)
  assert.deepEqual(await sender.at(6), ['rejected EENVELOPE: 550 no mailbox [address]', 'given up'])
  assert.equal(await waiting(), 0)
  server.answer.toRecipient = null
  const wrong = senderTo(server.url.replace('CANARY', 'other'), { extraCa: server.ca })
  await queue(email)
  assert.match(String(await wrong.at(7)), /^failed EAUTH: 535 /)
  assert.deepEqual(await sender.at(12), ['sent'], 'once the password is right')
})

test('a mail server that hangs at any step fails the attempt at its deadline', async () => {
  const talks: [string, (say: (text: string) => void, heard: string) => void][] = [
    ['before its greeting', () => {}],
    ['after EHLO', (say, heard) => heard === '' && say('220 hello\r\n')],
    ['with half a line', (say, heard) => heard === '' && say('220 hel')],
  ]
  for (const [step, talk] of talks) {
    const server: Server = createServer((socket) => {
      socket.on('error', () => {})
      talk((text) => socket.write(text), '')
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const deadlines = { connectMs: 200, silenceMs: 300, totalMs: 600 }
    const sender = senderTo(`smtp://127.0.0.1:${port}`, { deadlines })
    const id = await queue(email)
    const startedAt = performance.now()
    const [outcome] = await sender.at(0)
    assert.match(outcome ?? '', /^failed E(TIMEDOUT|ABORT)/, step)
    assert.ok(performance.now() - startedAt < 10_000, step)
    await db.run(sql`delete from mails where id = ${id}`)
    server.close()
  }
})

test('a server without TLS, or with a certificate for another name, receives no password and no mail', async () => {
  const plain = await started({ isPlain: true })
  await queue(email)
  assert.match(String(await senderTo(plain.url).at(0)), /^failed/)
  assert.deepEqual([plain.recipients, plain.received], [[], []])
  assert.deepEqual(
    await senderTo(plain.url.replace(/\/\/.*@/, '//'), { requireTls: false }).at(5),
    ['sent'],
  )
  const secured = await started()
  await queue(email)
  assert.match(String(await senderTo(secured.url).at(0)), /^failed ESOCKET: .*certificate/)
  assert.deepEqual([secured.recipients, secured.received], [[], []])
  await db.run(sql`delete from mails`)
})

test('a mail goes to exactly one recipient, with the same Message-ID at each attempt', async () => {
  const server = await started()
  const sender = senderTo(server.url, { extraCa: server.ca, isOpen: true })
  const address = "o'hara+{a}|b&c=d@example.com"
  const id = await queue(address)
  assert.deepEqual(await sender.at(0), ['sent'])
  await db.run(sql`update mails set due_at = created_at where id = ${id}`)
  assert.deepEqual(await sender.at(1), ['sent'])
  assert.deepEqual(server.recipients, [address, address])
  const [first, second] = server.received
  assert.equal(first?.messageId, `<${id}@scores.example.org>`)
  assert.equal(second?.messageId, first?.messageId)
  assert.notEqual(second?.link, first?.link, 'each attempt has a link of its own')
  assert.match(first?.raw ?? '', /^Auto-Submitted: auto-generated\r?$/m)
  assert.ok(!/^bcc:/im.test(first?.raw ?? ''))
})

test('a mail does not wait for another poll behind a hundred requests for unknown addresses', async () => {
  const server = await started()
  for (let i = 0; i < 100; i++) await queue(`unknown-${i}@example.com`)
  await queue(email, 1)
  const outcomes = await senderTo(server.url, { extraCa: server.ca }).at(1)
  assert.deepEqual(outcomes.toSorted(), [...Array<string>(100).fill('no user'), 'sent'])
})

test('an address without a user, and that of a disabled user, receive nothing', async () => {
  const server = await started()
  const sender = senderTo(server.url, { extraCa: server.ca })
  const disabled = await newSession(db)
  await db.run(sql`update users set disabled_at = now() where id = ${disabled.userId}`)
  await queue('no-such-user@example.com')
  await queue(disabled.email)
  assert.deepEqual(await sender.at(0), ['no user', 'no user'])
  assert.equal(await waiting(), 0)
  assert.deepEqual(server.recipients, [])
})

test('an invitation is mailed with a link to join; withdrawn, it is not; an invited person who requests a sign-in link gets it again', async () => {
  const server = await started()
  const sender = senderTo(server.url, { extraCa: server.ca })
  const owner = await newSession(db, { now: new Date(begun) })
  const invitation = { accountId: owner.accountId, role: 'member', isMailed: true } as const
  const now = new Date(begun)
  await db.transaction(async (tx) => {
    const sending = { ...invitation, invitedBy: owner.userId }
    await inviteMember(tx, { ...sending, email: 'invited@example.com' }, now)
    const withdrawn = { ...sending, email: 'withdrawn@example.com' }
    await inviteMember(tx, withdrawn, now)
    assert.ok('invitationId' in (await withdrawInvitation(tx, withdrawn, now)))
  })
  assert.deepEqual(await sender.at(0), ['sent'])
  await queue('invited@example.com', 1)
  await queue('withdrawn@example.com', 1)
  assert.deepEqual((await sender.at(1)).toSorted(), ['no user', 'sent'])
  assert.deepEqual(server.recipients, ['invited@example.com', 'invited@example.com'])
  for (const { text, link } of server.received) {
    assert.match(text, new RegExp(`^${owner.email} invites you to user \\d+ \\d+ as a member\\.`))
    assert.match(link, /^https:\/\/scores\.example\.org\/invitations\/[\w-]{43}$/)
  }
  assert.notEqual(server.received[0]?.link, server.received[1]?.link)
})

test('open sign-up: several requests for one unknown address make one user and one account with credits', async () => {
  const server = await started()
  const sender = senderTo(server.url, { extraCa: server.ca, isOpen: true })
  const address = 'fresh@example.com'
  await Promise.all([queue(address), queue(address), queue(address)])
  assert.deepEqual(await sender.at(0), ['sent', 'sent', 'sent'])
  const rows = await db.rows<{ role: string; balance: number; name: string }>(sql`
    select m.role, c.balance, a.name from users u join memberships m on m.user_id = u.id
    join accounts a on a.id = m.account_id join credit_accounts c on c.account_id = a.id
    where u.email = ${address}`)
  assert.equal(rows.length, 1)
  assert.deepEqual([rows[0]?.role, rows[0]?.balance], ['owner', 25])
  assert.ok(!rows[0]?.name.includes('fresh'))
  const entries = await db.rows<{ action: string; actor: string }>(sql`
    select action, actor from audit_log order by seq desc limit 3`)
  assert.deepEqual(
    entries.map(({ action, actor }) => [action, actor]),
    [
      ['credits.granted', 'service'],
      ['users.signed_up', 'service'],
      ['accounts.created', 'service'],
    ],
  )
})

test('open sign-up: an interruption between two statements leaves no user and no account', async () => {
  const address = 'interrupted@example.com'
  const made = async () =>
    (
      await db.rows(sql`
        select 1 from users u join memberships m on m.user_id = u.id
        join credit_accounts c on c.account_id = m.account_id where u.email = ${address}`)
    ).length
  const accountsBefore = (await db.rows(sql`select 1 from accounts`)).length
  const interrupted = await cutOffEverywhere(
    db,
    (bounded) =>
      bounded.transaction((tx) => signUpUser(tx, { email: address, credits: 25 }, new Date(begun))),
    async (cutOff) => {
      assert.equal(await made(), cutOff ? 0 : 1)
      const accounts = (await db.rows(sql`select 1 from accounts`)).length
      assert.equal(accounts, accountsBefore + (cutOff ? 0 : 1))
    },
  )
  assert.ok(interrupted >= 8, `${interrupted} boundaries`)
})

test('several processes send each due mail once', async () => {
  const server = await started()
  const senders = Array.from({ length: 3 }, () => senderTo(server.url, { extraCa: server.ca }))
  for (let i = 0; i < 12; i++) await queue(email)
  await Promise.all(senders.map((sender) => sender.at(0)))
  assert.equal(server.received.length, 12)
})

test('a mail is given up a day after its request', () => {
  const created = new Date(begun)
  const hours = (count: number) => new Date(begun + count * 3_600_000)
  assert.deepEqual(nextMailAt(1, created, created), new Date(begun + 5_000))
  assert.deepEqual(nextMailAt(9, created, hours(22)), hours(23))
  assert.deepEqual(nextMailAt(9, created, hours(23)), hours(24))
  assert.equal(nextMailAt(9, created, hours(23.1)), null)
})

const dayMs = 86_400_000

/** An account with two owners and a member. */
async function ownedAccount(name: string) {
  const of = await db.transaction(async (tx) => {
    const accountId = await newAccount(tx, name)
    const now = new Date(begun)
    for (const [who, role] of [
      ['ada', 'owner'],
      ['bob', 'owner'],
      ['eve', 'member'],
    ] as const)
      await addMember(tx, { accountId, email: `${who}@${name}.example`, role }, now)
    return accountId
  })
  return { accountId: of, of: name }
}

const failing: DueNotice = {
  name: 'webhooks_failing',
  everyHours: 24,
  title: 'A webhook endpoint has not succeeded for an hour',
  text: '1 webhook endpoint fails: hooks.example.com.',
  url: `${publicUrl}/dashboard/webhooks`,
}

test('a notice is mailed to each owner who has not switched it off, once in its span, by any number of processes', async () => {
  const server = await started()
  const sender = senderTo(server.url, { extraCa: server.ca })
  const account = await ownedAccount('noticed')
  const at = (hours: number) => new Date(begun + hours * 3_600_000)
  const race = await Promise.all([1, 2, 3].map(() => queueNotices(db, account, [failing], at(0))))
  assert.deepEqual(
    race.toSorted((a, b) => a - b),
    [0, 0, 2],
  )
  assert.deepEqual(await sender.at(1), ['sent', 'sent'])
  assert.deepEqual(server.recipients.toSorted(), ['ada@noticed.example', 'bob@noticed.example'])
  const { subject, link, text } = server.received[0] ?? assert.fail()
  assert.equal(subject, 'noticed needs you: A webhook endpoint has not succeeded for an hour')
  assert.match(text, /^1 webhook endpoint fails: hooks\.example\.com\.$/m)
  assert.equal(link, failing.url)
  assert.match(text, /you own this account\. Choose your notices:\s+\S+\/dashboard\/team#notices/)

  await db.transaction((tx) =>
    updateNoticesOff(tx, { ...account, email: 'ada@noticed.example', off: ['webhooks_failing'] }),
  )
  assert.equal(await queueNotices(db, account, [failing], at(23)), 0, 'within the span')
  assert.equal(await queueNotices(db, account, [failing], at(24)), 1, 'to Bob alone')
  await db.transaction((tx) => endMembership(tx, { ...account, email: 'ada@noticed.example' }))
  await db.run(sql`
    update memberships set role = 'member' where account_id = ${account.accountId}`)
  assert.deepEqual(await sender.at(86_400), ['no user'], 'Bob is no owner any more')
})

test('what happened once is mailed again only if it happens again', async () => {
  const account = await ownedAccount('disabled')
  const at = (days: number) => new Date(begun + days * dayMs)
  const disabled = (days: number): DueNotice => ({
    ...failing,
    name: 'webhooks_disabled',
    happenedAt: at(days),
  })
  assert.equal(await queueNotices(db, account, [disabled(-1)], at(0)), 2)
  assert.equal(await queueNotices(db, account, [disabled(-1)], at(3)), 0)
  assert.equal(await queueNotices(db, account, [disabled(2)], at(3)), 2)
})

test('owners get notices of failing and disabled endpoints, low credits and ending keys', async () => {
  const { accountId } = await ownedAccount('conditions')
  const now = new Date(begun)
  const day = '2026-02-28'
  for (const [host, disabled, paused] of [
    ['slow', null, null],
    ['paused', null, now],
    ['gone', new Date(begun - dayMs), null],
  ] as const)
    await db.run(sql`
      insert into webhook_endpoints (id, user_id, url, event_types, created_at, updated_at,
        disabled_at, disabled_reason, paused_at, failing_since, last_failure_at, consecutive_failures)
      values (${randomUUID()}, ${accountId}, ${`https://${host}.example/hook`}, '{score.updated}',
        ${now}, ${now}, ${disabled}, ${disabled === null ? null : 'gone'}, ${paused},
        ${new Date(begun - 3_600_000)}, ${now}, 3)`)
  await db.run(sql`
    insert into credit_usage (account_id, day, key_id, meter, operation, calls, refunded, credits)
    values (${accountId}, ${day}, ${randomUUID()}, 'score_lookup', 'getScore', 9, 0, 9)`)
  await db.run(sql`
    insert into credit_accounts (account_id, balance) values (${accountId}, 8)
    on conflict (account_id) do update set balance = 8`)
  const expiresAt = new Date(begun + dayMs)
  await newKey(db, { accountId, name: 'reader', now: new Date(begun - dayMs), expiresAt })
  const textsOf = async (settings: Record<string, string> = {}) => {
    const config = readConfig({ PUBLIC_URL: publicUrl, ...settings })
    await queueOwnerNotices({ db, clock: () => now, config })
    const [mail] = await db.rows<{ lines: { text: string }[] }>(sql`
      delete from mails where email = 'ada@conditions.example' returning notice->'lines' as lines`)
    return mail?.lines.map(({ text }) => text)
  }
  assert.deepEqual(await textsOf(), [
    '8 credits are left, less than the use of the last seven days.',
    '1 webhook endpoint fails: slow.example.',
    '1 webhook endpoint was disabled by the service: gone.example.',
    `1 API key ends within a week: reader on 2026-03-02.`,
  ])
  assert.equal(await textsOf(), undefined, 'within the span')
  const prices = { CREDITS_PER_SCORE_LOOKUP: '9', CREDITS_PER_CANDIDATE_LOOKUP: '0' }
  const dear = { ...prices, CREDITS_PER_CANDIDATE_SEARCH: '12' }
  assert.equal(await textsOf({ ...dear, METERING: 'off' }), undefined)
  assert.deepEqual(await textsOf(dear), [
    '8 credits are left, and the cheapest read costs 9: paid reads get 402.',
  ])
})

test('the operator gets what `assay status` lists, if two looks find it, except what NOTICES_OFF names', async () => {
  const now = new Date(begun)
  const services = { activeKey: async () => null, isEngineRecalled: async () => true }
  const mail = { SMTP_URL: 'smtp://localhost', MAIL_FROM: from }
  const settings = {
    ...mail,
    NOTICES_TO: 'Ops@Example.org,ops@example.org',
    NOTICES_OFF: 'processes',
  }
  const config = readConfig({ PUBLIC_URL: publicUrl, ...settings })
  const look = (before: ReadonlySet<string>) =>
    queueNeeds({ db, clock: () => now, config, services }, before)
  const queued = () =>
    db.rows<{ lines: { text: string; url: string }[] }>(sql`
    select notice->'lines' as lines from mails where email = 'ops@example.org'`)
  const first = await look(new Set())
  assert.ok(['signing_key', 'engine', 'processes'].every((name) => first.has(name)))
  assert.deepEqual(await queued(), [])
  await look(first)
  await look(first)
  const [{ lines } = assert.fail(), ...more] = await queued()
  assert.equal(more.length, 0)
  assert.deepEqual(
    lines.map(({ url }) => url.replace(`${publicUrl}/docs/`, '')),
    needNames
      .filter((name) => first.has(name) && name !== 'processes')
      .map((name) => needPages[name]),
  )
  for (const page of Object.values(needPages)) {
    const [name, anchor = ''] = page.split('#')
    const headings = readFileSync(`docs/${name}.md`, 'utf8').match(/^#+ .*$/gm) ?? []
    const anchors = headings.map((heading) =>
      heading
        .replace(/^#+ /, '')
        .toLowerCase()
        .replaceAll(/[^a-z0-9 -]/g, '')
        .replaceAll(' ', '-'),
    )
    assert.ok(anchors.includes(anchor), page)
  }
})

test('a server mails the needs of the operator itself, and no other mail, while no jobs process lives', async () => {
  const now = new Date(begun)
  const config = readConfig({
    PUBLIC_URL: publicUrl,
    SMTP_URL: 'smtp://localhost',
    MAIL_FROM: from,
    NOTICES_TO: 'alone@example.org',
  })
  const services = { activeKey: async () => null, isEngineRecalled: async () => false }
  const server = await started()
  const sender = senderTo(server.url, { extraCa: server.ca, only: 'notice' })
  await db.run(sql`delete from mails`)
  await db.run(sql`delete from notices_sent`)
  await queue(email)
  const processId = randomUUID()
  const beat = (jobs: string | null) => sql`
    insert into process_heartbeats (process_id, node, pid, release, started_at, seen_at, serves, signs,
      opens_secrets, jobs)
    values (${processId}, 'a', 1, '1', ${now}, ${now}, false, true, true, ${jobs}::jsonb)
    on conflict (process_id) do update set seen_at = excluded.seen_at`
  await db.run(beat('{}'))
  const job = lostJobsJob({ db, clock: () => now, config, services }, async () => {
    await sender.at(0)
  })
  const look = () => job.run(new AbortController().signal)
  await look()
  await look()
  assert.deepEqual(server.received, [])
  await db.run(sql`delete from process_heartbeats`)
  await look()
  assert.deepEqual(server.received, [], 'a moment is no notice')
  await look()
  assert.deepEqual(server.recipients, ['alone@example.org'])
  const { subject, text } = server.received[0] ?? assert.fail()
  assert.equal(subject, 'The service needs you: signing_key, and 2 more notices')
  assert.match(text, /^No process runs background jobs\. .*Start `assay jobs`\.$/m)
})
