/** Disputes in any order compared with an oracle, and interrupted between any two statements. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { end, opened, review, tryToOpen } from '../../../test/support/build/disputes.ts'
import { testRegistry } from '../../../test/support/build/registry.ts'
import {
  addEvidence,
  addScoredWorker,
  addSources,
  daysAfter,
  enough,
  eventsOf,
  forgetEvents,
  score,
  scoredAt,
} from '../../../test/support/build/scores.ts'
import { cutOffEverywhere } from '../../../test/support/fault/faults.ts'
import fc from '../../../test/support/oracle/fc.ts'
import { type Db, sql } from '../../platform/db/db.ts'
import type { Ending } from './dispute.ts'

const registry = await testRegistry()
const { db } = registry
after(() => registry.drop())
await addSources(db)

/**
 * Creates a worker with a score of five items, named here by their positions, and discards its
 * event.
 */
async function workerWithScore() {
  const worker = await addScoredWorker(db, { items: [...enough, { value: 500 }] })
  await forgetEvents(db, worker.workerId)
  return worker
}

/** The groups of the items, in the order of `enough`. */
const groupOf = ['board', 'board', 'acme', 'acme', 'board']
const all = new Set([0, 1, 2, 3, 4])

/** Items of two disputes, which share two of them. */
const slots = { a: [0, 1, 2], b: [1, 2, 3] } as const
type Slot = keyof typeof slots

type Step =
  | { step: 'open'; slot: Slot; exclude: boolean; restricted: boolean }
  | { step: 'review'; slot: Slot }
  /** `part` is a bit set of the items that are upheld if the dispute is partly upheld. */
  | { step: 'end'; slot: Slot; ending: Ending; part: number }
  | { step: 'score' }

const slot = fc.constantFrom<Slot>('a', 'b')
const endings: readonly Ending[] = ['upheld', 'partly_upheld', 'rejected', 'withdrawn']
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        step: fc.constant('open' as const),
        slot,
        exclude: fc.boolean(),
        restricted: fc.boolean(),
      }),
    },
    { weight: 3, arbitrary: fc.record({ step: fc.constant('review' as const), slot }) },
    {
      weight: 4,
      arbitrary: fc.record({
        step: fc.constant('end' as const),
        slot,
        ending: fc.constantFrom(...endings),
        part: fc.integer({ min: 0, max: 7 }),
      }),
    },
    { weight: 3, arbitrary: fc.constant({ step: 'score' as const }) },
  ),
  { minLength: 6, maxLength: 24 },
)

interface Expected {
  result: string
  /** Types in order. */
  events: string[]
}

/** Computes the expected outcome with plain sets. */
class Oracle {
  readonly excluded = new Set<number>()
  readonly revoked = new Set<number>()
  /** Every score issued, with the items it counted and whether its credential is valid. */
  readonly scores = [{ items: new Set(all), isValid: true }]
  scored: Set<number> | null = new Set(all)
  readonly open = new Map<Slot, { isReviewed: boolean; restricted: boolean; excluded: number[] }>()

  take(step: Step): Expected {
    if (step.step === 'score') return { result: 'scored', events: this.rescore() }
    if (step.step === 'open') return this.openOne(step)
    const dispute = this.open.get(step.slot)
    if (step.step === 'review') {
      if (dispute === undefined || dispute.isReviewed) return refused
      dispute.isReviewed = true
      return { result: 'under_review', events: [] }
    }
    const isEarly = step.ending !== 'withdrawn' && !dispute?.isReviewed
    return dispute === undefined || isEarly ? refused : this.endOne(step, dispute.excluded)
  }

  openOne({ slot, exclude, restricted }: Step & { step: 'open' }): Expected {
    const items = slots[slot]
    if (items.some((item) => this.revoked.has(item)))
      return { result: 'evidence_revoked', events: [] }
    // Both disputes are about two common items.
    if (this.open.size > 0) return { result: 'dispute_already_open', events: [] }
    const excluded = exclude ? [...items] : []
    for (const item of excluded) this.excluded.add(item)
    this.open.set(slot, { isReviewed: false, restricted, excluded })
    return { result: 'opened', events: ['dispute.opened'] }
  }

