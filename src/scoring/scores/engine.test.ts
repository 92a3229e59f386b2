import assert from 'node:assert/strict'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { inputs } from '../../../test/support/build/score-inputs.ts'
import fc from '../../../test/support/oracle/fc.ts'
import { sha256Hex } from '../../platform/crypto/bytes.ts'
import { explain } from '../core/explain.ts'
import { engineVersion, parameters } from '../core/parameters.ts'
import { score } from '../core/score.ts'
import { bundleName, coreBundle } from './bundle.ts'
import { type EngineFault, loadEngine, loadEngineOf } from './engine.ts'
import { readGoldens } from './goldens.ts'

const root = join(import.meta.dirname, '../../..')
const core = join(root, 'src/scoring/core')
const text = coreBundle(core)
const goldens = readFileSync(join(root, 'vectors/scoring-hsc2.json'), 'utf8')
const moreGoldens = readFileSync(join(root, 'vectors/scoring-hsc2-extra.json'), 'utf8')

const scratch = mkdtempSync(join(tmpdir(), 'assay-engine-'))
after(() => rmSync(scratch, { recursive: true, force: true }))
let roots = 0

/**
 * Creates a project with these engines, by name, and with these golden vectors besides those of the
 * oracle.
 */
function projectWith(
  engines: Record<string, string | Buffer>,
  vectors: string | null = goldens,
): string {
  const project = join(scratch, `${roots++}`)
  mkdirSync(join(project, 'engines'), { recursive: true })
  mkdirSync(join(project, 'vectors'))
  for (const [name, bundle] of Object.entries(engines))
    writeFileSync(join(project, 'engines', name), bundle)
  writeFileSync(join(project, 'vectors/scoring-hsc2-extra.json'), moreGoldens)
  if (vectors !== null) writeFileSync(join(project, 'vectors/scoring-hsc2.json'), vectors)
  return project
}

/** Names a bundle by its own hash. */
function named(bundle: string): Record<string, string> {
  return { [bundleName(bundle)]: bundle }
}

test('two directories give the same bytes, which are those of the checked-in engine', () => {
  const [one, other] = ['one', 'another folder'].map((name) => {
    const copy = join(scratch, name)
    cpSync(core, copy, { recursive: true })
    return coreBundle(copy)
  })
  assert.equal(one, text)
  assert.equal(other, text)
  assert.equal(readFileSync(join(root, 'engines', bundleName(text)), 'utf8'), text)
})

