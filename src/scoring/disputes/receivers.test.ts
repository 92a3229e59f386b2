/**
 * Property test of the knowledge that receivers have from events alone, over every kind, timing and
 * end of a dispute, with other changes in between.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { end, opened, review } from '../../../test/support/build/disputes.ts'
import { testRegistry } from '../../../test/support/build/registry.ts'
import {
  addEvidence,
  addScoredWorker,
  addSources,
  daysAfter,
  enough,
  eventsOf,
  type SentEvent,
  score,
  scoredAt,
  scoring,
} from '../../../test/support/build/scores.ts'
import { consentEvents } from '../../../test/support/build/workers.ts'
import fc from '../../../test/support/oracle/fc.ts'
import { sql } from '../../platform/db/db.ts'
import { changeConsent, moveIdentity } from '../scores/keep-sharing.ts'
import { recomputeSome } from '../scores/recompute.ts'
import { revokeAndRescore } from '../scores/revoke-evidence.ts'
import { disputeKinds, type Ending } from './dispute.ts'

const registry = await testRegistry()
const { db } = registry
after(() => registry.drop())
await addSources(db)

/** Each change happens one day after the one before. */
const happenings = {
  /** The jobs process recomputes the score. */
  score: (one: Disputed, now: Date) => score(db, one.workerId, { at: now }),
  add: (one: Disputed, now: Date) => addEvidence(db, one.workerId, [{ value: 300 }], now),
  /** The operator revokes an item that is not disputed, or one that is. */
  revokeOther: (one: Disputed, now: Date) => revoke(one.evidence[4], now),
  revokeDisputed: (one: Disputed, now: Date) => revoke(one.evidence[0], now),
  /** The verification ends before the next change: scores are not shared until it is renewed. */
  lapse: (one: Disputed, now: Date) => verify(one, now, new Date(now.getTime() + 1_000)),
  renew: (one: Disputed, now: Date) => verify(one, now, new Date('2035-01-01T00:00:00Z')),
}
type Happening = keyof typeof happenings

interface Disputed {
  workerId: string
  evidence: string[]
}

function revoke(id: string | undefined, now: Date): Promise<unknown> {
  const revocation = { reason: 'source_invalid', actor: 'ada', now } as const
  return db.transaction((tx) => revokeAndRescore(tx, scoring, [id ?? ''], revocation))
}

function verify({ workerId }: Disputed, at: Date, until: Date): Promise<unknown> {
  const move = { workerId, move: 'verify', until } as const
  return db.transaction((tx) => moveIdentity(tx, move, { by: 'ada', at }))
}

const happening = fc.constantFrom<Happening>(
  ...(Object.keys(happenings) as Happening[]),
  'score',
  'score',
  'renew',
)
const endings: readonly Ending[] = ['upheld', 'partly_upheld', 'rejected', 'withdrawn']
const story = fc.record({
  before: fc.array(happening, { maxLength: 2 }),
  /** Evidence is twice as likely, because it has more cases. */
  kind: fc.constantFrom(...disputeKinds, 'evidence' as const),
  /** Number of disputed items among the first five. */
  items: fc.integer({ min: 1, max: 3 }),
  exclude: fc.boolean(),
  between: fc.array(happening, { maxLength: 4 }),
  /** `partly_upheld` becomes `upheld` if the dispute has no parts. */
  ending: fc.constantFrom(...endings, 'upheld' as const),
  after: fc.array(happening, { maxLength: 2 }),
})

