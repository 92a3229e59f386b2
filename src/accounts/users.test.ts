import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { signInToken, userPerformer } from '../../test/support/build/accounts.ts'
import { newSession, type TestSession } from '../../test/support/build/sessions.ts'
import { ask, type Reply } from '../../test/support/start/ask.ts'
import { startService, type TestService } from '../../test/support/start/service.ts'
import { findAccountEntries } from '../audit/store.ts'
import { perform } from '../operations/perform.ts'
import { sql } from '../platform/db/db.ts'
import { findAccount } from './access/store.ts'
import { sweepInvitations } from './invitation-store.ts'
import { membersMax } from './invitations.ts'
import { membersMakeOwner, membersRemove } from './member-operations.ts'
import { insertMembership, insertUser } from './store.ts'
import { usersInvite, usersResend, usersWithdraw } from './user-operations.ts'
import { endMembership } from './users.ts'

const publicUrl = 'https://scores.example.org'
const smtp = { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'no-reply@example.com' }
/** Sends no mail: the owner gets a link to hand over. */
const service = await startService(publicUrl)
/** Sends mail, on the same database. */
const mailing = await startService(publicUrl, service, { env: smtp })
const { db } = service.database
after(async () => {
  await mailing.stop()
  await service.stop()
})

const operator = { kind: 'operator', role: 'support', actor: 'test', by: 'test' } as const
const team = '/dashboard/team'
let addresses = 0
const newEmail = () => `invited-${++addresses}@example.com`

async function send(
  path: string,
  fields: Record<string, string>,
  { of, at = service }: { of?: { headers: object } | undefined; at?: TestService } = {},
): Promise<Reply> {
  return ask(at.base, {
    method: 'POST',
    path,
    headers: {
      ...of?.headers,
      Origin: publicUrl,
      'Content-Type': 'application/x-www-form-urlencoded',
      'X-Forwarded-For': `198.51.${++addresses >> 8}.${addresses & 255}`,
    },
    body: new URLSearchParams(fields).toString(),
  })
}

const read = async (path: string, of: { headers: object }) =>
  String((await ask(service.base, { path, headers: { ...of.headers } })).body)

/** Invites by the form, and returns the path of the link that the owner is shown. */
async function linkFor(owner: TestSession, email: string, role = 'member'): Promise<string> {
  const { status, body } = await send(team, { do: 'invite', email, role }, { of: owner })
  const link = /https:\/\/scores\.example\.org(\/invitations\/[\w-]{43})/.exec(String(body))?.[1]
  assert.ok(link !== undefined, `${status} ${String(body).slice(-900)}`)
  return link
}

const join = (path: string, of?: { headers: object }) => send(path, { do: 'join' }, { of })

function sessionOf({ headers }: Reply): { headers: { Cookie: string } } {
  return { headers: { Cookie: String(headers['set-cookie']?.[0]).split(';')[0] ?? '' } }
}

const usersWith = async (email: string) =>
  (await db.rows(sql`select from users where email = ${email}`)).length
const membersOf = async (accountId: string) =>
  (await db.rows(sql`select from memberships where account_id = ${accountId}`)).length
const invitationId = async (email: string) =>
  (await db.rows<{ id: string }>(sql`select id from invitations where email = ${email}`))[0]?.id ??
  ''
const mailsTo = async (email: string) =>
  (await db.rows(sql`select from mails where email = ${email}`)).length
const signIn = async (email: string) =>
  send('/sign-in/confirm', { token: await signInToken(db, email) })

test('an invitation makes no user and no member; the list shows the typed address alone, whether or not a user has it', async () => {
  const pages = new Set<string>()
  const known = await newSession(db)
  await db.run(sql`update users set name = 'Known Name' where id = ${known.userId}`)
  for (const email of [known.email, newEmail()]) {
    const owner = await newSession(db)
    await linkFor(owner, email)
    assert.equal(await membersOf(owner.accountId), 1)
    const page = await read(team, owner)
    for (const secret of [known.userId, 'Known Name']) assert.ok(!page.includes(secret))
    pages.add(
      page
        .replaceAll(email, 'ADDRESS')
        .replaceAll(owner.email, 'OWNER')
        .replaceAll(/user \d+ \d+/g, 'ACCOUNT')
        .replaceAll(
          /[0-9a-f]{8}-[0-9a-f-]{27}|"\d{4}-[^"]+"|title="[^"]+"|>\d+ s ago|just now|in \d days|\d+ \w{3} 20\d\d/g,
          '',
        ),
    )
    const [entry] = await findAccountEntries(db, {
      accountId: owner.accountId,
      before: null,
      limit: 1,
    })
    assert.equal(entry?.action, 'users.invited')
    assert.deepEqual(JSON.parse(entry?.subjects ?? ''), [await invitationId(email)])
  }
  assert.equal(pages.size, 1, [...pages].join('\n'))
  assert.equal(await usersWith(`invited-${addresses}@example.com`), 0)
})

