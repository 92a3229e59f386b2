/** The tools: what an agent reads about each, and the call of the service behind it. */
import type { Client, ProofForm, ReportAgentDecisionRequest, Skill } from '../../sdk/src/index.ts'
import type { Service } from './service.ts'

export interface Tool {
  name: string
  title: string
  description: string
  /** JSON Schema of the arguments, which are checked before the call. */
  inputSchema: ObjectSchema
  /** JSON Schema of `result` in the answer, which is checked before it leaves. */
  resultSchema: object
  /** Writes something. Every other tool only reads. */
  writes?: true
  /** The result can have text of a candidate, or of a document that a stranger sent. */
  hasCandidateText?: true
  call(service: Service, args: Arguments): Promise<unknown>
}

export interface ObjectSchema {
  type: 'object'
  properties: Record<string, object>
  required: string[]
  additionalProperties: boolean
}

/** The arguments of all tools. `inputSchema` says which a tool takes. */
export interface Arguments {
  q?: string
  limit?: number
  username?: string
  scoreId?: string
  proof?: ProofForm
  id?: string
  credential?: Record<string, unknown> | string
  idempotencyKey?: string
}

const username = {
  type: 'string',
  pattern: '^@?[a-z0-9][a-z0-9_-]{1,28}[a-z0-9]$',
  description: 'The username of a candidate, for example ada-lovelace.',
}
const scoreId = {
  type: 'string',
  pattern: '^[0-9a-fA-F]{64}$',
  description: 'The id of a score: 64 hexadecimal characters.',
}
const text = (maxLength: number): object => ({ type: 'string', maxLength })
const anyObject = { type: 'object', additionalProperties: true }

/** An object with exactly these properties. All are required unless `optional` names them. */
function closed(
  properties: Record<string, object>,
  optional: readonly string[] = [],
): ObjectSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name))
  return { type: 'object', properties, required, additionalProperties: false }
}

/** An object with at least these properties: the service can add some. */
function open(properties: Record<string, object>): ObjectSchema {
  return { ...closed(properties), additionalProperties: true }
}

const skillLine = closed({
  id: { type: 'string', description: 'For example hss:typescript.' },
  label: { type: 'string' },
  domain: { type: 'string' },
})
const credits = { type: 'integer', minimum: 0 }

