/** Pure: the origin of the sandbox of one deployment. */
import { type Origin, originOf } from '../../credentials/payload.ts'
import { sandboxListPath, sandboxStatusPath } from './schema.ts'

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