test('a new person reads the invitation, joins by its link once, and is signed in to that account', async () => {
  const owner = await newSession(db)
  const email = newEmail()
  const link = await linkFor(owner, email, 'owner')
  for (let look = 0; look < 3; look++) {
    const page = await read(link, { headers: {} })
    assert.ok(page.includes(owner.email) && page.includes(email))
  }
  assert.equal(await usersWith(email), 0, 'a mail scanner joins nothing')
  const refused = await send(link, { do: 'join', name: 'Win now http://evil.example' })
  assert.equal(refused.status, 400)
  const replies = await Promise.all(
    Array.from({ length: 10 }, () => send(link, { do: 'join', name: ' Grace Hopper ' })),
  )
  const joined = replies.filter(({ headers }) => headers.location === '/dashboard')
  assert.equal(joined.length, 1)
  const page = await read(team, sessionOf(joined[0] as Reply))
  assert.ok(page.includes('Grace Hopper') && page.includes(owner.email))
  assert.equal((await ask(service.base, { path: link })).status, 410)
  const actions = await findAccountEntries(db, {
    accountId: owner.accountId,
    before: null,
    limit: 1,
  })
  assert.equal(actions[0]?.action, 'users.joined')
})

test('a link that a member hands over never signs an existing user in, with or without an account', async () => {
  const victim = await newSession(db)
  const attacker = await newSession(db)
  const left = await newSession(db)
  await db.run(sql`delete from memberships where user_id = ${left.userId}`)
  const link = await linkFor(attacker, victim.email)
  for (const sent of [link, await linkFor(attacker, left.email)]) {
    const { status, headers } = await join(sent)
    assert.deepEqual([status, headers.location], [303, '/sign-in?next=%2Fdashboard%2Faccount'])
    assert.equal(headers['set-cookie'], undefined)
  }
  assert.equal(await membersOf(attacker.accountId), 1)
  const asOther = await join(link, attacker)
  assert.equal(asOther.status, 403)
  const page = String(asOther.body)
  assert.match(page, /This invitation is for <strong class="break">u…@example\.com</)
  assert.ok(!page.includes(victim.email))
  assert.equal((await join(link, victim)).headers.location, '/dashboard')
  assert.equal(await membersOf(attacker.accountId), 2)
})

test('where mail proves addresses, a link that a member hands over makes no user', async () => {
  const owner = await newSession(db)
  const email = newEmail()
  const link = await linkFor(owner, email)
  const { headers } = await send(link, { do: 'join' }, { at: mailing })
  assert.equal(headers.location, '/sign-in?next=%2Fdashboard%2Faccount')
  assert.equal(await usersWith(email), 0)
})

test('a user without a proven address gets no other invitation, and the first proof ends the sessions of the link', async () => {
  const [attacker, other] = [await newSession(db), await newSession(db)]
  const email = newEmail()
  const taken = sessionOf(await join(await linkFor(attacker, email)))
  await linkFor(other, email)
  assert.doesNotMatch(await read('/dashboard', taken), /You are invited/)
  const invitation = await invitationId(email)
  const all = await db.rows<{ id: string }>(sql`select id from invitations where email = ${email}`)
  for (const { id } of all)
    assert.equal(
      (await send('/dashboard/account', { do: 'join', invitation: id }, { of: taken })).status,
      404,
    )
  assert.ok(invitation !== '')
  const proven = sessionOf(await signIn(email))
  assert.match(await read('/dashboard', proven), /You are invited/)
  assert.equal(
    (await ask(service.base, { path: '/dashboard', headers: taken.headers })).status,
    303,
  )
})

