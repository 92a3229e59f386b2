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
import { ownerDrives, refuseBodies } from './owner-drives.ts'
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
  service: Pick<TestService, 'database'>,
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
  const list = ownerDrives(good, member)
  const { accept, refuse } = list
  const removing = (id: string) =>
    memberRequests(owner, { email: '', userId: id }).removeMember as Question
  const removed = await newSession(db, { accountId, role: 'member' })
  accept('listMembers', 200, 'a session')
  accept('inviteMember', 202, 'an address')
  accept('removeMember', 200, 'a member', removing(removed.userId))
  refuseBodies(list, 'inviteMember')
  for (const [sent, body] of [
    ['two addresses', { email: 'a@example.com,b@example.com', role: 'member' }],
    ['a header in the address', { email: 'a@example.com\nBcc: b@example.com', role: 'member' }],
    ['an unknown role', { email: 'a@example.com', role: 'operator' }],
    ['no role', { email: 'a@example.com' }],
  ] as const)
    refuse('inviteMember', sent, [400, 'invalid_field'], { body: JSON.stringify(body) })
  const headers = full.ownOrigin
  refuse('inviteMember', 'one member too many', [409, 'members_maximum'], { headers })
  for (const [sent, id, refused] of [
    ['a user of another account', stranger.userId, [404, 'member_not_found']],
    ['an unknown id', randomUUID(), [404, 'member_not_found']],
    ['an invalid id', 'abc', [400, 'invalid_parameter']],
    ['the only owner', owner.userId, [409, 'last_owner']],
  ] as const)
    refuse('removeMember', sent, refused, removing(id))
  return { good, drives: list.drives }
}
