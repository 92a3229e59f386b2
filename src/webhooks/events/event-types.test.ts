/**
 * The data of each event type, member by member: the published files and the check before writing
 * agree in every case.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { Compile } from 'typebox/compile'
import fc from '../../../test/support/oracle/fc.ts'
import { type EventType, eventTypeNames, eventTypes } from './event-types.ts'

const ajv = new Ajv2020({ strict: false })
formats.default(ajv)

const published = new Map(
  eventTypeNames.map((type) => [
    type,
    ajv.compile(JSON.parse(readFileSync(`events/${type}.v1.json`, 'utf8'))),
  ]),
)
const checked = new Map(eventTypeNames.map((type) => [type, Compile(eventTypes[type].data)]))

/** Returns the verdict on the data. Asserts that file and check agree. */
function accepts(type: EventType, data: unknown): boolean {
  const byFile = published.get(type)?.(data)
  const byCheck = checked.get(type)?.Check(data)
  assert.equal(
    byFile,
    byCheck,
    `${type}: file ${byFile}, check ${byCheck}: ${JSON.stringify(data)}`,
  )
  return byCheck === true
}

const ten =
  'workerId snapshotId score confidenceLow confidenceHigh evidenceCount sourceCount scoreVcSha256 scoreVcStatusToken issuedAt'
const opened = 'workerId disputeId kind snapshotId restricted openedAt'

/** The members of each type, written a second time. */
const members: Record<EventType, string> = {
  'score.updated': ten,
  'score.revised': `${ten} previousSnapshotId previousScore previousScoreVcSha256 previousScoreVcStatusToken reason disputeId revisedAt`,
  'evidence.revoked':
    'workerId evidenceId evidenceType skillIds reason evidenceCount sourceCount snapshotId scoreVcSha256 scoreVcStatusToken revokedAt',
  'dispute.opened': opened,
  'dispute.resolved': `${opened} resolution scoreChanged resultingSnapshotId resolvedAt`,
  'candidate.consent_changed':
    'workerId permission granted previousGranted consentVersion effectiveAt',
}

/** Members that may be null. */
const nullable: Record<EventType, string[]> = {
  'score.updated': [],
  'score.revised': ['previousScoreVcSha256', 'previousScoreVcStatusToken', 'disputeId'],
  'evidence.revoked': ['snapshotId', 'scoreVcSha256', 'scoreVcStatusToken'],
  'dispute.opened': ['snapshotId'],
  'dispute.resolved': ['snapshotId', 'resultingSnapshotId'],
  'candidate.consent_changed': ['previousGranted'],
}

interface Values {
  good: readonly unknown[]
  bad: readonly unknown[]
}

const hex = 'a1'.repeat(32)
const digests: Values = {
  good: [hex, '0'.repeat(64)],
  bad: [hex.toUpperCase(), hex.slice(1), `${hex}0`, `${hex}\n`, `sha256:${hex}`, '', 7],
}
const id = '0d4f9c52-6a3b-4c1e-9f27-8b5a1c2d3e4f'
const uuids: Values = {
  good: [id],
  bad: [id.toUpperCase(), id.replaceAll('-', ''), `{${id}}`, `${id}\n`, '', 7],
}
const points: Values = { good: [0, 1000], bad: [-1, 1001, 0.5, '742', true] }
const counts: Values = { good: [0, 1_000_000], bad: [-1, 1_000_001, 1.5, '1'] }
const flags: Values = { good: [true, false], bad: [0, 'true'] }
const times: Values = {
  good: ['2026-05-14T09:00:00Z', '2028-02-29T23:59:59Z'],
  bad: [
    '2026-05-14T09:00:00.000Z',
    '2026-05-14T09:00:00+00:00',
    '2026-05-14 09:00:00Z',
    '2026-05-14t09:00:00z',
    '2026-13-14T09:00:00Z',
    '2026-02-29T09:00:00Z',
    '2026-05-14T25:00:00Z',
    '2026-05-14',
    1_778_749_200,
  ],
}
const words = (...good: string[]): Values => ({
  good,
  bad: ['other', good[0]?.toUpperCase(), '', 1],
})

