/** The one call that the command line makes to the outside: a POST to the address it was given. Follows no redirect. */
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'

export interface PostAnswer {
  status: number
  body: Buffer
}

const deadlineMs = 15_000
const answerBytesMax = 1_048_576

/** Throws where there is no answer in 15 seconds, or one above 1 MiB. */
export function postJson(url: URL, body: Uint8Array): Promise<PostAnswer> {
  const request = url.protocol === 'https:' ? requestHttps : requestHttp
  return new Promise((resolve, reject) => {
    const call = request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': body.length },
      signal: AbortSignal.timeout(deadlineMs),
    })
    call.once('error', reject)
    call.once('response', (response) => {
      const parts: Buffer[] = []
      let bytes = 0
      response.on('data', (part: Buffer) => {
        bytes += part.length
        if (bytes > answerBytesMax) call.destroy(new Error('the answer is larger than 1 MiB'))
        parts.push(part)
      })
      response.once('error', reject)
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(parts) }),
      )
    })
    call.end(body)
  })
}
