/** Pure: actions on the database, on signing keys and on credentials. */
import { Type } from 'typebox'
import { closedObject } from '../platform/json/closed-object.ts'
import { count, digest, facts, uuid } from './action-facts.ts'

const kid = Type.String({ pattern: '^z6Mk[1-9A-HJ-NP-Za-km-z]{44}$' })
const migration = Type.String({ pattern: '^[0-9]{4}_[a-z0-9_]+\\.sql$' })

export const signingActions = {
  'database.migrated': facts({
    meaning: 'Migrations were applied; the subjects are their names.',
    subject: migration,
    details: closedObject({ count }),
  }),
  'keys.created': facts({
    meaning: 'A signing key was registered; an active one signs at once.',
    subject: kid,
    details: closedObject({ state: Type.Enum(['pending', 'active']) }),
  }),
  'keys.rotated': facts({
    meaning: 'A pending signing key became active, and the active one retired.',
    subject: kid,
    details: closedObject({
      active: kid,
      retired: Type.Union([kid, Type.Null()]),
      atOnce: Type.Boolean(),
    }),
  }),
  'keys.revoked': facts({
    meaning: 'A signing key was revoked.',
    subject: kid,
    details: closedObject({ credentials: Type.Enum(['revoked', 'kept']) }),
  }),
  'keys.credentials_revoked': facts({
    meaning: 'All credentials of a revoked key were revoked.',
    subject: kid,
    details: closedObject({}),
  }),
  'credentials.issued': facts({
    meaning: 'Credentials were issued, signed by the key in the subjects.',
    subject: kid,
    details: closedObject({ count, firstId: uuid, lastId: uuid }),
  }),
  'credentials.reissued': facts({
    meaning: 'Scores got new credentials, signed by the key in the subjects.',
    subject: kid,
    details: closedObject({ count }),
  }),
  'credentials.revoked': facts({
    meaning: 'Credentials were revoked; the subjects are their digests.',
    subject: digest,
    details: closedObject({ count }),
  }),
} as const