  endOne({ slot, ending, part }: Step & { step: 'end' }, excluded: readonly number[]): Expected {
    const items = slots[slot]
    const named = partOf(slot, part)
    if (ending === 'partly_upheld' && (named.length === 0 || named.length === items.length))
      return { result: 'dispute_decision', events: [] }
    const upheld = { upheld: items, partly_upheld: named, rejected: [], withdrawn: [] }[ending]
    for (const item of excluded) this.excluded.delete(item)
    for (const item of upheld) this.revoked.add(item)
    this.open.delete(slot)
    const isRescored = upheld.length > 0 || excluded.length > 0
    // One for each credential whose score counted the item, and at least one.
    const lost = upheld.flatMap((item) => {
      const rested = this.scores.filter(({ isValid, items }) => isValid && items.has(item))
      return rested.length === 0 ? ['evidence.revoked'] : rested.map(() => 'evidence.revoked')
    })
    const wrong = this.scores.filter(
      ({ isValid, items }) => isValid && upheld.some((item) => items.has(item)),
    )
    const shared = this.scores.findLast(({ isValid }) => isValid)
    for (const one of wrong) one.isValid = false
    const scored = isRescored ? this.rescore(wrong.length > 0 ? shared : undefined) : []
    return { result: 'ended', events: [...lost, ...scored, 'dispute.resolved'] }
  }

  /** `revised` is the last score sent, if the dispute was upheld about an item that had counted. */
  rescore(revised?: { isValid: boolean }): string[] {
    const before = this.scored
    const active = all.difference(this.revoked).difference(this.excluded)
    const groups = new Set([...active].map((item) => groupOf[item]))
    this.scored = groups.size >= 2 ? active : null
    if (this.scored === null) return []
    const isSame = before?.size === active.size && before.isSubsetOf(active)
    if (isSame && revised === undefined) return []
    if (revised !== undefined) revised.isValid = false
    this.scores.push({ items: active, isValid: true })
    return [revised === undefined ? 'score.updated' : 'score.revised']
  }
}

const refused: Expected = { result: 'dispute_state', events: [] }

function outcomeOf(answer: object, done: string): string {
  return 'refusal' in answer ? String(answer.refusal) : done
}

function partOf(slot: Slot, part: number): number[] {
  return slots[slot].filter((_, i) => (part & (1 << i)) !== 0)
}

test('any sequence of moves of two disputes that share evidence ends as the oracle says, with each event once', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const { workerId, evidence } = await workerWithScore()
      const oracle = new Oracle()
      const ids: Partial<Record<Slot, string>> = {}
      const expectedEvents: string[] = []
      for (const [i, step] of sequence.entries()) {
        const now = new Date(scoredAt.getTime() + (i + 1) * 1_000)
        const expected = oracle.take(step)
        assert.equal(await taken(step, now), expected.result)
        expectedEvents.push(...expected.events)
        await compare()
      }
      const resolved = (await eventsOf(db, workerId)).filter(
        ({ type }) => type === 'dispute.resolved',
      )
      const disputes = new Set(resolved.map(({ data }) => data.disputeId))
      assert.equal(disputes.size, resolved.length)

      async function taken(step: Step, now: Date): Promise<string> {
        if (step.step === 'score') {
          await score(db, workerId, { at: now })
          return 'scored'
        }
        if (step.step === 'open') {
          const { slot, exclude, restricted } = step
          const evidenceIds = idsOf(slots[slot])
          const request = { workerId, kind: 'evidence', evidenceIds, exclude, restricted } as const
          const opening = await tryToOpen(db, request, now)
          if ('refusal' in opening) return opening.refusal
          ids[slot] = opening.id
          return 'opened'
        }
        const id = ids[step.slot]
        if (id === undefined) return refused.result
        if (step.step === 'review') return outcomeOf(await review(db, id, now), 'under_review')
        const { ending, part } = step
        const upheldIds = ending === 'partly_upheld' ? idsOf(partOf(step.slot, part)) : []
        return outcomeOf(await end(db, id, { ending, upheldIds, now }), 'ended')
      }

      function idsOf(places: readonly number[]): string[] {
        return places.map((place) => evidence[place] ?? '')
      }

      async function compare(): Promise<void> {
        const found = await stateOf(workerId)
        const states = evidence.map((id) => found.evidence[id])
        const expected = [...all].map((item) =>
          oracle.revoked.has(item) ? 'revoked' : oracle.excluded.has(item) ? 'excluded' : 'active',
        )
        assert.deepEqual(states, expected)
        const isHidden = [...oracle.open.values()].some(({ restricted }) => restricted)
        assert.equal(found.restricted, isHidden)
        const scored = oracle.scored === null ? null : idsOf([...oracle.scored]).sort()
        assert.deepEqual(found.scored, scored)
        assert.deepEqual(found.openWrong, [])
        const events = await eventsOf(db, workerId)
        assert.deepEqual(
          events.map(({ type }) => type),
          expectedEvents,
        )
        const last = events.at(-1)
        if (last?.type === 'dispute.resolved')
          assert.equal(last.data.resultingSnapshotId, found.active)
      }
    }),
    { numRuns: 60 },
  )
})

interface Found {
  evidence: Record<string, string>
  restricted: boolean
  /** Items of the active score, in order of id. */
  scored: string[] | null
  /** Valid credentials of scores that counted revoked evidence. */
  openWrong: string[]
  active: string | null
}

