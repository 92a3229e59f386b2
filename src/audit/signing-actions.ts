/** Pure: actions on the database, on signing keys and on credentials. */
import { Type } from 'typebox'
import { count, digest, facts, uuid } from './action-facts.ts'

const kid = Type.String({ pattern: '^z6Mk[1-9A-HJ-NP-Za-km-z]{44}$' })
const migration = Type.String({ pattern: '^[0-9]{4}_[a-z0-9_]+\\.sql$' })

export const signingActions = {
  'database.migrated': facts(
    'Migrations were applied; the subjects are their names.',
    { count },
    migration,
  ),
  'keys.created': facts(
    'A signing key was registered; an active one signs at once.',
    { state: Type.Enum(['pending', 'active']) },
    kid,
  ),
  'keys.rotated': facts(
    'A pending signing key became active, and the active one retired.',
    {
      active: kid,
      retired: Type.Union([kid, Type.Null()]),
      atOnce: Type.Boolean(),
    },
    kid,
  ),
  'keys.revoked': facts(
    'A signing key was revoked.',
    { credentials: Type.Enum(['revoked', 'kept']) },
    kid,
  ),
  'keys.credentials_revoked': facts('All credentials of a revoked key were revoked.', {}, kid),
  'credentials.issued': facts(
    'Credentials were issued, signed by the key in the subjects.',
    { count, firstId: uuid, lastId: uuid },
    kid,
  ),
  'credentials.reissued': facts(
    'Scores got new credentials, signed by the key in the subjects.',
    { count },
    kid,
  ),
  'credentials.revoked': facts(
    'Credentials were revoked; the subjects are their digests.',
    { count },
    digest,
  ),
} as const