test('the bundle has no import and no type', () => {
  assert.doesNotMatch(text, /^\s*import\b/m)
  assert.doesNotMatch(text, /\bimport\s*\(/)
  assert.doesNotMatch(text, /^(export )?(interface|type)\b/m)
})

test('each kept engine has the name of its hash, and each version has one engine', () => {
  const names = readdirSync(join(root, 'engines'))
  assert.ok(names.length > 0)
  for (const name of names) {
    const digest = sha256Hex(readFileSync(join(root, 'engines', name))).slice(0, 12)
    assert.match(name, new RegExp(`^hsc-\\d+\\.\\d+\\.\\d+-${digest}\\.mjs$`))
  }
  const versions = names.map((name) => name.split('-')[1])
  assert.equal(new Set(versions).size, versions.length, names.join(' '))
})

test('the engine is loaded with the hash of its bytes and computes the scores of the core', async () => {
  const engine = await loadEngine()
  const { score: _, explain: __, ...facts } = engine
  assert.deepEqual(facts, {
    id: 'hsc',
    version: engineVersion,
    path: `engines/${bundleName(text)}`,
    binarySha256: sha256Hex(text),
    goldenSha256: readGoldens(root).sha256,
    size: Buffer.byteLength(text),
    parameters,
    // The digest that the text of the algorithm prints.
    tableSha256: '676f678d86d37db4805f134a64fcd1b370d7fe59651755978fae503123897ba6',
  })
  fc.assert(
    fc.property(inputs, (input) => {
      assert.equal(JSON.stringify(engine.score(input)), JSON.stringify(score(input)))
      assert.equal(JSON.stringify(engine.explain(input)), JSON.stringify(explain(input)))
    }),
    { numRuns: 1_000 },
  )
})

async function refused(loading: Promise<unknown>, fault: EngineFault, message: RegExp) {
  await assert.rejects(loading, { name: 'EngineRefused', fault, message })
}

test('one flipped bit anywhere in the bundle is refused as altered', async () => {
  const bytes = Buffer.from(text)
  for (const at of [0, bytes.length >> 1, bytes.length - 1]) {
    const flipped = Buffer.from(bytes)
    flipped.writeUInt8(flipped.readUInt8(at) ^ 1, at)
    const project = projectWith({ [bundleName(text)]: flipped })
    await refused(loadEngine(project), 'altered', /not that of its name/)
  }
})

test('an engine with wrong results is refused, even under the name of its own hash', async () => {
  const changed = text.replace('reach: 200', 'reach: 199')
  assert.notEqual(changed, text)
  await refused(loadEngine(projectWith(named(changed))), 'wrong_result', /golden vector \d+/)
  const throwing = text.replace(
    'export function assess(',
    'export function assess() { throw 1 }\nfunction unused(',
  )
  await refused(loadEngine(projectWith(named(throwing))), 'wrong_result', /golden vector \d+ of/)
})

test('no engine is loaded if the golden vectors are altered, empty or missing', async () => {
  const altered = goldens.replace('"score":116', '"score":117')
  assert.notEqual(altered, goldens)
  await refused(loadEngine(projectWith(named(text), altered)), 'wrong_result', /vector/)
  await refused(loadEngine(projectWith(named(text), '{"cases":[]}')), 'missing', /no golden/)
  await refused(loadEngine(projectWith(named(text), 'none')), 'missing', /no JSON/)
  await refused(loadEngine(projectWith(named(text), null)), 'missing', /cannot be read/)
})

test('a missing engine, two of one version and an unusable one: each has its own message', async () => {
  await refused(loadEngine(projectWith({})), 'missing', /no engine of version/)
  await refused(loadEngine(join(scratch, 'nowhere')), 'missing', /cannot be read/)
  const two = { ...named(text), ...named(`${text}\n`) }
  await refused(loadEngine(projectWith(two)), 'missing', /more than one/)
  const copied = { ...named(text), [`${bundleName(text)}.orig`]: `${text}\n` }
  assert.equal((await loadEngine(projectWith(copied))).version, engineVersion)
  await refused(loadEngine(projectWith(named('not JavaScript'))), 'unusable', /cannot be loaded/)
  await refused(
    loadEngine(projectWith(named('export const a = 1'))),
    'unusable',
    /is not the engine/,
  )
  for (const name of ['function explain(', 'const halves =']) {
    const without = text.replace(`export ${name}`, name)
    assert.notEqual(without, text)
    await refused(loadEngine(projectWith(named(without))), 'unusable', /is not the engine/)
  }
  const other = text.replace(`'${engineVersion}'`, "'0.0.1'")
  await refused(loadEngine(projectWith(named(other))), 'unusable', /is not the engine/)
})

test('an engine of an earlier release is found by its whole hash', async () => {
  const past = text.replace(`'${engineVersion}'`, "'0.9.0'").replace('expert: 750', 'expert: 760')
  const hash = sha256Hex(past)
  const name = `hsc-0.9.0-${hash.slice(0, 12)}.mjs`
  const project = projectWith({ ...named(text), [name]: past })
  const engine = await loadEngineOf(hash, project)
  assert.deepEqual([engine.version, engine.binarySha256], ['0.9.0', hash])
  assert.equal((await loadEngine(project)).version, engineVersion)
  const near = `${hash.slice(0, 63)}${hash.endsWith('0') ? '1' : '0'}`
  await refused(loadEngineOf(near, project), 'altered', /has the SHA-256/)
  await refused(loadEngineOf('f'.repeat(64), project), 'missing', /no engine of SHA-256 f/)
})