test('a user with a session joins or declines on the own page; a foreign and an unknown invitation are answered alike', async () => {
  const [owner, second] = [await newSession(db), await newSession(db)]
  const { email } = await newSession(db)
  const user = sessionOf(await signIn(email))
  await linkFor(owner, email)
  await linkFor(second, email)
  const foreignEmail = newEmail()
  await linkFor(owner, foreignEmail)
  const answers = await Promise.all(
    [await invitationId(foreignEmail), randomUUID(), 'x'].map(async (invitation) => {
      const { status, body } = await send(
        '/dashboard/account',
        { do: 'join', invitation },
        { of: user },
      )
      return `${status} ${String(body).replaceAll(/req_\w+/g, '')}`
    }),
  )
  assert.equal(new Set(answers).size, 1)
  assert.match(answers[0] ?? '', /^404/)
  const page = await read('/dashboard/account', user)
  const ids = [...page.matchAll(/name="invitation" value="([^"]+)"/g)].map(([, id = '']) => id)
  assert.equal(new Set(ids).size, 2)
  const [newest = '', oldest = ''] = new Set(ids)
  const answer = (action: string, invitation: string) =>
    send('/dashboard/account', { do: action, invitation }, { of: user })
  assert.equal((await answer('decline', newest)).status, 303)
  assert.equal((await answer('join', oldest)).headers.location, '/dashboard')
  assert.equal((await answer('join', newest)).status, 404)
  assert.deepEqual([await membersOf(owner.accountId), await membersOf(second.accountId)], [2, 1])
})

test('a decline by the link is in the audit log as the invited person', async () => {
  const owner = await newSession(db)
  const link = await linkFor(owner, newEmail())
  assert.equal((await send(link, { do: 'decline' })).status, 200)
  assert.equal((await join(link)).status, 410)
  const page = await read('/dashboard/audit', owner)
  assert.match(page, /invitation declined[\s\S]*The invited person/)
})

test('a withdrawn invitation and one of 7 days cannot be used; its row is deleted 30 days later', async () => {
  const owner = await newSession(db)
  const [withdrawn, late] = [newEmail(), newEmail()]
  const first = await linkFor(owner, withdrawn)
  const member = await newSession(db, { accountId: owner.accountId, role: 'member' })
  const stranger = await newSession(db)
  const fields = { do: 'withdraw', email: withdrawn }
  assert.equal((await send(team, fields, { of: member })).status, 403)
  assert.equal((await send(team, fields, { of: stranger })).status, 404)
  assert.equal((await send(team, fields, { of: owner })).status, 303)
  assert.equal((await join(first)).status, 410)
  const second = await linkFor(owner, late)
  await db.run(sql`
    update invitations set created_at = created_at - interval '7 days',
      expires_at = expires_at - interval '7 days' where email = ${late}`)
  assert.equal((await join(second)).status, 410)
  assert.ok(!(await read(team, owner)).includes(late))
  const again = await linkFor(owner, late)
  assert.equal((await join(again)).status, 303, 'the address can be invited again')
  const days = (count: number) => new Date(Date.now() + count * 86_400_000)
  const left = async () =>
    (
      await db.rows(sql`
        select from invitations where email in (${withdrawn}, ${late})`)
    ).length
  await sweepInvitations(db, days(29.9))
  assert.equal(await left(), 3)
  await sweepInvitations(db, days(30.1))
  assert.equal(await left(), 0)
})

test('of 30 acceptances at once in an account of 97 members three join', async () => {
  const owner = await newSession(db)
  const { accountId } = owner
  const links: string[] = []
  for (let n = 0; n < 30; n++) {
    const input = { account: accountId, email: newEmail(), role: 'member' } as const
    const invited = await perform(userPerformer(db), usersInvite, operator, input)
    assert.ok('output' in invited)
    links.push((invited.output.url ?? '').slice(publicUrl.length))
  }
  await db.transaction(async (tx) => {
    for (let n = 0; n < membersMax - 4; n++) {
      const [id, createdAt] = [randomUUID(), new Date()]
      await insertUser(tx, { id, email: `${id}@example.com`, name: null, createdAt })
      await insertMembership(tx, { userId: id, accountId, role: 'member', createdAt })
    }
  })
  const replies = await Promise.all(links.map((link) => join(link)))
  const count = (wanted: number) => replies.filter(({ status }) => status === wanted).length
  assert.deepEqual([count(303), count(409)], [3, 27])
  assert.equal(await membersOf(accountId), membersMax)
  const refused = await send(
    team,
    { do: 'invite', email: newEmail(), role: 'member' },
    { of: owner },
  )
  assert.match(String(refused.body), /100 members and open invitations, which is the maximum/)
})

