/** Wire shape of a sandbox score (decision D50). */
import { Type } from 'typebox'
import { publicScore, scoreCredential } from '../candidates/schema.ts'
import { schemaVersion } from '../platform/http/identifiers.ts'

const closed = { additionalProperties: false }
const urlOrNull = Type.Union([Type.String({ format: 'uri' }), Type.Null()])

export const sandboxScore = Type.Object(
  {
    schemaVersion: Type.Literal(schemaVersion('sandbox_score')),
    score: publicScore,
    credential: Type.Union([
      Type.Object(
        {
          form: Type.Literal('native', { description: 'The form of the proof.' }),
          document: scoreCredential,
        },
        { title: 'SandboxCredential', ...closed },
      ),
      Type.Null(),
    ]),
    statusUrl: urlOrNull,
    statusListUrl: urlOrNull,
  },
  { title: 'SandboxScore', ...closed },
)
