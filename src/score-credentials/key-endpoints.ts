/** The routes of the public keys: the one that signs, and the issuer as a DID document (spec §4.1). */
import { Type } from 'typebox'
import { type PublicDocument, publicDocument } from '../platform/http/document.ts'
import { commonResponses, type Endpoint, endpoint } from '../platform/http/endpoint.ts'
import { refuse } from '../platform/http/errors.ts'
import { examplesFor } from './examples.ts'
import { didDocumentOf, publicKeyDocumentOf, publicKeyPath } from './key-documents.ts'
import type { Mirror } from './mirror.ts'
import type { Origin } from './payload.ts'
import { didDocument, publicKeyDocument } from './schema.ts'

const maxAgeSeconds = 300

export function keyEndpoints({ mirror, origin }: { mirror: Mirror; origin: Origin }): Endpoint[] {
  const examples = examplesFor(origin)
  const documents = new WeakMap<object, PublicDocument>()

  /** Made once for each state of the mirror: its arrays are replaced, never changed. */
  function remembered(
    of: object,
    make: () => Record<string, unknown>,
  ): { document: PublicDocument } {
    let document = documents.get(of)
    if (document === undefined) {
      const body = JSON.stringify(make())
      document = publicDocument({ body, contentType: 'application/json', maxAgeSeconds })
      documents.set(of, document)
    }
    return { document }
  }

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
      shed: 1,
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
      answer({ query }) {
        const active = mirror.activeKey()
        if (active === undefined) return refuse('signing_not_configured')
        // The closed shape has no place to say that a key was revoked.
        const sound = mirror.keys().filter((key) => key.state !== 'revoked')
        const key = query.kid === undefined ? active : sound.find((k) => k.kid === query.kid)
        if (key === undefined) return refuse('not_found', { message: 'No key has this kid.' })
        return remembered(key, () => publicKeyDocumentOf(origin, key))
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
      shed: 1,
      responses: {
        200: { description: 'The DID document.', schema: didDocument, example: examples.did },
        ...commonResponses,
        503: {
          description: 'Signing is not configured.',
          errors: ['signing_not_configured', 'overloaded'],
        },
      },
      answer() {
        const keys = mirror.keys()
        if (keys.length === 0) return refuse('signing_not_configured')
        return remembered(keys, () => didDocumentOf(origin, keys))
      },
    }),
  ]
}