test('an invitation that is withdrawn and repeated sends one mail, and then ten a day for the address', async () => {
  const owner = await newSession(db)
  const email = newEmail()
  let sent = 0
  for (let n = 0; n < 30; n++) {
    const before = await mailsTo(email)
    await send(team, { do: 'invite', email, role: 'member' }, { of: owner, at: mailing })
    sent += (await mailsTo(email)) - before
    const open = sql`select id from invitations where email = ${email} and answered_at is null`
    if ((await db.rows(open)).length === 0) continue
    const resend = await send(team, { do: 'resend', email }, { of: owner, at: mailing })
    assert.match(String(resend.body), /No mail was sent\./, 'one mail a day for an invitation')
    await send(team, { do: 'withdraw', email }, { of: owner, at: mailing })
    assert.equal(await mailsTo(email), 0, 'a waiting mail is withdrawn as well')
  }
  assert.equal(sent, 11)
})

test('the members of an account send 20 invitations a day, and all accounts five first mails to an address', async () => {
  const owner = await newSession(db)
  let sent = 0
  for (let n = 0; n < 25; n++) {
    const email = newEmail()
    await send(team, { do: 'invite', email, role: 'member' }, { of: owner, at: mailing })
    sent += await mailsTo(email)
  }
  assert.equal(sent, 20)
  const email = newEmail()
  for (let n = 0; n < 8; n++)
    await send(
      team,
      { do: 'invite', email, role: 'member' },
      { of: await newSession(db), at: mailing },
    )
  assert.equal(await mailsTo(email), 5)
})

test('leaving needs the typed name of the account; the sessions in it end, those in another stay, and the log says so', async () => {
  const owner = await newSession(db)
  const { accountId } = owner
  const leaving = await newSession(db, { accountId, role: 'member' })
  const elsewhere = await newSession(db)
  await db.transaction((tx) =>
    insertMembership(tx, {
      userId: leaving.userId,
      accountId: elsewhere.accountId,
      role: 'member',
      createdAt: new Date(),
    }),
  )
  const stays = sessionOf(await signIn(leaving.email))
  await send('/dashboard/account', { do: 'switch', account: elsewhere.accountId }, { of: stays })
  const page = await read('/dashboard/leave', leaving)
  assert.match(page, /You created no API key that is valid\. 1 session ends at once\./)
  const name = /Type (.+?) to confirm/.exec(page)?.[1] ?? ''
  const leave = (of: TestSession, confirm: string) =>
    send('/dashboard/leave', { do: 'leave', confirm }, { of })
  assert.equal((await leave(leaving, 'another name')).status, 400)
  assert.equal((await leave(leaving, name)).headers.location, '/sign-in?left=yes')
  const status = async ({ headers }: { headers: object }) =>
    (await ask(service.base, { path: team, headers: { ...headers } })).status
  assert.deepEqual(
    [await status(leaving), await status(stays), await status(owner)],
    [303, 200, 200],
  )
  assert.match(await read('/dashboard/leave', owner), /You are the only owner\./)
  assert.equal((await leave(owner, name)).status, 200)
  assert.equal(await membersOf(accountId), 1)
  assert.match(await read('/dashboard/audit', owner), /Member left/)
})

test('an owner makes a member an owner, and then can leave', async () => {
  const owner = await newSession(db)
  const { accountId } = owner
  const member = await newSession(db, { accountId, role: 'member' })
  const promote = (of: TestSession, email: string) => send(team, { do: 'promote', email }, { of })
  assert.equal((await promote(member, member.email)).status, 403)
  assert.equal((await promote(owner, (await newSession(db)).email)).status, 404)
  assert.equal((await promote(owner, member.email)).status, 303)
  assert.match(await read('/dashboard/leave', owner), /to confirm/)
})

