/** Wire shapes of the session list. Its routes are extensions of the specification. */
import { Type } from 'typebox'
import { dateTime, schemaVersionField, text, uuidParameter } from '../platform/http/fields.ts'

const closed = { additionalProperties: false }
const uuid = (description: string) => Type.String({ format: 'uuid', description })

const session = Type.Object(
  {
    id: uuid('Names the session in paths.'),
    current: Type.Boolean({ description: 'Whether this session made the request.' }),
    browser: text(80, 'Such as `Firefox on Linux`.'),
    network: text(64, 'The network of the sign-in, with the last bits of the address cut off.'),
    createdAt: dateTime('When the user signed in.'),
    lastSeenAt: Type.String({ format: 'date-time', description: 'Up to two minutes behind.' }),
    endsAt: Type.String({
      format: 'date-time',
      description: 'The session ends then at the latest, and earlier if it is not used.',
    }),
  },
  { ...closed, title: 'Session', description: 'A browser in which the user is signed in.' },
)

export const sessionIdPath = Type.Object({
  sessionId: uuidParameter('A UUID.'),
})

export const sessionList = Type.Object(
  {
    schemaVersion: schemaVersionField('sessions'),
    sessions: Type.Array(session, { description: 'The sessions of the user.' }),
  },
  { ...closed, title: 'SessionList' },
)

export const sessionsEnded = Type.Object(
  {
    schemaVersion: schemaVersionField('sessions_ended'),
    ended: Type.Integer({ minimum: 0, description: 'How many sessions this request has ended.' }),
  },
  { ...closed, title: 'SessionsEnded' },
)
