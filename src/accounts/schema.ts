/** Wire shapes of the session list. Its routes are extensions of the specification. */
import { Type } from 'typebox'
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