test('a sign-in opens the account that was opened last, and asks for a choice where there is none', async () => {
  const first = await newSession(db)
  const others = [await newSession(db), await newSession(db)]
  await db.transaction(async (tx) => {
    for (const { accountId } of others) {
      const { userId } = first
      await insertMembership(tx, { userId, accountId, role: 'member', createdAt: new Date() })
    }
  })
  const signedIn = await signIn(first.email)
  assert.equal(signedIn.headers.location, '/dashboard/account')
  const account = others[1]?.accountId ?? ''
  await send('/dashboard/account', { do: 'switch', account }, { of: sessionOf(signedIn) })
  const again = await signIn(first.email)
  assert.equal(again.headers.location, '/dashboard')
  assert.ok((await read(team, sessionOf(again))).includes(others[1]?.email ?? '-'))
  const { email } = first
  const removed = await perform(userPerformer(db), membersRemove, operator, { account, email })
  assert.ok('output' in removed)
  assert.equal((await signIn(first.email)).headers.location, '/dashboard/account')
})

test('a refusal names the account in words, whoever asks', async () => {
  const { accountId, userId, email } = await newSession(db)
  const account = await findAccount(db, accountId)
  const actor = `user ${userId}`
  const owner = { kind: 'member', role: 'owner', accountId, userId, actor, by: actor } as const
  for (const caller of [operator, owner]) {
    const refused = await perform(userPerformer(db), membersRemove, caller, {
      account: accountId,
      email,
    })
    assert.ok('refusal' in refused)
    assert.equal(refused.message, `${email} is the only owner of ${account?.name}.`)
  }
})

test('two owners remove each other at once: one of them stays', async () => {
  const first = await newSession(db)
  const { accountId } = first
  const second = await newSession(db, { accountId })
  const results = await Promise.all(
    [first, second].map(({ userId }) =>
      db.transaction((tx) => endMembership(tx, { accountId, userId })),
    ),
  )
  assert.deepEqual(
    results.flatMap((one) => ('refusal' in one ? one.refusal : [])),
    ['last_owner'],
  )
})

test('429: a limit of mails is a refusal with Retry-After, and the operator has none', async () => {
  const { accountId, userId, email: own } = await newSession(db)
  const performer = userPerformer(db, { sendsMail: true })
  const at = { accountId, userId, actor: `user ${userId}`, by: `user ${userId}` }
  const owner = { kind: 'member', role: 'owner', ...at } as const
  const email = newEmail()
  const input = { account: 'ignored', email, role: 'member' } as const
  assert.ok('output' in (await perform(performer, usersInvite, owner, input)))
  const limited = await perform(performer, usersResend, owner, { account: 'ignored', email })
  assert.ok('refusal' in limited)
  assert.equal(limited.refusal, 'rate_limited')
  const seconds = Number(limited.headers?.['Retry-After'])
  assert.ok(seconds > 86_390 && seconds <= 86_400, `${seconds}`)
  const byOperator = { account: accountId, email }
  assert.ok('output' in (await perform(performer, usersResend, operator, byOperator)))
  const member = { kind: 'member', role: 'member', ...at } as const
  for (const operation of [usersResend, usersWithdraw, membersRemove, membersMakeOwner]) {
    const refused = await perform(performer, operation, member, { account: accountId, email: own })
    assert.equal('refusal' in refused && refused.refusal, 'owner_required')
  }
})

test('an owner of another account is answered as for an unknown address', async () => {
  const [owner, stranger] = [await newSession(db), await newSession(db)]
  const { accountId, userId } = stranger
  const at = { accountId, userId, actor: `user ${userId}`, by: `user ${userId}` }
  const caller = { kind: 'member', role: 'owner', ...at } as const
  for (const operation of [usersResend, usersWithdraw, membersRemove, membersMakeOwner]) {
    const answers = [owner.email, 'unknown-1@example.com'].map(async (email) => {
      const input = { account: owner.accountId, email }
      const answer = await perform(userPerformer(db), operation, caller, input)
      return JSON.stringify(answer).replaceAll(email, 'ADDRESS')
    })
    const [known, unknown] = await Promise.all(answers)
    assert.equal(known, unknown)
    assert.match(known ?? '', /_not_found/)
  }
  assert.equal(await membersOf(owner.accountId), 1)
})