const values: Record<string, Values> = {
  workerId: uuids,
  evidenceId: uuids,
  disputeId: uuids,
  snapshotId: digests,
  previousSnapshotId: digests,
  resultingSnapshotId: digests,
  scoreVcSha256: digests,
  scoreVcStatusToken: digests,
  previousScoreVcSha256: digests,
  previousScoreVcStatusToken: digests,
  score: points,
  previousScore: points,
  confidenceLow: points,
  confidenceHigh: points,
  evidenceCount: counts,
  sourceCount: counts,
  restricted: flags,
  scoreChanged: flags,
  granted: flags,
  previousGranted: flags,
  issuedAt: times,
  revisedAt: times,
  revokedAt: times,
  openedAt: times,
  resolvedAt: times,
  effectiveAt: times,
  consentVersion: { good: [1, Number.MAX_SAFE_INTEGER], bad: [0, -1, 1.5, 2 ** 53, '1'] },
  kind: words('score', 'evidence', 'identity'),
  resolution: words('upheld', 'partly_upheld', 'rejected', 'withdrawn'),
  permission: words('public_profile', 'search_listing', 'score_sharing'),
  evidenceType: {
    good: ['assessment', 'work_product', 'a'.repeat(64)],
    bad: ['', 'a'.repeat(65), 'Work product', 'e-mail: ada@example.org', 1],
  },
  skillIds: {
    good: [
      ['hss:git'],
      Array.from({ length: 100 }, (_, i) => `hss:s${i}`),
      [`hss:${'a'.repeat(64)}`],
    ],
    bad: [
      [],
      ['git'],
      ['hss:git', 'hss:git'],
      ['hss:Git'],
      Array.from({ length: 101 }, (_, i) => `hss:s${i}`),
      [`hss:${'a'.repeat(65)}`],
      'hss:git',
    ],
  },
}

const reasons: Partial<Record<EventType, Values>> = {
  'score.revised': words(
    'correction',
    'evidence_revoked',
    'dispute_upheld',
    'engine_correction',
    'identity_change',
  ),
  'evidence.revoked': words(
    'source_removed',
    'source_invalid',
    'worker_request',
    'dispute_upheld',
    'policy',
  ),
}

for (const type of eventTypeNames) {
  const { data, example } = eventTypes[type]
  const names = members[type].split(' ')

  test(`${type}: its data has exactly the listed members, all required`, () => {
    assert.deepEqual(Object.keys(data.properties), names)
    assert.ok(accepts(type, example))
    for (const name of names) {
      const { [name]: _, ...rest }: Record<string, unknown> = { ...example }
      assert.ok(!accepts(type, rest), `${name} is optional`)
    }
    for (const name of ['email', 'displayName', 'note', 'userId', ''])
      assert.ok(!accepts(type, { ...example, [name]: 'x' }), `${name} is accepted`)
    for (const other of [null, [], 'x', [example]]) assert.ok(!accepts(type, other))
  })

  test(`${type}: each member accepts only its listed values, and null only if it is nullable`, () => {
    for (const name of names) {
      const samples = name === 'reason' ? reasons[type] : values[name]
      assert.ok(samples, `${name} has no sample values`)
      for (const value of samples.good)
        assert.ok(accepts(type, { ...example, [name]: value }), `${name}: ${String(value)}`)
      for (const value of [...samples.bad, {}, [null]])
        assert.ok(!accepts(type, { ...example, [name]: value }), `${name}: ${String(value)}`)
      const acceptsNull = accepts(type, { ...example, [name]: null })
      assert.equal(acceptsNull, nullable[type].includes(name), `${name}: null`)
    }
  })

  test(`${type}: the published file and the check agree on any value`, () => {
    const any = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom(...names.flatMap((name) => values[name]?.good ?? [])),
    )
    fc.assert(
      fc.property(fc.constantFrom(...names), any, (name, value) => {
        accepts(type, { ...example, [name]: value })
      }),
      { numRuns: 300 },
    )
  })

  test(`${type}: no member accepts free text`, () => {
    for (const name of names)
      assert.ok(!accepts(type, { ...example, [name]: 'Ada Lovelace, ada@example.org' }), name)
  })
}
