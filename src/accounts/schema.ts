/** Wire shapes of the session list. Its routes are extensions of the specification. */
import { Type } from 'typebox'
import { roles } from '../platform/http/callers.ts'
import {
  dateTime,
  schemaVersionField,
  text,
  textOrNull,
  uuidParameter,
} from '../platform/http/fields.ts'

const closed = { additionalProperties: false }
const emailLengthMax = 254
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

const role = Type.Enum([...roles], {
  type: 'string',
  description: 'must be owner or member. Owners manage members, API keys and credits.',
})

export const memberList = Type.Object(
  {
    schemaVersion: schemaVersionField('members'),
    members: Type.Array(
      Type.Object(
        {
          userId: uuid('Names the user in paths.'),
          email: text(emailLengthMax, 'The mail address, in lower case.'),
          name: textOrNull(120, 'The name from the sign-in provider. Null if it gave none.'),
          role,
          joinedAt: dateTime('When the user became a member.'),
        },
        { ...closed, title: 'Member', description: 'A user of the account.' },
      ),
      { description: 'The members of the account.' },
    ),
  },
  { ...closed, title: 'MemberList' },
)

export const memberInvitation = Type.Object(
  {
    email: Type.String({ maxLength: emailLengthMax, description: 'must be a mail address' }),
    role,
  },
  { ...closed, title: 'MemberInvitation' },
)

export const memberInvited = Type.Object(
  {
    schemaVersion: schemaVersionField('member_invited'),
    email: text(emailLengthMax, 'The mail address, in lower case.'),
    mailed: Type.Boolean({
      description: 'Whether the user receives a mail. If not, tell the user to open /sign-in.',
    }),
  },
  { ...closed, title: 'MemberInvited' },
)

export const memberRemoved = Type.Object(
  {
    schemaVersion: schemaVersionField('member_removed'),
    userId: uuid('The user who is no longer a member.'),
  },
  { ...closed, title: 'MemberRemoved' },
)

export const memberIdPath = Type.Object({
  userId: uuidParameter('A UUID.'),
})

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
