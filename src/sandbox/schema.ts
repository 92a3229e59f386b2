/** Wire shape of a sandbox score (decision D50), and the addresses in sandbox credentials. */
import { Type } from 'typebox'
import { publicScore, scoreCredential } from '../candidates/schema.ts'
import { schemaVersion } from '../platform/http/identifiers.ts'
import { statusListPath, statusPath } from '../score-credentials/schema.ts'

export const sandboxStatusPath = `/sandbox${statusPath}`
export const sandboxListPath = `/sandbox${statusListPath}`

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