test('receivers learn of every revoked credential, and an upheld dispute revises the last score they were sent', async () => {
  let revisions = 0
  await fc.assert(
    fc.asyncProperty(story, async ({ before, kind, items, exclude, between, ending, ...rest }) => {
      const one = await addScoredWorker(db, { items: [...enough, { value: 500 }, { value: 650 }] })
      const { workerId, evidence } = one
      let days = 0
      const tomorrow = () => new Date(scoredAt.getTime() + ++days * 86_400_000)
      const happen = async (what: readonly Happening[]) => {
        for (const name of what) await happenings[name](one, tomorrow())
      }
      await happen(before)
      const situation = await situationOf(workerId, evidence.slice(0, items))
      const cannotOpen =
        kind === 'score' ? situation.active === null : kind === 'evidence' && situation.anyRevoked
      if (cannotOpen) return
      const evidenceIds = kind === 'evidence' ? evidence.slice(0, items) : []
      const request = { workerId, kind, evidenceIds, exclude: kind === 'evidence' && exclude }
      const { id } = await opened(db, request, tomorrow())
      await happen(between)
      await review(db, id, tomorrow())
      const receiver = receiverOf(await eventsOf(db, workerId))
      const isPartly = ending === 'partly_upheld' && evidenceIds.length > 1
      const decided = ending === 'partly_upheld' && !isPartly ? 'upheld' : ending
      const upheldIds = isPartly ? evidenceIds.slice(0, 1) : []
      const wasValid = await credentialsOf(workerId)
      const ended = await end(db, id, { ending: decided, upheldIds, now: tomorrow() })
      if ('refusal' in ended) return
      const changed = (await eventsOf(db, workerId)).slice(receiver.seen)
      checkEnd({ id, receiver, changed, wasValid, isValid: await credentialsOf(workerId) })
      await happen(rest.after)
      await checkAll(workerId)
    }),
    { numRuns: 50 },
  )
  assert.ok(revisions >= 3, `${revisions} revisions by an upheld dispute`)

  function checkEnd({ id, receiver, changed, wasValid, isValid }: Ended): void {
    const resolved = changed.at(-1)
    const gone = [...wasValid].filter(([vc, valid]) => valid && isValid.get(vc) === false)
    const revised = changed.filter(({ type }) => type === 'score.revised')
    if (gone.length === 0) return
    assert.equal(resolved?.type, 'dispute.resolved')
    // A wrong identity revokes all credentials of the worker, and no other event reports it.
    if (resolved?.data.kind === 'identity') return
    for (const { data } of revised) assert.equal(data.disputeId, id)
    const next = receiverOf(changed, receiver)
    if (next.held !== receiver.held || revised.length > 0) {
      assert.equal(revised.length, 1)
      revisions++
      const about = resolved?.data.kind === 'evidence' ? receiver.held : resolved?.data.snapshotId
      assert.equal(revised[0]?.data.previousSnapshotId, about)
    }
  }
})

for (const permission of ['public_profile', 'score_sharing'] as const)
  test(`after ${permission} is withdrawn only the withdrawal is sent, whatever changes about the worker`, async () => {
    const one = await addScoredWorker(db, { items: [...enough, { value: 500 }] })
    const { workerId, evidence } = one
    const [row] = await db.rows<{ username: string }>(sql`
      select username from profiles where worker_id = ${workerId}`)
    const evidenceIds = evidence.slice(0, 1)
    const open = await opened(db, { workerId, kind: 'evidence', evidenceIds, exclude: true })
    const request = { permission, textVersion: null, by: 'ada', at: daysAfter(1) }
    const consentsBefore = (await consentEvents(db, workerId)).length
    await db.transaction((tx) => changeConsent(tx, row?.username ?? '', request))
    await happenings.score(one, daysAfter(2))
    await review(db, open.id, daysAfter(2))
    await end(db, open.id, { ending: 'upheld', now: daysAfter(3) })
    for (const kind of ['score', 'identity'] as const) {
      const { id } = await opened(db, { workerId, kind }, daysAfter(4))
      await review(db, id, daysAfter(4))
      await end(db, id, { ending: 'upheld', now: daysAfter(5) })
    }
    await happenings.add(one, daysAfter(6))
    await happenings.score(one, daysAfter(7))
    await happenings.revokeOther(one, daysAfter(8))
    await db.transaction((tx) => recomputeSome(tx, scoring, { limit: 10, now: daysAfter(9) }))
    assert.deepEqual(await eventsOf(db, workerId), [])
    const consents = await consentEvents(db, workerId)
    assert.deepEqual(
      consents.slice(consentsBefore).map(({ permission: changed, granted }) => [changed, granted]),
      [[permission, false]],
    )
  })

