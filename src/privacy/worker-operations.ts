/**
 * The operations on workers. They stand here and not in `workers`, because an erasure and the
 * reasons that hide a score reach into the modules above it. `workers import` is
 * `src/scoring/scores/sharing-ingests.ts`.
 */
import { type Static, Type } from 'typebox'
import {
  afterField,
  findField,
  flagField,
  limitField,
  nextField,
  orNull,
  pageOf,
  time,
} from '../operations/fields.ts'
import { changed, operationsFor } from '../operations/operation.ts'
import { counted } from '../platform/counted.ts'
import type { Queryable } from '../platform/db/db.ts'
import { closedObject, listOf } from '../platform/json/closed-object.ts'
import { renderFields } from '../platform/render-fields.ts'
import { findOpenDisputesOf, findScored, type OpenDispute } from '../scoring/api.ts'
import { findWorkerPage, findWorkers, findWorkersLike, type Worker } from '../workers/api.ts'
import { hidingScore, type ScoreGate, scoreGates } from '../workers/gate.ts'
import { identityAt, identityStates } from '../workers/identity-state.ts'
import { missingFor } from '../workers/register.ts'
import { type Permission, permissions } from '../workers/schema.ts'
import { unknownWorker, usernameField } from '../workers/username.ts'
import { eraseWorker, exportWorker } from './worker-data.ts'

/** As the audit log keeps them. */
const erasureReasons = ['worker_request', 'no_longer_needed', 'unlawful', 'policy'] as const

const { read, change } = operationsFor<object>()

const username = usernameField
const externalId = orNull(Type.String(), 'Your own id of the worker.')
const onboardedAt = orNull(time, 'Null unless the worker is onboarded.')
const scoreHiddenBy = Type.Array(Type.Enum([...scoreGates]), {
  description: 'What hides the score. Empty: the score is public.',
})
const identity = Type.Enum([...identityStates])

const gateTexts: Record<ScoreGate, string> = {
  no_score: 'there is no score',
  not_onboarded: 'not onboarded',
  public_profile: 'no consent to public_profile',
  score_sharing: 'no consent to score_sharing',
  identity: 'the identity is not verified',
  dispute: 'an open dispute hides it',
}

function scoreText({ scoreHiddenBy: gates }: { scoreHiddenBy: readonly ScoreGate[] }): string {
  const hidden = gates.map((gate) => gateTexts[gate]).join(', ')
  return hidden === '' ? 'public' : `hidden: ${hidden}`
}

const workersList = read({
  name: 'workers list',
  http: 'GET /workers',
  summary: 'Show workers and why their scores are hidden, the latest registered first',
  who: { operator: 'viewer' },
  input: {
    hidden: flagField('only workers whose score is not public'),
    find: findField('whose username or name begins so, or whose id or external id it is'),
    limit: limitField,
    after: afterField,
  },
  output: closedObject({
    workers: listOf({
      workerId: Type.String(),
      externalId,
      username: Type.String(),
      displayName: Type.String(),
      onboardedAt,
      identity,
      scoreHiddenBy,
    }),
    next: nextField,
  }),
  example: { hidden: true, limit: 200 },
  none: 'There are no such workers.',
  columns: {
    username: 'username',
    name: 'displayName',
    externalId: 'externalId',
    identity: 'identity',
    score: scoreText,
  },
  async run(db, { hidden, find, limit, after = null }, { now }) {
    const filter = { hidden, after, limit: limit + 1, now }
    const ids = await (find === undefined
      ? findWorkerPage(db, filter)
      : findWorkersLike(db, find.replace(/^@/, ''), filter))
    const { rows, next } = pageOf(ids, limit, (id) => id)
    const found = await findWorkers(db, { workerIds: rows })
    const byId = new Map(found.map((worker) => [worker.workerId, worker]))
    const facts = await factsOf(db, rows)
    const workers = rows
      .flatMap((id) => byId.get(id) ?? [])
      .map((worker) => ({
        ...worker,
        ...worker.profile,
        identity: identityAt(worker.identity, now),
        scoreHiddenBy: hidingGates(worker, facts, now),
      }))
    return { workers, next }
  },
})

const consent = closedObject({
  granted: Type.Boolean(),
  textVersion: orNull(Type.String(), 'Null if the permission was withdrawn.'),
  consentVersion: Type.Integer(),
})
const consentOrNull = orNull(consent, 'Null if the worker has not decided.')

export const shownWorker = closedObject({
  workerId: Type.String(),
  externalId,
  username: Type.String(),
  displayName: Type.String(),
  title: orNull(Type.String()),
  bio: orNull(Type.String()),
  avatarUrl: orNull(Type.String()),
  memberSince: Type.String({ description: 'A month, as YYYY-MM.' }),
  skills: listOf({ name: Type.String(), verified: Type.Boolean(), level: orNull(Type.String()) }),
  terms: orNull(closedObject({ version: Type.String(), acceptedAt: orNull(time) })),
  onboardedAt,
  missing: Type.Array(Type.String(), { description: 'What the onboarding waits for.' }),
  consentVersion: Type.Integer({ description: 'Rises with each change of consent.' }),
  consents: closedObject({
    public_profile: consentOrNull,
    search_listing: consentOrNull,
    score_sharing: consentOrNull,
  }),
  identity: closedObject({ state: identity, verifiedUntil: orNull(time) }),
  openDisputes: Type.Array(Type.String(), { description: 'Ids of disputes.' }),
  restricted: Type.Boolean({ description: 'An open dispute hides the score.' }),
  scoreHiddenBy,
})

