/** The operations on scores. `scores replay` reads engines and is written by hand. */
import { Type } from 'typebox'
import { afterField, limitField, nextField, orNull, pageOf, time } from '../../operations/fields.ts'
import { operationsFor } from '../../operations/operation.ts'
import { closedObject, listOf } from '../../platform/json/closed-object.ts'
import { scoreBands } from '../../standard/bands.ts'
import { findWorkerId } from '../../workers/api.ts'
import { unknownWorker, usernameField } from '../../workers/username.ts'
import { findActivePage, findHistory } from './history-store.ts'

const { read } = operationsFor<object>()

const bands = scoreBands.map(({ band }) => band)

const score = {
  snapshotId: Type.String({ description: 'Id of the score.' }),
  score: Type.Integer(),
  low: Type.Integer(),
  high: Type.Integer(),
  band: Type.Enum([...bands]),
  evidenceCount: Type.Integer(),
  sourceCount: Type.Integer({ description: 'Independent groups of sources.' }),
  engineVersion: Type.String(),
  issuedAt: time,
  scoreVcSha256: orNull(Type.String(), 'Of its credential, or null if it has none.'),
}

interface Shown {
  score: number
  low: number
  high: number
  scoreVcSha256: string | null
}

const scoreColumns = {
  score: ({ score: value, low, high }: Shown) => `${value} [${low}, ${high}]`,
  credential: ({ scoreVcSha256 }: Shown) => (scoreVcSha256 === null ? 'none' : 'issued'),
}

const scoresList = read({
  name: 'scores list',
  http: 'GET /scores',
  summary: 'Show the active scores, those of the latest registered workers first',
  who: { operator: 'viewer' },
  input: {
    band: Type.Optional(Type.Enum([...bands], { description: bands.join(', ') })),
    limit: limitField,
    after: afterField,
  },
  output: closedObject({
    scores: listOf({ workerId: Type.String(), username: Type.String(), ...score }),
    next: nextField,
  }),
  example: { limit: 200 },
  none: 'There are no such scores.',
  columns: {
    username: 'username',
    score: scoreColumns.score,
    band: 'band',
    issued: 'issuedAt',
    engine: 'engineVersion',
    credential: scoreColumns.credential,
    id: 'snapshotId',
  },
  async run(db, { band = null, limit, after = null }) {
    const found = await findActivePage(db, { band, after, limit: limit + 1 })
    const { rows, next } = pageOf(found, limit, ({ workerId }) => workerId)
    return { scores: rows.map(withDigest), next }
  },
})

const scoresShow = read({
  name: 'scores show',
  http: 'GET /workers/{username}/scores',
  summary: 'Show the current score and every earlier score of a worker',
  who: { operator: 'viewer' },
  path: { username: usernameField },
  input: { limit: { ...limitField, default: 1_000 } },
  output: closedObject({
    username: Type.String(),
    scores: listOf({
      ...score,
      state: Type.Enum(['active', 'superseded', 'withdrawn']),
      change: Type.Enum(['first', 'updated', 'revised']),
      reason: orNull(Type.String(), 'Null unless it was revised.'),
      endedAt: orNull(time, 'Null while it is active.'),
    }),
  }),
  refusals: ['worker_not_found'],
  example: { username: 'ada-lovelace', limit: 1_000 },
  none: 'The worker has no score.',
  columns: {
    issued: 'issuedAt',
    score: scoreColumns.score,
    band: 'band',
    state: 'state',
    change: ({ change, reason }) => (reason === null ? change : `${change}, ${reason}`),
    engine: 'engineVersion',
    credential: scoreColumns.credential,
    id: 'snapshotId',
  },
  async run(db, { username, limit }) {
    const workerId = await findWorkerId(db, username)
    if (workerId === null) return unknownWorker(username)
    const scores = await findHistory(db, workerId, limit)
    return { username, scores: scores.map(withDigest) }
  },
})

function withDigest<Row extends { vcSha256: Buffer | null }>(row: Row) {
  return { ...row, scoreVcSha256: row.vcSha256 }
}

/** In the order of the help. */
export const scoreOperations = [scoresList, scoresShow] as const