async function stateOf(workerId: string): Promise<Found> {
  const [found] = await db.rows<Found>(sql`
    select
      (select json_object_agg(evidence_id, state) from evidence
        where worker_id = ${workerId}) as evidence,
      exists (select from disputes where worker_id = ${workerId} and restricted
        and state in ('open', 'under_review')) as restricted,
      (select json_agg(item ->> 'id' order by item ->> 'id')
        from score_snapshots s join score_workings w using (snapshot_id),
          json_array_elements(w.evidence::json) item
        where s.worker_id = ${workerId} and s.state = 'active') as scored,
      array(select encode(c.vc_sha256, 'hex')
        from score_snapshots s join score_workings w using (snapshot_id)
          join score_credentials c using (vc_sha256), json_array_elements(w.evidence::json) item
          join evidence e on e.evidence_id = (item ->> 'id')::uuid
        where s.worker_id = ${workerId} and c.revoked_at is null and e.state = 'revoked')
        as "openWrong",
      (select encode(snapshot_id, 'hex') from score_snapshots
        where worker_id = ${workerId} and state = 'active') as active`)
  assert.ok(found)
  return found
}

/** Returns every row that a dispute can write about this worker. */
async function everythingOf(workerId: string): Promise<string> {
  const rows = await db.rows(sql`
    select
      (select json_agg(d order by id) from disputes d where worker_id = ${workerId}) as disputes,
      (select json_agg(t order by t.dispute_id, t.evidence_id) from dispute_targets t
        where worker_id = ${workerId}) as targets,
      (select json_agg(c order by c.dispute_id, c.changed_at) from dispute_changes c
        join disputes d on d.id = c.dispute_id where d.worker_id = ${workerId}) as changes,
      (select json_agg(e order by evidence_id) from evidence e
        where worker_id = ${workerId}) as evidence,
      (select json_agg(s order by snapshot_id) from score_snapshots s
        where worker_id = ${workerId}) as snapshots,
      (select json_agg(c order by vc_sha256) from score_credentials c) as credentials,
      (select json_agg(i) from identities i where worker_id = ${workerId}) as identity,
      (select json_agg(e order by seq) from webhook_events e
        where worker_id = ${workerId}) as events,
      (select json_agg(r) from score_recomputations r where worker_id = ${workerId}) as marks`)
  return JSON.stringify(rows)
}

async function cutOff(workerId: string, work: (from: Db) => Promise<unknown>): Promise<number> {
  const before = await everythingOf(workerId)
  const boundaries = await cutOffEverywhere(db, work, async (isCut) => {
    assert.equal((await everythingOf(workerId)) === before, isCut)
  })
  return boundaries
}

for (const ending of endings)
  test(`each move up to ${ending}, interrupted at any boundary, changes nothing until all is done`, async () => {
    const { workerId, evidence } = await workerWithScore()
    const evidenceIds = evidence.slice(0, 2)
    const request = {
      workerId,
      kind: 'evidence',
      evidenceIds,
      exclude: true,
      restricted: true,
    } as const
    const openings = await cutOff(workerId, (from) => tryToOpen(from, request))
    assert.ok(openings >= 8, `${openings} boundaries of opening`)
    const [{ id } = { id: '' }] = await db.rows<{ id: string }>(sql`
      select id from disputes where worker_id = ${workerId}`)
    const reviews = await cutOff(workerId, (from) => review(from, id))
    assert.ok(reviews >= 4, `${reviews} boundaries of the review`)
    const upheldIds = ending === 'partly_upheld' ? evidenceIds.slice(0, 1) : []
    const ends = await cutOff(workerId, (from) => end(from, id, { ending, upheldIds }))
    assert.ok(ends >= 15, `${ends} boundaries of the end`)
    const types = (await eventsOf(db, workerId)).map(({ type }) => type)
    const revocations = { upheld: 2, partly_upheld: 1, rejected: 0, withdrawn: 0 }[ending]
    const between = revocations === 0 ? [] : ['score.revised']
    assert.deepEqual(types, [
      'dispute.opened',
      ...Array.from({ length: revocations }, () => 'evidence.revoked'),
      ...between,
      'dispute.resolved',
    ])
  })

for (const kind of ['score', 'identity'] as const)
  test(`upholding a dispute about the ${kind}, interrupted at any boundary, is never done in part`, async () => {
    const { workerId } = await workerWithScore()
    const { id } = await opened(db, { workerId, kind })
    await review(db, id)
    await addEvidence(db, workerId, [{ value: 100 }], daysAfter(2))
    const ends = await cutOff(workerId, (from) => end(from, id, { ending: 'upheld' }))
    assert.ok(ends >= 12, `${ends} boundaries`)
  })
