/** Wire shapes of the request log. Its route is an extension of the specification. */
import { Type } from 'typebox'
import {
  schemaVersionField,
  text,
  textOrNull,
  total,
  uuidParameter,
} from '../platform/http/fields.ts'
import { limitParameter } from '../platform/http/page.ts'

const closed = { additionalProperties: false }

export const requestLogQuery = Type.Object({
  from: Type.Optional(
    Type.String({
      maxLength: 40,
      description: 'Begin of the time, such as 2026-05-14T09:00:00Z; included.',
      published: { type: 'string', format: 'date-time' },
    }),
  ),
  to: Type.Optional(
    Type.String({
      maxLength: 40,
      description: 'End of the time; excluded.',
      published: { type: 'string', format: 'date-time' },
    }),
  ),
  key: Type.Optional(uuidParameter('Id of an API key.')),
  operation: Type.Optional(
    Type.String({ pattern: '^[A-Za-z]{1,64}$', description: 'Operation id, such as getScore.' }),
  ),
  status: Type.Optional(
    Type.String({
      pattern: '^[1-5](xx|[0-9]{2})$',
      description: 'A status such as 404, or a class such as 4xx.',
    }),
  ),
  error: Type.Optional(
    Type.String({ pattern: '^[a-z_0-9]{1,64}$', description: 'Value of `error`.' }),
  ),
  limit: limitParameter,
  cursor: Type.Optional(
    Type.String({
      pattern: '^[1-9][0-9]{0,14}$',
      description: 'From the Link header with rel="next" of the page before.',
    }),
  ),
})

export const requestLog = Type.Object(
  {
    schemaVersion: schemaVersionField('request_log'),
    requests: Type.Array(
      Type.Object(
        {
          requestId: text(64, 'X-Request-Id of the response.'),
          at: Type.String({ format: 'date-time', description: 'When the request began.' }),
          apiKeyId: textOrNull(36, 'Id of the key that made the call. Null if a session made it.'),
          operation: text(64, 'Operation id of the call.'),
          status: Type.Integer({
            minimum: 100,
            maximum: 599,
            description: '499: the caller left before the response.',
          }),
          error: textOrNull(64, 'Value of `error` in the response. Null without an error.'),
          creditsCharged: total('Credits that the call cost.'),
          durationMs: Type.Number({
            minimum: 0,
            description: 'Milliseconds from the request to the response.',
          }),
          network: text(64, 'The /24 or /48 of the client.'),
        },
        { ...closed, title: 'LoggedRequest', description: 'One call, without its bodies.' },
      ),
      { description: 'The newest call comes first.' },
    ),
  },
  { ...closed, title: 'RequestLog' },
)
