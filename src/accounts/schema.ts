/** Wire shapes of the session list. Its routes are extensions of the specification. */
import { Type } from 'typebox'
import { roles } from '../platform/http/callers.ts'
import { schemaVersion } from '../platform/http/identifiers.ts'

const closed = { additionalProperties: false }
const uuid = Type.String({ format: 'uuid' })
const time = Type.String({ format: 'date-time' })

const session = Type.Object(
  {
    id: uuid,
    current: Type.Boolean({ description: 'Whether this session made the request.' }),
    browser: Type.String({ description: 'Such as `Firefox on Linux`.' }),
    network: Type.String({
      description: 'The network of the sign-in, with the last bits of the address cut off.',
    }),
    createdAt: time,
    lastSeenAt: Type.String({ format: 'date-time', description: 'Up to two minutes behind.' }),
    endsAt: Type.String({
      format: 'date-time',
      description: 'The session ends then at the latest, and earlier if it is not used.',
    }),
  },
  { ...closed, title: 'Session' },
)

const role = Type.Enum([...roles], {
  type: 'string',
  description: 'must be owner or member. Owners manage members, API keys and credits.',
})

export const memberList = Type.Object(
  {
    schemaVersion: Type.Literal(schemaVersion('members')),
    members: Type.Array(
      Type.Object(
        {
          userId: uuid,
          email: Type.String(),
          name: Type.Union([Type.String(), Type.Null()]),
          role,
          joinedAt: time,
        },
        { ...closed, title: 'Member' },
      ),
    ),
  },
  { ...closed, title: 'MemberList' },
)

export const memberInvitation = Type.Object(
  {
    email: Type.String({ maxLength: 254, description: 'must be a mail address' }),
    role,
  },
  { ...closed, title: 'MemberInvitation' },
)

export const memberInvited = Type.Object(
  {
    schemaVersion: Type.Literal(schemaVersion('member_invited')),
    email: Type.String({ description: 'In lower case.' }),
    mailed: Type.Boolean({
      description: 'Whether the user receives a mail. If not, tell the user to open /sign-in.',
    }),
  },
  { ...closed, title: 'MemberInvited' },
)

export const memberRemoved = Type.Object(
  { schemaVersion: Type.Literal(schemaVersion('member_removed')), userId: uuid },
  { ...closed, title: 'MemberRemoved' },
)

export const memberIdPath = Type.Object({
  userId: Type.String({
    pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
    description: 'A UUID in lower case.',
  }),
})

export const sessionIdPath = Type.Object({
  sessionId: Type.String({
    pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
    description: 'A UUID in lower case.',
  }),
})

export const sessionList = Type.Object(
  { schemaVersion: Type.Literal(schemaVersion('sessions')), sessions: Type.Array(session) },
  { ...closed, title: 'SessionList' },
)

export const sessionsEnded = Type.Object(
  {
    schemaVersion: Type.Literal(schemaVersion('sessions_ended')),
    ended: Type.Integer({ minimum: 0, description: 'How many sessions this request has ended.' }),
  },
  { ...closed, title: 'SessionsEnded' },
)
