/** Wire shapes of the audit log of an account. Its route is an extension of the specification. */
import { Type } from 'typebox'
import { dateTime, schemaVersionField, text } from '../platform/http/fields.ts'
import { limitParameter } from '../platform/http/page.ts'

const closed = { additionalProperties: false }

export const accountAuditQuery = Type.Object({
  limit: limitParameter,
  cursor: Type.Optional(
    Type.String({
      pattern: '^[1-9][0-9]{0,14}$',
      description: 'From the Link header with rel="next" of the page before.',
    }),
  ),
})

const actor = Type.Object(
  {
    kind: Type.Enum(['user', 'api_key', 'operator', 'service', 'invited'], {
      type: 'string',
      description:
        '`user`: a signed-in user. `api_key`: a call with an API key of the account. `operator`: an operator of this deployment. `service`: the service itself. `invited`: an invited person without a session.',
    }),
    userId: Type.Union([Type.String({ format: 'uuid' }), Type.Null()], {
      description: 'The id of the user. Null if the actor is not a user.',
    }),
    apiKeyId: Type.Union([Type.String({ format: 'uuid' }), Type.Null()], {
      description: 'The id of the API key. Null if the actor is not an API key.',
    }),
  },
  { ...closed, title: 'AuditActor', description: 'The actor of the change.' },
)

export const accountAudit = Type.Object(
  {
    schemaVersion: schemaVersionField('account_audit'),
    entries: Type.Array(
      Type.Object(
        {
          at: dateTime('When the change was made.'),
          actor,
          action: text(64, 'The kind of the change, such as `api_keys.rotated`.'),
          subjects: Type.Array(Type.String({ maxLength: 128 }), {
            maxItems: 256,
            description: 'Ids of the changed things of this account, such as an API key.',
          }),
          details: Type.Object(
            {},
            { additionalProperties: true, description: 'Ids, counts and words; never a secret.' },
          ),
        },
        { ...closed, title: 'AuditEntry', description: 'One change of the account.' },
      ),
      { maxItems: 100, description: 'The newest entry comes first.' },
    ),
  },
  { ...closed, title: 'AccountAudit' },
)
