/**
 * Requests of the contract test to the session routes of members: a good request for each route,
 * and one for each error answer.
 */
import { randomUUID } from 'node:crypto'
import { membersMax } from '../../../src/accounts/members.ts'
import { insertMembership, insertUser } from '../../../src/accounts/store.ts'
import type { Question } from '../start/ask.ts'
import type { TestService } from '../start/service.ts'
import type { KeyedDrive } from './keyed-drives.ts'
import { newSession, type TestSession } from './sessions.ts'

export const membersPath = '/api/account/members'

/** Returns a good request for each route, by operation id. */
export function memberRequests(
  { headers, ownOrigin }: Pick<TestSession, 'headers' | 'ownOrigin'>,
  { email, userId }: { email: string; userId: string },
): Record<string, Question> {
  return {
    listMembers: { path: membersPath, headers },
    inviteMember: {
      method: 'POST',
      path: membersPath,
      headers: { ...ownOrigin, 'Content-Type': 'application/json' },
      body: JSON.stringify({ email, role: 'member' }),
    },
    removeMember: { method: 'DELETE', path: `${membersPath}/${userId}`, headers: ownOrigin },
  }
}

export async function memberDrives(
  service: TestService,
): Promise<{ good: Record<string, Question>; drives: KeyedDrive[] }> {
  const { db } = service.database
  const owner = await newSession(db)
  const { accountId } = owner
  const member = await newSession(db, { accountId, role: 'member' })
  const leaving = await newSession(db, { accountId, role: 'member' })
  const stranger = await newSession(db)
  const full = await newSession(db)
  await db.transaction(async (tx) => {
    for (let n = 1; n < membersMax; n++) {
      const createdAt = new Date()
      const id = randomUUID()
      await insertUser(tx, { id, email: `${id}@example.com`, name: null, createdAt })
      const { accountId } = full
      await insertMembership(tx, { userId: id, accountId, role: 'member', createdAt })
    }
  })
  const good = memberRequests(owner, { email: 'new@example.com', userId: leaving.userId })
  const drives: KeyedDrive[] = []
  const drive = (
    operation: string,
    sent: string,
    [status, error]: [number, string],
    question: Question,
  ) => drives.push({ operation, status, sent, error, question })
  for (const [operation, question] of Object.entries(good)) {
    const withHeaders = (headers: Record<string, string>): Question => ({
      ...question,
      headers: { ...question.headers, ...headers },
    })
    const old = { 'Service-Version': '2025-01-01' }
    drive(operation, 'no session', [401, 'session_required'], withHeaders({ Cookie: '' }))
    drive(operation, 'the version 2025-01-01', [400, 'unsupported_version'], withHeaders(old))
    if (question.method === undefined) continue
    const site = { 'Sec-Fetch-Site': 'cross-site' }
    drive(operation, 'another site', [403, 'cross_origin'], withHeaders(site))
    const member403: [number, string] = [403, 'owner_required']
    drive(operation, 'a member who is no owner', member403, withHeaders(member.ownOrigin))
  }
  const { listMembers, inviteMember } = good as Record<'listMembers' | 'inviteMember', Question>
  drives.push({ operation: 'listMembers', status: 200, sent: 'a session', question: listMembers })
  drives.push({
    operation: 'inviteMember',
    status: 202,
    sent: 'an address',
    question: inviteMember,
  })
  const removed = await newSession(db, { accountId, role: 'member' })
  drives.push({
    operation: 'removeMember',
    status: 200,
    sent: 'a member',
    question: {
      method: 'DELETE',
      path: `${membersPath}/${removed.userId}`,
      headers: owner.ownOrigin,
    },
  })
  const invite = (body: string, headers: Record<string, string> = {}): Question => ({
    ...inviteMember,
    headers: { ...inviteMember.headers, ...headers },
    body,
  })
  drive('inviteMember', 'half a body', [400, 'invalid_json'], invite('{'))
  drive(
    'inviteMember',
    'a form',
    [415, 'unsupported_media_type'],
    invite('a=b', { 'Content-Type': 'application/x-www-form-urlencoded' }),
  )
  drive(
    'inviteMember',
    'a body that is too large',
    [413, 'payload_too_large'],
    invite(JSON.stringify({ email: 'x'.repeat(40_000) })),
  )
  for (const [sent, body] of [
    ['two addresses', { email: 'a@example.com,b@example.com', role: 'member' }],
    ['a header in the address', { email: 'a@example.com\nBcc: b@example.com', role: 'member' }],
    ['an unknown role', { email: 'a@example.com', role: 'operator' }],
    ['no role', { email: 'a@example.com' }],
  ] as const)
    drive('inviteMember', sent, [400, 'invalid_field'], invite(JSON.stringify(body)))
  drive(
    'inviteMember',
    'one member too many',
    [409, 'members_maximum'],
    invite(String(inviteMember.body), full.ownOrigin),
  )
  for (const [sent, id, refused] of [
    ['a user of another account', stranger.userId, [404, 'member_not_found']],
    ['an unknown id', randomUUID(), [404, 'member_not_found']],
    ['an id that is none', 'abc', [400, 'invalid_parameter']],
    ['the only owner', owner.userId, [409, 'last_owner']],
  ] as const)
    drive('removeMember', sent, [refused[0], refused[1]], {
      method: 'DELETE',
      path: `${membersPath}/${id}`,
      headers: owner.ownOrigin,
    })
  return { good, drives }
}