export const tools: readonly Tool[] = [
  {
    name: 'search_candidates',
    title: 'Search candidates',
    description:
      'Finds public candidates by the beginning of a skill, username, display name or title. Costs credits, also without a result.',
    inputSchema: closed(
      {
        q: { type: 'string', minLength: 2, maxLength: 80, description: 'The words to search for.' },
        limit: { type: 'integer', minimum: 1, maximum: 50, description: 'Without it: 18.' },
      },
      ['limit'],
    ),
    resultSchema: open({ candidates: { type: 'array', items: anyObject } }),
    hasCandidateText: true,
    call: async (service, { q = '', limit }) => {
      const search = ({ candidates }: Client) => candidates.search({ q, limit })
      return (await service.paid('candidate_search', search)).data
    },
  },
  {
    name: 'get_candidate',
    title: 'Read a candidate',
    description:
      'Returns one public candidate with skills and score, and the id of the score for get_score. Costs credits.',
    inputSchema: closed({ username }),
    resultSchema: open({
      username: { type: 'string' },
      scoreId: {
        anyOf: [{ type: 'string' }, { type: 'null' }],
        description: 'The id of the public score. Null if there is none.',
      },
    }),
    hasCandidateText: true,
    call: async (service, args) => {
      const { data, headers } = await service.paid('candidate_lookup', ({ candidates }) =>
        candidates.get(args.username ?? ''),
      )
      return { ...data, scoreId: scoreIdOf(headers) }
    },
  },
  {
    name: 'get_score',
    title: 'Read a score',
    description: 'Returns one public score with its range, band and engine. Costs credits.',
    inputSchema: closed({ scoreId }),
    resultSchema: open({ id: { type: 'string' }, score: { type: 'integer' } }),
    hasCandidateText: true,
    call: async (service, args) => {
      const read = ({ scores }: Client) => scores.get(args.scoreId ?? '')
      return (await service.paid('score_lookup', read)).data
    },
  },
  {
    name: 'get_credential',
    title: 'Read a score credential',
    description:
      'Returns the signed credential of a public score, by the username of the candidate or by the id of the score: give one of them. Costs credits.',
    inputSchema: closed(
      {
        username,
        scoreId,
        proof: {
          enum: ['native', 'eddsa-jcs-2022', 'eddsa-rdfc-2022'],
          description: 'The form of the proof. Without it: native.',
        },
      },
      ['username', 'scoreId', 'proof'],
    ),
    resultSchema: open({ proof: anyObject, credentialSubject: anyObject }),
    hasCandidateText: true,
    call: async (service, { username, scoreId, proof }) => {
      if ((username === undefined) === (scoreId === undefined))
        throw new WrongArguments('Give either username or scoreId.')
      const { data } = await service.paid('score_lookup', ({ candidates, scores }) =>
        scoreId === undefined
          ? candidates.credential(username ?? '', { proof })
          : scores.credential(scoreId, { proof }),
      )
      return data
    },
  },
  {
    name: 'verify_credential',
    title: 'Verify a score credential',
    description:
      'Checks issuer, signature, revocation and validity of a credential, and gives the reason if it fails. Free, without a key. Pass the credential exactly as issued: as an object, or as its JSON text, which is also checked for ambiguity.',
    inputSchema: closed({
      credential: { anyOf: [anyObject, { type: 'string', maxLength: 262_144 }] },
    }),
    resultSchema: open({ valid: { type: 'boolean' }, message: { type: 'string' } }),
    hasCandidateText: true,
    call: (service, { credential = {} }) => service.open.verify(credential),
  },
  {
    name: 'lookup_skill',
    title: 'Look up a skill',
    description:
      'Returns the record of one skill: definition, rubric, evidence and its weights. Free, without a key.',
    inputSchema: closed({
      id: {
        type: 'string',
        pattern: '^(hss:)?[a-z0-9]+(-[a-z0-9]+)*$',
        maxLength: 70,
        description: 'An id or slug, for example hss:typescript or typescript.',
      },
    }),
    resultSchema: open({ id: { type: 'string' }, label: { type: 'string' } }),
    call: (service, { id = '' }) => service.open.skills.get(id),
  },
  {
    name: 'list_skills',
    title: 'List skills',
    description:
      'Lists the skills of the standard whose label, alias or id contains a text, or all of them. Free, without a key.',
    inputSchema: closed({ q: { ...text(80), description: 'A part of a label, alias or id.' } }, [
      'q',
    ]),
    resultSchema: closed({ skills: { type: 'array', items: skillLine } }),
    call: async (service, { q = '' }) => ({ skills: await skillLines(service, q) }),
  },
  {
    name: 'report_decision',
    title: 'Report a decision',
    description:
      'Reports the decision that an agent or its user made about a candidate or a score. Private to the account. Costs no credits. A repeat with the same idempotencyKey and content creates nothing new.',
    inputSchema: closed(
      {
        subject: {
          oneOf: [
            closed({ kind: { const: 'candidate' }, username }),
            closed({ kind: { const: 'score' }, scoreId }),
          ],
        },
        decision: {
          enum: [
            'shortlisted',
            'rejected',
            'contacted',
            'interview_requested',
            'offer_extended',
            'hired',
            'no_action',
          ],
        },
        outcome: { enum: ['pending', 'positive', 'negative', 'neutral', 'unknown'] },
        agentName: text(80),
        agentVersion: text(80),
        jobRef: text(120),
        reasonCodes: {
          type: 'array',
          maxItems: 10,
          uniqueItems: true,
          items: { type: 'string', pattern: '^[a-z0-9_.:-]{1,64}$' },
        },
        notes: text(1_000),
        metadata: anyObject,
        idempotencyKey: {
          type: 'string',
          pattern: '^[A-Za-z0-9._~:-]{16,128}$',
          description: 'Names this report. Reuse it if you repeat the call.',
        },
      },
      [
        'outcome',
        'agentName',
        'agentVersion',
        'jobRef',
        'reasonCodes',
        'notes',
        'metadata',
        'idempotencyKey',
      ],
    ),
    resultSchema: open({ report: anyObject, replayed: { type: 'boolean' } }),
    writes: true,
    call: (service, { idempotencyKey, ...report }) =>
      service.client.agentDecisions.report(
        report as ReportAgentDecisionRequest,
        idempotencyKey === undefined ? {} : { idempotencyKey },
      ),
  },
  {
    name: 'credit_balance',
    title: 'Credits',
    description:
      'Says how many credits this server has spent, how many it may still spend, and how many the account had after the last paid call (null before one). Free.',
    inputSchema: closed({}),
    resultSchema: closed({
      spent: credits,
      limit: credits,
      left: credits,
      account: { anyOf: [credits, { type: 'null' }] },
    }),
    call: async ({ budget }) => ({
      spent: budget?.spent ?? 0,
      limit: budget?.maxCredits ?? 0,
      left: budget?.left ?? 0,
      account: budget?.accountCredits ?? null,
    }),
  },
]

/** Returns the id in the link to the score, which the answer on a candidate has. */
function scoreIdOf(headers: Headers): string | null {
  return /\/scores\/([0-9a-f]{64})>; rel="related"/.exec(headers.get('link') ?? '')?.[1] ?? null
}

/** The caller can mend it. */
class WrongArguments extends Error {
  override readonly name = 'WrongArguments'
}

export async function skillLines(
  service: Service,
  part = '',
): Promise<Pick<Skill, 'id' | 'label' | 'domain'>[]> {
  const { skills } = await service.open.skills.list()
  const sought = part.trim().toLowerCase()
  return skills
    .filter(({ id, label, aliases }) =>
      [id, label, ...aliases].some((name) => name.toLowerCase().includes(sought)),
    )
    .map(({ id, label, domain }) => ({ id, label, domain }))
}
