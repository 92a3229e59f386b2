/** The one call that the command line makes to the outside: a POST to the address it was given. Follows no redirect. */
import { openEgress } from '../platform/egress/client.ts'
import { operatorRules } from '../platform/egress/rules.ts'

export interface PostAnswer {
  status: number
  body: Buffer
}

const answerBytesMax = 1_048_576

/** Throws where there is no answer in 15 seconds, or one above 1 MiB. */
export async function postJson(url: URL, body: Uint8Array): Promise<PostAnswer> {
  const egress = openEgress({ rules: operatorRules })
  try {
    const answer = await egress.send({
      method: 'POST',
      url: url.href,
      headers: { 'content-type': 'application/json' },
      body,
      answerBytesMax,
    })
    if (answer.outcome === 'failed') throw answer.error
    if (answer.isCut) throw new Error('the answer is larger than 1 MiB')
    return answer
  } finally {
    await egress.close()
  }
}
