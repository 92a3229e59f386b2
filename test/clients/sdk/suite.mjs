/**
 * The suite of the packed SDK, with web APIs alone, so that it runs in Node 20, 22 and 24 and in a
 * browser. `stage.ts` serves what it needs.
 */

/** Returns the names of the passed tests. Throws with the name of the first one that fails. */
export async function runSuite(sdk, verifyCredential, base) {
  const input = await (await fetch(`${base}/input.json`)).json()
  const passed = []
  for (const [name, test] of Object.entries(tests)) {
    try {
      await test({ sdk, verifyCredential, base, input })
    } catch (error) {
      throw new Error(`${name}: ${error?.stack ?? error}`, { cause: error })
    }
    passed.push(name)
  }
  return passed
}

function equal(actual, expected, about = '') {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (a !== b) throw new Error(`${about}: ${a} instead of ${b}`)
}

function holds(condition, about) {
  if (!condition) throw new Error(about)
}

async function errorOf(call) {
  try {
    await call
  } catch (error) {
    return error
  }
  throw new Error('it must fail')
}

const tests = {
  async 'offline verdicts are those of the service'({ verifyCredential, input }) {
    for (const { text, keyDocument, statusLists, now, expected } of input.verdicts) {
      const verdict = await verifyCredential(text, {
        keyDocument: input.keyDocuments[keyDocument],
        statusLists: statusLists.map((name) => input.lists[name]),
        now: new Date(now),
      })
      const { valid, reason = null, issuerMatch, signatureValid, revocation } = verdict
      equal({ valid, reason, issuerMatch, signatureValid, revocation }, expected, text)
    }
    holds(input.verdicts.length > 500, 'over 500 verdicts')
  },

  async 'a credential of 1 MB, or nested 10,000 levels deep, gets a verdict'({
    sdk,
    verifyCredential,
    input,
  }) {
    const options = { keyDocument: input.keyDocuments.did, statusLists: [] }
    const deep = `{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`
    for (const text of [deep, `{"a":"${'a'.repeat(1_000_000)}"}`, '{"a":1,"a":2}', 'no JSON']) {
      const verdict = await verifyCredential(text, options)
      equal([verdict.valid, verdict.reason], [false, 'malformed_credential'], text.slice(0, 20))
      holds(sdk.explain(verdict).length > 20, 'a sentence')
    }
  },

  async 'one test key leads from a search to a verdict'({ sdk, base, input }) {
    const client = new sdk.Client({ baseUrl: base, apiKey: input.testKey, sandbox: true })
    const { candidates } = await client.candidates.search({ q: 'typescript', limit: 1 })
    const { username } = candidates[0]
    equal((await client.candidates.get(`@${username}`)).username, username)
    const answer = await client.candidates.credential(username).withResponse()
    holds(answer.requestId !== null && answer.rateLimits.length > 0, 'what came with the answer')
    const { reason } = await client.verify(answer.data)
    equal(reason, 'issuer_mismatch', 'no issuer has the sandbox')
    holds((await new sdk.Client({ baseUrl: base }).skills.list()).skills.length >= 100, 'skills')
  },

  async 'each error has its class and says what it was'({ sdk, base, input }) {
    const client = new sdk.Client({ baseUrl: base, apiKey: input.testKey })
    const wrong = new sdk.Client({ baseUrl: base, apiKey: `svc_live_${'a'.repeat(43)}` })
    for (const [call, Family, error, status] of [
      [wrong.candidates.get('ada'), sdk.AuthenticationError, 'invalid_api_key', 401],
      [client.candidates.search({ q: 'x' }), sdk.InvalidRequestError, 'invalid_parameter', 400],
      [client.candidates.get('no-such'), sdk.NotFoundError, 'candidate_not_found', 404],
    ]) {
      const fault = await errorOf(call)
      holds(fault instanceof Family, `${error}: ${String(fault)}`)
      equal([fault.error, fault.status], [error, status])
      holds(fault.docsUrl.endsWith(`/docs/errors/${error}`), fault.docsUrl)
      holds(fault.requestId !== null, 'a request id')
    }
  },

  async 'each fault of the network is a typed error in time, without the key'({
    sdk,
    base,
    input,
  }) {
    for (const [name, Family, error] of [
      ['no connection', sdk.ConnectionError, 'connection_failed'],
      ['503 in HTML', sdk.UnavailableError, 'unknown_error'],
      ['200 in HTML', sdk.ConnectionError, 'invalid_answer'],
      ['500 of 10 MB', sdk.UnavailableError, 'unknown_error'],
      ['half of the body', sdk.ConnectionError, null],
      ['too long a Content-Length', sdk.ConnectionError, null],
      ['too short a Content-Length', sdk.ConnectionError, null],
      ['an answer that never comes', sdk.TimeoutError, 'timeout'],
      ['redirect', sdk.AssayError, 'redirect_refused'],
      ['echo', sdk.InvalidRequestError, 'bad_request'],
    ]) {
      const baseUrl = `${base}/fault/${encodeURIComponent(name)}`
      const options = { baseUrl, apiKey: input.testKey, timeoutMs: 1_500, maxRetries: 0 }
      const startedAt = performance.now()
      const fault = await errorOf(new sdk.Client(options).candidates.search({ q: 'ada' }))
      holds(performance.now() - startedAt < 10_000, `${name} ends in time`)
      holds(fault instanceof Family, `${name}: ${String(fault)}`)
      if (error !== null) equal(fault.error, error, name)
      const said = `${fault.stack} ${JSON.stringify(fault)} ${fault.message} ${fault.cause}`
      holds(!said.includes(input.testKey), `${name} tells the key`)
    }
    const { redirected } = await (await fetch(`${base}/seen.json`)).json()
    equal(redirected, 0, 'requests that followed a redirect')
  },

  async 'the attempts of a call have one Idempotency-Key, and another call another'({
    sdk,
    base,
    input,
  }) {
    const baseUrl = `${base}/fault/twice`
    const client = new sdk.Client({ baseUrl, apiKey: input.testKey })
    await client.candidates.search({ q: 'ada' })
    await client.candidates.search({ q: 'ada' })
    const { keys } = await (await fetch(`${base}/seen.json`)).json()
    equal(keys.length, 4, 'attempts')
    holds(keys[0] === keys[1] && keys[2] === keys[3] && keys[0] !== keys[2], 'the keys of calls')
  },

  async 'a caller ends a call with its own reason'({ sdk, base }) {
    const ending = new AbortController()
    const baseUrl = `${base}/fault/an%20answer%20that%20never%20comes`
    const call = new sdk.Client({ baseUrl }).skills.list({ signal: ending.signal })
    setTimeout(() => ending.abort(new Error('no longer needed')), 50)
    equal((await errorOf(call)).message, 'no longer needed')
  },

  async 'a challenge within the limits is paid, and any other is refused first'({ sdk, base }) {
    let asked = 0
    const limits = {
      maxAmount: 10_000n,
      networks: ['base-sepolia'],
      assets: [`0x${'2'.repeat(40)}`],
    }
    for (const [over, isPaid] of [
      [{}, true],
      [{ maxAmount: 9_999n }, false],
      [{ networks: ['base'] }, false],
      [{ assets: [`0x${'3'.repeat(40)}`] }, false],
    ]) {
      asked = 0
      const header = async () => `payment ${++asked}`
      const pay = { ...limits, ...over, header }
      const call = new sdk.Client({ baseUrl: `${base}/fault/challenge`, pay }).scores.get('abc')
      if (isPaid) equal(await call, { paid: 'payment 1' })
      else holds((await errorOf(call)) instanceof sdk.PaymentRefusedError, 'it is refused')
      equal(asked, isPaid ? 1 : 0, 'signatures')
    }
  },

  async 'webhooks: the published vectors, and a test signature of our own'({ sdk, input }) {
    for (const { name, body, header, secret, nowSeconds, valid } of input.signatures) {
      const headers = new Headers({ 'Service-Webhook-Signature': header })
      const now = new Date(nowSeconds * 1_000)
      equal(await sdk.verifyWebhook(body, headers, secret, { now }), valid, name)
    }
    const headers = await sdk.signTestWebhook('{}', 'whsec_x')
    equal(await sdk.verifyWebhook(new TextEncoder().encode('{}'), headers, 'whsec_x'), true)
    equal(await sdk.verifyWebhook('{}', headers, 'whsec_y'), false)
  },

  async 'the feed comes in order, and nothing is read ahead of the caller'({ sdk, base, input }) {
    const client = new sdk.Client({ baseUrl: `${base}/fault/feed`, apiKey: input.testKey })
    const positions = []
    for await (const { event, next } of client.webhooks.listen({ after: '0', pollMs: 1 })) {
      positions.push(event.position)
      const { feedReads } = await (await fetch(`${base}/seen.json`)).json()
      holds(feedReads <= Math.ceil(positions.length / 2) + 1, `${feedReads} pages were read`)
      if (positions.length === 6) {
        equal(next, '6')
        break
      }
    }
    equal(positions, [1, 2, 3, 4, 5, 6])
  },
}

export const names = Object.keys(tests)
