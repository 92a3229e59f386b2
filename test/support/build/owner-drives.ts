/** Collects requests of the contract test to the session routes of an account's owner. */
import type { Question } from '../start/ask.ts'
import type { KeyedDrive } from './keyed-drives.ts'
import type { TestSession } from './sessions.ts'

export interface OwnerDrives {
  drives: KeyedDrive[]
  /** Adds a request that succeeds: the good one of the operation, or `question`. */
  accept(operation: string, status: number, sent: string, question?: Question): void
  /** Adds a request that is refused: the good one of the operation with `changes`. */
  refuse(
    operation: string,
    sent: string,
    refused: readonly [status: number, error: string],
    changes: Partial<Question>,
  ): void
}

/**
 * Begins the list with the refusals that all of these routes share. If members may do the same as
 * owners, `member` is null.
 */
export function ownerDrives(
  good: Record<string, Question>,
  member: TestSession | null,
): OwnerDrives {
  const drives: KeyedDrive[] = []
  const accept: OwnerDrives['accept'] = (operation, status, sent, question = good[operation]) => {
    if (question !== undefined) drives.push({ operation, status, sent, question })
  }
  const refuse: OwnerDrives['refuse'] = (operation, sent, [status, error], changes) => {
    const usual = good[operation] as Question
    const headers = { ...usual.headers, ...changes.headers }
    drives.push({ operation, status, sent, error, question: { ...usual, ...changes, headers } })
  }
  for (const [operation, { method }] of Object.entries(good)) {
    const old = { 'Service-Version': '2025-01-01' }
    refuse(operation, 'no session', [401, 'session_required'], { headers: { Cookie: '' } })
    refuse(operation, 'the version 2025-01-01', [400, 'unsupported_version'], { headers: old })
    if (method === undefined) continue
    const site = { 'Sec-Fetch-Site': 'cross-site' }
    refuse(operation, 'another site', [403, 'cross_origin'], { headers: site })
    if (member === null) continue
    const headers = member.ownOrigin
    refuse(operation, 'a member who is no owner', [403, 'owner_required'], { headers })
  }
  return { drives, accept, refuse }
}

/** Adds the refusals of bodies that are not JSON or are too large. */
export function refuseBodies({ refuse }: OwnerDrives, operation: string): void {
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
  refuse(operation, 'half a body', [400, 'invalid_json'], { body: '{"name":' })
  refuse(operation, 'a form', [415, 'unsupported_media_type'], { headers: form, body: 'a=b' })
  refuse(operation, 'a body that is too large', [413, 'payload_too_large'], {
    body: JSON.stringify({ name: 'x'.repeat(32_768) }),
  })
}
