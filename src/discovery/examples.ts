/** Pure: examples for the contract. */
import { exampleUrl } from '../edge/http/contract.ts'
import { engineDiscoveryOf } from './engine.ts'
import type { EngineFacts, LoadedEngine } from './engine-facts.ts'
import { type ReleaseFacts, releaseManifestOf } from './release-manifest.ts'

export const exampleEngine: EngineFacts & { loaded: LoadedEngine } = {
  id: 'hsc',
  version: '2.0.0',
  state: 'ok',
  loaded: {
    path: 'engines/hsc-2.0.0-51a1f05af85e.mjs',
    size: 26_198,
    binarySha256: '51a1f05af85e342e3c849b47d387086476282d5f50dc240c19216d6edfb1eb5a',
    goldenSha256: '27797c38d61703cd0cda11841a4ec49230ca08ef242b592bb9446f3edd17d471',
    tableSha256: '676f678d86d37db4805f134a64fcd1b370d7fe59651755978fae503123897ba6',
    parameters: { massMin: 150_000, halfWidthMax: 500, ladder: [700, 820, 900, 960, 1_000] },
    previousVersion: null,
    change: 'none',
  },
}

/** A release of one file. */
export const exampleRelease: ReleaseFacts = {
  version: '0.1.0',
  commit: '5f3c9a1e0b7d48c2a6e4f1d093b85c7720ae64d1',
  tag: 'v0.1.0',
  generatedAt: new Date('2026-05-14T09:00:00Z'),
  node: { required: '>=24', running: '24.21.0' },
  files: [
    {
      path: 'src/platform/json/canonical-json.ts',
      role: 'source',
      sha256: '51a1f05af85e342e3c849b47d387086476282d5f50dc240c19216d6edfb1eb5a',
      size: 865,
    },
  ],
}

const issuer = 'did:web:scores.example.org'
const kid = 'z6MkvDqGT54cXesYGvABpF1UapVNwjCqRcafi4Px6Thv5T3Z'

export const exampleDiscovery = engineDiscoveryOf({
  standard: {
    version: '1.1.0',
    catalogHash: 'sha256:17b88022fe8799273918e34055668b99eeb5486f60c99ed33191bf3bf51f80db',
    skillCount: 100,
    license: 'https://creativecommons.org/licenses/by/4.0/',
  },
  engine: exampleEngine,
  signing: {
    issuer,
    proofForms: ['native', 'eddsa-jcs-2022', 'eddsa-rdfc-2022'],
    verificationMethod: `${issuer}#${kid}`,
  },
  publicUrl: exampleUrl,
})

export const exampleManifest = releaseManifestOf({
  release: exampleRelease,
  engine: exampleEngine,
  publicUrl: exampleUrl,
})
