/** Pure: checks and normalises a request to create an endpoint (decision D40). */
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { sha256 } from '../../platform/crypto/bytes.ts'
import { type EgressRules, vetUrl } from '../../platform/egress/rules.ts'
import { canonicalJson } from '../../platform/json/canonical-json.ts'
import { closedObject } from '../../platform/json/closed-object.ts'
import { parseBody } from '../../platform/json/shape-fault.ts'
import { eventTypeNames } from '../events/event-types.ts'
import { createRequest, type EndpointRequest, urlForm, urlLengthMax } from './schema.ts'

/** The shape of the contract, except for the URL, which the rules of the deployment check. */
const request = closedObject({
  ...createRequest.properties,
  url: Type.String({ maxLength: urlLengthMax, description: urlForm }),
})
const shape = Compile(request)
const uri = Compile(Type.String({ format: 'uri', maxLength: urlLengthMax }))

/**
 * Returns the request, or its fault in words for the caller. Callers may not use an http URL, even
 * if `rules` allow http for deliveries; `allowHttp` is for endpoints of the operator.
 */
export function readEndpointRequest(
  body: unknown,
  rules: EgressRules,
  { allowHttp = false }: { allowHttp?: boolean } = {},
): { request: EndpointRequest } | { fault: string } {
  const read = parseBody(shape, body)
  if ('fault' in read) return read
  const { url, events, description } = read.body
  const vetted = vetUrl(url, { ...rules, allowHttp })
  if ('fault' in vetted) return { fault: `url ${vetted.fault}.` }
  const { href } = vetted.url
  // The normalised URL may be longer. A text that is no URI is not repaired (decision D8).
  if (!uri.Check(url) || !uri.Check(href))
    return { fault: `url must be a URI of at most ${urlLengthMax} characters.` }
  const eventTypes = eventTypeNames.filter((name) => events.includes(name))
  return { request: { url: href, eventTypes, description: description ?? null } }
}

/** Returns 32 bytes that are equal for equivalent requests. Order and white space do not matter. */
export function requestFingerprint({ url, eventTypes, description }: EndpointRequest): Buffer {
  return sha256(canonicalJson({ url, events: [...eventTypes].sort(), description }))
}