interface Ended {
  id: string
  receiver: Receiver
  changed: SentEvent[]
  /** Whether each credential is valid, by its digest. */
  wasValid: ReadonlyMap<string, boolean>
  isValid: ReadonlyMap<string, boolean>
}

interface Receiver {
  seen: number
  /** Id of the last score that was sent. */
  held: string | null
  /** Digest of each credential that was sent, to the events that report its revocation. */
  known: Map<string, string[]>
  /** Score id to the digests of its credentials. */
  ofScore: Map<string, string[]>
}

/** Applies events in their order, as a receiver without any other source does. */
function receiverOf(events: readonly SentEvent[], from?: Receiver): Receiver {
  const known = new Map([...(from?.known ?? [])].map(([vc, named]) => [vc, [...named]]))
  const ofScore = new Map(from?.ofScore)
  const receiver = {
    seen: (from?.seen ?? 0) + events.length,
    held: from?.held ?? null,
    known,
    ofScore,
  }
  const name = (vc: unknown, by: string) => {
    if (typeof vc !== 'string') return
    const named = known.get(vc)
    assert.ok(named, `${by} names a credential that was never told`)
    named.push(by)
  }
  for (const { type, data } of events) {
    if (type === 'score.revised') name(data.previousScoreVcSha256, type)
    if (type === 'evidence.revoked') name(data.scoreVcSha256, `${type} ${String(data.evidenceId)}`)
    if (type === 'score.updated' || type === 'score.revised') {
      const [id, vc] = [String(data.snapshotId), String(data.scoreVcSha256)]
      receiver.held = id
      if (!known.has(vc)) known.set(vc, [])
      ofScore.set(id, [...new Set([...(ofScore.get(id) ?? []), vc])])
    }
    if (type === 'dispute.resolved' && data.resolution === 'upheld') {
      const disputed = ofScore.get(String(data.snapshotId)) ?? []
      // If no score may be shared after a wrong one, no score.revised can name its credential.
      const wrong = { identity: [...known.keys()], score: data.scoreChanged ? disputed : [] }
      for (const vc of wrong[data.kind as keyof typeof wrong] ?? [])
        if (known.get(vc)?.length === 0) name(vc, type)
    }
  }
  return receiver
}

/** The receiver agrees with the registry, and each cause names a credential once. */
async function checkAll(workerId: string): Promise<void> {
  const { known, held } = receiverOf(await eventsOf(db, workerId))
  for (const [vc, isValid] of await credentialsOf(workerId)) {
    const named = known.get(vc)
    assert.ok(named, 'a credential that was never told')
    assert.equal(named.length === 0, isValid, `${vc}: ${named.join(', ')}`)
    assert.equal(new Set(named).size, named.length, `named twice: ${named.join(', ')}`)
  }
  const { active } = await situationOf(workerId, [])
  if (active?.vc) assert.equal(held, active.id)
}

async function credentialsOf(workerId: string): Promise<Map<string, boolean>> {
  const rows = await db.rows<{ vc: string; valid: boolean }>(sql`
    select encode(c.vc_sha256, 'hex') as vc, c.revoked_at is null as valid
    from score_credentials c join profiles p on c.subject like '%/' || p.username
    where p.worker_id = ${workerId}`)
  return new Map(rows.map(({ vc, valid }) => [vc, valid]))
}

async function situationOf(workerId: string, evidenceIds: readonly string[]) {
  const [active = null] = await db.rows<{ id: string; vc: string | null }>(sql`
    select encode(snapshot_id, 'hex') as id, encode(vc_sha256, 'hex') as vc
    from score_snapshots where worker_id = ${workerId} and state = 'active'`)
  const revoked = await db.rows(sql`
    select from evidence where evidence_id = any(${evidenceIds}::uuid[]) and state = 'revoked'`)
  return { active, anyRevoked: revoked.length > 0 }
}
