/** Wire shape of a sandbox score (decision D50), and the addresses in sandbox credentials. */
import { Type } from 'typebox'
import { type Origin, originOf } from '../../credentials/payload.ts'
import { statusListPath, statusPath } from '../../credentials/schema.ts'
import { schemaVersionField, urlLengthMax } from '../../edge/http/fields.ts'
import { closedObject } from '../../platform/json/closed-object.ts'
import { publicScore, scoreCredential } from '../../workers/candidates/schema.ts'

export const sandboxStatusPath = `/sandbox${statusPath}`
export const sandboxListPath = `/sandbox${statusListPath}`

const urlOrNull = (description: string) =>
  Type.Union([Type.String({ format: 'uri', maxLength: urlLengthMax }), Type.Null()], {
    description,
  })

export const sandboxScore = closedObject(
  {
    schemaVersion: schemaVersionField('sandbox_score'),
    score: publicScore,
    credential: Type.Union(
      [
        closedObject(
          {
            form: Type.Literal('native', { description: 'The form of the proof.' }),
            document: scoreCredential,
          },
          { title: 'SandboxCredential', description: 'A credential of the sandbox.' },
        ),
        Type.Null(),
      ],
      { description: 'The credential of the score. Null if it has none.' },
    ),
    statusUrl: urlOrNull('The URL that says whether the credential is revoked. Null without one.'),
    statusListUrl: urlOrNull(
      'The URL of the signed list of revocations that covers the credential. Null without one.',
    ),
  },
  { title: 'SandboxScore' },
)

/**
 * The issuer is a reserved domain (RFC 2606). The status and the status list have addresses of the
 * deployment, so they answer.
 */
export function sandboxOriginOf(publicUrl: string): Origin {
  const { origin } = new URL(publicUrl)
  return {
    ...originOf('https://sandbox.invalid'),
    statusUrlPrefix: `${origin}${sandboxStatusPath}`,
    statusListUrlPrefix: `${origin}${sandboxListPath}`,
  }
}
