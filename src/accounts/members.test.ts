import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { contextAt } from '../../test/support/build/actions.ts'
import { memberRequests, membersPath } from '../../test/support/build/member-drives.ts'
import { newSession, type TestSession } from '../../test/support/build/sessions.ts'
import { ask, type Question } from '../../test/support/start/ask.ts'
import { startService, type TestService } from '../../test/support/start/service.ts'
import { removeMember } from './members.ts'

let service: TestService
before(async () => {
  service = await startService('https://scores.example.org')
})
after(() => service.stop())

const list = async ({ headers }: TestSession) => {
  const { status, body } = await ask(service.base, { path: membersPath, headers })
  return status === 200 ? JSON.parse(String(body)).members : status
}

test('an owner invites a user and removes one: the sessions in this account end, those in another stay', async () => {
  const { db } = service.database
  const owner = await newSession(db)
  const leaving = await newSession(db, { accountId: owner.accountId, role: 'member' })
  const other = await newSession(db)
  const { inviteMember, removeMember } = memberRequests(owner, {
    email: 'Ada@Example.com',
    userId: leaving.userId,
  }) as Record<'inviteMember' | 'removeMember', Question>
  const invited = await ask(service.base, inviteMember)
  assert.deepEqual(JSON.parse(String(invited.body)), {
    schemaVersion: 'service.member_invited.v1',
    email: 'ada@example.com',
    mailed: false,
  })
  const again = await ask(service.base, inviteMember)
  assert.deepEqual([again.status, again.body], [202, invited.body])
  assert.equal((await list(leaving)).length, 3)
  assert.equal((await ask(service.base, removeMember)).status, 200)
  assert.equal(await list(leaving), 401)
  assert.equal((await list(other)).length, 1)
  const emails = (await list(owner)).map(({ email }: { email: string }) => email)
  assert.deepEqual(new Set(emails), new Set([owner.email, 'ada@example.com']))
})

test('two owners remove each other at once: one of them stays', async () => {
  const { db } = service.database
  const first = await newSession(db)
  const { accountId } = first
  const second = await newSession(db, { accountId })
  const results = await Promise.all(
    [first, second].map(({ userId }) => removeMember(contextAt(db), { accountId, userId })),
  )
  assert.deepEqual(new Set(results), new Set(['removed', 'last owner']))
})
