/**
 * Pure: the origin of the engine's bundle as an in-toto statement with SLSA provenance in a signed
 * DSSE envelope (in-toto Statement v1, slsa.dev/provenance/v1, DSSE v1.0).
 */
import { canonicalJson } from '../platform/json/canonical-json.ts'
import { pagePathOf } from './docs-page.ts'
import type { LoadedEngine } from './engine-facts.ts'
import { build, type HashedFile, type ReleaseFacts } from './release-manifest.ts'

export interface ProvenanceFacts {
  engine: LoadedEngine
  release: ReleaseFacts
  issuer: string
  publicUrl: string
}

/**
 * The operator vouches for the build: a reader with these files runs the tool on them and compares.
 */
export function provenanceStatement(facts: ProvenanceFacts): Record<string, unknown> {
  const { engine, release, issuer, publicUrl } = facts
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ name: engine.path, digest: { sha256: engine.binarySha256 } }],
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: `${publicUrl}${pagePathOf('docs/scoring.md')}#how-the-engine-is-built`,
        externalParameters: build.options,
        internalParameters: { tool: build.tool, version: release.version },
        resolvedDependencies: [
          ...commitOf(release),
          ...release.files.filter(isBuildInput).map(descriptorOf),
        ],
      },
      runDetails: { builder: { id: issuer } },
    },
  }
}

/** If files differ from their commit, only their hashes are given. */
function commitOf({ commit, modified }: ReleaseFacts): object[] {
  return commit === null || modified ? [] : [{ name: 'commit', digest: { gitCommit: commit } }]
}

function isBuildInput({ path, role }: HashedFile): boolean {
  return path.startsWith(build.options.entry) || path === build.tool || role === 'lockfile'
}

function descriptorOf({ path, sha256 }: HashedFile): object {
  return { name: path, digest: { sha256 } }
}

export interface EnvelopeSigner {
  /** Verification method of the key. */
  keyid: string
  /** Signs with Ed25519. */
  sign(bytes: Uint8Array): Uint8Array
}

const payloadType = 'application/vnd.in-toto+json'

export interface Envelope {
  payloadType: string
  /** Base64. */
  payload: string
  signatures: { keyid: string; sig: string }[]
}

export function signedEnvelope(statement: object, { keyid, sign }: EnvelopeSigner): Envelope {
  const payload = Buffer.from(canonicalJson(statement))
  const sig = Buffer.from(sign(preAuthentication(payload))).toString('base64')
  return { payloadType, payload: payload.toString('base64'), signatures: [{ keyid, sig }] }
}

/**
 * Returns DSSE's pre-authentication encoding. It begins with its own name and is longer than 64
 * bytes, so no signature over it passes as one of a credential.
 */
function preAuthentication(payload: Buffer): Buffer {
  const head = `DSSEv1 ${payloadType.length} ${payloadType} ${payload.length} `
  return Buffer.concat([Buffer.from(head), payload])
}
