/** The endpoints of the public keys: the active key, and the issuer as a DID document. */
import { Type } from 'typebox'
import { commonResponses } from '../platform/http/contract.ts'
import { type PublicDocument, publicDocument } from '../platform/http/document.ts'
import { type Endpoint, endpoint } from '../platform/http/endpoint.ts'
import { refuse } from '../platform/http/errors.ts'
import { examplesFor } from './examples.ts'
import { didDocumentOf, publicKeyDocumentOf, publicKeyPath } from './key-documents.ts'
import type { Origin } from './payload.ts'
import type { RegistryCache } from './registry-cache.ts'
import { didDocument, publicKeyDocument } from './schema.ts'

const maxAgeSeconds = 300

export interface KeyParts {
  registryCache: RegistryCache
  origin: Origin
  /**
   * Origins that this deployment had before. A request that names the host of a former origin
   * receives the documents of that origin (decision D55).
   */
  formerOrigins: readonly Origin[]
}

export function keyEndpoints({ registryCache, origin, formerOrigins }: KeyParts): Endpoint[] {
  const examples = examplesFor(origin)
  const own = originDocuments(origin)
  const former = new Map(formerOrigins.map((each) => [each.url, originDocuments(each)]))
  const documentsFor = (formerOrigin: string | null): OriginDocuments =>
    former.get(formerOrigin ?? '') ?? own

  return [
    endpoint({
      operationId: 'getScoreCredentialPublicKey',
      method: 'GET',
      path: publicKeyPath,
      area: 'discovery',
      summary: 'The public key that signs score credentials',
      description:
        'The active key; with `kid` (an extension) an older one in the same shape. Only the public key is published.',
      policy: { kind: 'open' },
      document: true,
      priority: 'public',
      queryParameters: Type.Object({
        kid: Type.Optional(
          Type.String({
            pattern: '^z6Mk[1-9A-HJ-NP-Za-km-z]{44}$',
            description: 'Fragment of a verification method.',
          }),
        ),
      }),
      responses: {
        200: { description: 'The key.', schema: publicKeyDocument, example: examples.publicKey },
        ...commonResponses,
        404: { description: 'No key has this kid, or it was revoked.', errors: ['not_found'] },
        503: {
          description: 'Signing is not configured.',
          errors: ['signing_not_configured', 'overloaded'],
        },
      },
      answer({ query, formerOrigin }) {
        const active = registryCache.activeKey()
        if (active === undefined) return refuse('signing_not_configured')
        // The closed document has no member for the revocation of a key, so a revoked key is not
        // served.
        const sound = registryCache.keys().filter((key) => key.state !== 'revoked')
        const key = query.kid === undefined ? active : sound.find((k) => k.kid === query.kid)
        if (key === undefined) return refuse('not_found', { message: 'No key has this kid.' })
        return documentsFor(formerOrigin)(key, publicKeyDocumentOf)
      },
    }),
    endpoint({
      operationId: 'getDidDocument',
      method: 'GET',
      path: '/.well-known/did.json',
      area: 'discovery',
      summary: 'The issuer as a did:web document',
      description:
        'Every key that ever signed, as Multikey; a compromised one has left assertionMethod.',
      extension: true,
      policy: { kind: 'open' },
      document: true,
      priority: 'public',
      responses: {
        200: { description: 'The DID document.', schema: didDocument, example: examples.did },
        ...commonResponses,
        503: {
          description: 'Signing is not configured.',
          errors: ['signing_not_configured', 'overloaded'],
        },
      },
      answer({ formerOrigin }) {
        const keys = registryCache.keys()
        if (keys.length === 0) return refuse('signing_not_configured')
        return documentsFor(formerOrigin)(keys, didDocumentOf)
      },
    }),
  ]
}

type OriginDocuments = <State extends object>(
  state: State,
  make: (origin: Origin, state: State) => Record<string, unknown>,
) => { document: PublicDocument }

/**
 * Builds each document of an origin once for each state of the registry cache. The state is the
 * identity of an array or key: the cache replaces them and never changes them.
 */
function originDocuments(origin: Origin): OriginDocuments {
  const made = new WeakMap<object, PublicDocument>()
  return (state, make) => {
    let document = made.get(state)
    if (document === undefined) {
      const body = JSON.stringify(make(origin, state))
      document = publicDocument({ body, contentType: 'application/json', maxAgeSeconds })
      made.set(state, document)
    }
    return { document }
  }
}