const workersShow = read({
  name: 'workers show',
  http: 'GET /workers/{username}',
  summary: 'Show a worker, and what decides whether the score is public',
  who: { operator: 'viewer' },
  path: { username },
  output: shownWorker,
  refusals: ['worker_not_found'],
  example: { username: 'ada-lovelace' },
  renderLines: workerLines,
  async run(db, { username: of }, { now }) {
    const [worker] = await findWorkers(db, { usernames: [of] })
    if (worker === undefined) return unknownWorker(of)
    const { workerId, profile, consents, termsVersion: version } = worker
    const facts = await factsOf(db, [workerId])
    return {
      ...worker,
      ...profile,
      terms: version === null ? null : { version, acceptedAt: worker.termsAcceptedAt },
      missing: missingFor(worker),
      consents: {
        public_profile: consents.public_profile ?? null,
        search_listing: consents.search_listing ?? null,
        score_sharing: consents.score_sharing ?? null,
      },
      identity: {
        state: identityAt(worker.identity, now),
        verifiedUntil: worker.identity?.verifiedUntil ?? null,
      },
      openDisputes: facts.disputes.map(({ id }) => id),
      restricted: facts.disputes.some(({ restricted }) => restricted),
      scoreHiddenBy: hidingGates(worker, facts, now),
    }
  },
})

/** What `workers` does not know of its workers. */
interface Facts {
  disputes: readonly OpenDispute[]
  /** The ids of the workers with an active score. */
  scored: ReadonlySet<string>
}

async function factsOf(db: Queryable, workerIds: readonly string[]): Promise<Facts> {
  const [disputes, scored] = await Promise.all([
    findOpenDisputesOf(db, workerIds),
    findScored(db, workerIds),
  ])
  return { disputes, scored }
}

function hidingGates(worker: Worker, { disputes, scored }: Facts, now: Date): ScoreGate[] {
  const { workerId, consents } = worker
  const isGranted = (permission: Permission) => consents[permission]?.granted ?? false
  return hidingScore({
    onboarded: worker.onboardedAt !== null,
    snapshotActive: scored.has(workerId),
    consents: {
      public_profile: isGranted('public_profile'),
      search_listing: isGranted('search_listing'),
      score_sharing: isGranted('score_sharing'),
    },
    identityActive: identityAt(worker.identity, now) === 'verified',
    restricted: disputes.some((one) => one.workerId === workerId && one.restricted),
  })
}

function workerLines(worker: Static<typeof shownWorker>): string[] {
  const { workerId, externalId: own, onboardedAt: onboarded, missing, consents } = worker
  const { state, verifiedUntil } = worker.identity
  return [
    `${worker.username}: ${worker.displayName}`,
    ...renderFields({
      worker: own === null ? workerId : `${workerId} (${own})`,
      title: worker.title,
      since: worker.memberSince,
      skills: worker.skills.length,
      onboarded: onboarded ?? `no, missing: ${missing.join(', ')}`,
      identity: `${state}${verifiedUntil === null ? '' : ` until ${verifiedUntil}`}`,
      disputes: `${worker.openDisputes.length} open`,
      score: scoreText(worker),
      ...Object.fromEntries(permissions.map((one) => [one, consentText(consents[one])])),
    }),
  ]
}

function consentText(given: Static<typeof consentOrNull>): string {
  if (given === null) return 'none'
  return given.granted ? `granted, text ${given.textVersion}` : 'withdrawn'
}

const workersErase = change({
  name: 'workers erase',
  http: 'POST /workers/{username}/erase',
  summary: 'Erase a worker for ever',
  who: { operator: 'admin' },
  path: { username },
  input: { reason: Type.Enum([...erasureReasons], { description: erasureReasons.join(', ') }) },
  output: closedObject({
    workerId: Type.String(),
    credentialsErased: Type.Integer(),
    evidenceErased: Type.Integer(),
    reportsErased: Type.Integer(),
  }),
  refusals: ['worker_not_found'],
  example: { username: 'ada-lovelace', reason: 'worker_request' },
  audit: 'workers.erased',
  danger:
    'Everything that is stored about the worker is erased: every credential, score, item of evidence and report. The username is never given again.',
  renderLines: ({ credentialsErased, evidenceErased, reportsErased }, { username: of }) => [
    `${of} is erased: ${counted(evidenceErased, 'item')} of evidence and ${counted(reportsErased, 'report')} deleted, ${counted(credentialsErased, 'credential')} revoked and deleted.`,
    'Your backups still hold the worker: docs/privacy.md says what to do.',
  ],
  async run(tx, { username: of, reason }, { by, now }) {
    const erased = await eraseWorker(tx, of, { by, at: now })
    if (erased === null) return unknownWorker(of)
    const { workerId, ...counts } = erased
    return changed(erased, { subjects: [workerId], details: { reason, ...counts } })
  },
})

/** Only the command line has it: the document goes to a file. */
export const workersExport = change({
  name: 'workers export',
  http: 'POST /workers/{username}/export',
  summary: 'Write everything that is stored about a worker to a file',
  who: { operator: 'admin' },
  path: { username },
  output: Type.Object({ workerId: Type.String() }, { additionalProperties: true }),
  refusals: ['worker_not_found'],
  example: { username: 'ada-lovelace' },
  audit: 'workers.exported',
  async run(tx, { username: of }, { now }) {
    const exported = await exportWorker(tx, of, now)
    if (exported === null) return unknownWorker(of)
    return changed(exported, { subjects: [exported.workerId] })
  },
})

/** In the order of the help. `workers import` and `workers export` are written by hand. */
export const workerOperations = [workersList, workersShow, workersErase] as const
