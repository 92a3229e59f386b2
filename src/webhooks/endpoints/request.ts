/** Pure: a request to create an endpoint: checked, brought to its one form, and told apart from others by a fingerprint (decision D40). */
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { sha256 } from '../../platform/crypto/bytes.ts'
import { type EgressRules, vetUrl } from '../../platform/egress/rules.ts'
import { canonicalJson } from '../../platform/json/canonical-json.ts'
import { parseBody } from '../../platform/json/shape-fault.ts'
import { eventTypeNames } from '../events/event-types.ts'
import { closed } from '../events/fields.ts'
import { createRequest, type EndpointRequest, urlForm, urlLengthMax } from './schema.ts'

/** The contract's, but for the form of the URL: that is for the rules of this deployment to say. */
const request = Type.Object(
  {
    ...createRequest.properties,
    url: Type.String({ maxLength: urlLengthMax, description: urlForm }),
  },
  closed,
)
const shape = Compile(request)
const uri = Compile(Type.String({ format: 'uri', maxLength: urlLengthMax }))

/**
 * The request, or what is wrong with the body in words for whoever sent it. Callers never get an http URL (spec §2.2), whatever `rules`
 * allow for deliveries; `allowHttp` is for the operator's own endpoints.
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
  // The one form may be longer. What is none is not made one (decision D8).
  if (!uri.Check(url) || !uri.Check(href))
    return { fault: `url must be a URI of at most ${urlLengthMax} characters.` }
  const eventTypes = eventTypeNames.filter((name) => events.includes(name))
  return { request: { url: href, eventTypes, description: description ?? null } }
}

/** Equal for requests that ask for the same, whatever their order and white space. 32 bytes. */
export function requestFingerprint({ url, eventTypes, description }: EndpointRequest): Buffer {
  return sha256(canonicalJson({ url, events: [...eventTypes].sort(), description }))
}
