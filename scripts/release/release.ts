/**
 * `npm run release -- VERSION [--key FILE] [--out FOLDER]`: makes all files of a release from the
 * present commit and checks each: the packages are made twice with the same bytes, are installed in
 * empty folders, and run. Publishes nothing.
 */
import { execFileSync } from 'node:child_process'
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { sha256Hex } from '../../src/platform/crypto/bytes.ts'
import { changelogSection, releaseProblems } from './problems.ts'
import { sbomOf } from './sbom.ts'

const root = join(import.meta.dirname, '../..')
/** The first command of each package, by its folder. */
const packages = { '.': 'assay', 'packages/sdk': 'assay-client', 'packages/mcp': 'assay-mcp' }
const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}` }

const { version, key, out } = options()
const temporary = mkdtempSync(join(tmpdir(), 'assay-release-'))
process.on('exit', () => rmSync(temporary, { recursive: true, force: true }))

/** Outside of the clone, whose changes would change what is packed. */
const made = join(temporary, 'made')
mkdirSync(made)
for (const [folder, command] of Object.entries(packages)) {
  const file = pack(folder, made)
  const again = pack(folder, temporary)
  if (digestOf(join(made, file)) !== digestOf(join(temporary, file)))
    stop([`${file}: two runs made different bytes.`])
  runInstalled(join(made, file), command)
  const sbom = sbomOf({
    documents: sbomFolders(folder).map(npmSbom),
    manifest: JSON.parse(inside(again, 'package.json')),
    licenses: folder === 'packages/sdk' ? '' : inside(again, 'dist/LICENSES'),
  })
  write(file.replace('.tgz', '.cdx.json'), sbom)
}
for (const file of contractFiles('*.json')) write(`openapi-${basename(file)}`, text(file))
write('CHANGES.md', `${changelogSection(text('CHANGELOG.md'), version)}\n`)
const names = readdirSync(made).sort()
const sums = names.map((name) => `${digestOf(join(made, name))}  ${name}\n`).join('')
write('SHA256SUMS', sums)
if (key !== null) writeSignature(key, Buffer.from(sums))
cpSync(made, out, { recursive: true })
process.stdout.write(`${sums}in ${out}, ${key === null ? 'not signed (no --key)' : 'signed'}\n`)

function options() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { key: { type: 'string' }, out: { type: 'string' } },
    })
    const [version, more] = positionals
    if (version === undefined || more !== undefined) throw new Error('Name one version.')
    const out = resolve(values.out ?? join('release', version))
    const key = readKey(values.key)
    const problems = releaseProblems({ ...presentFacts(version), keyFault: key.fault })
    if (existsSync(out) && readdirSync(out).length > 0)
      problems.push(`${out} is not empty: name another folder with --out.`)
    if (problems.length > 0) stop(problems)
    return { version, key: key.key, out }
  } catch (error) {
    return stop([
      error instanceof Error ? error.message : String(error),
      'Usage: npm run release -- VERSION [--key FILE] [--out FOLDER]',
    ])
  }
}

function stop(problems: readonly string[]): never {
  process.stderr.write(`Nothing is released.\n${problems.join('\n')}\n`)
  process.exit(2)
}

function presentFacts(version: string) {
  const manifests = Object.keys(packages).map((folder) => join(folder, 'package.json'))
  return {
    version,
    versions: Object.fromEntries(
      manifests.map((file) => [file, String(JSON.parse(text(file)).version)]),
    ),
    tags: git('tag', '--list', 'v*', '--no-contains', 'HEAD'),
    changes: git('status', '--porcelain').map((line) => line.slice(2).trim()),
    changelog: text('CHANGELOG.md'),
    unreleased: contractFiles('[0-9]*.json').filter((file) => {
      const released = join('openapi/released', basename(file))
      return !existsSync(join(root, released)) || text(file) !== text(released)
    }),
  }
}

function readKey(file: string | undefined): { key: KeyObject | null; fault: string | null } {
  if (file === undefined) return { key: null, fault: null }
  try {
    const pem = readFileSync(file, 'utf8')
    if (pem.includes('ENCRYPTED'))
      return {
        key: null,
        fault: `${file} has a passphrase: write a copy without one by openssl pkey -in ${file} -out FILE.`,
      }
    const key = createPrivateKey(pem)
    if (key.asymmetricKeyType === 'ed25519') return { key, fault: null }
    return { key: null, fault: `${file} is a key of ${key.asymmetricKeyType}, not of Ed25519.` }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return { key: null, fault: `${file} is not a private key in PEM: ${why}.` }
  }
}

/** The public contract has a date in its name, and is compared with the released one. */
function contractFiles(names: string): string[] {
  return globSync(join('openapi', names), { cwd: root }).sort()
}

function text(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

function git(...args: string[]): string[] {
  const printed = execFileSync('git', ['-C', root, ...args], { encoding: 'utf8' })
  return printed.split('\n').filter((line) => line !== '')
}

function npm(cwd: string, ...args: string[]): string {
  const stdio: ['ignore', 'pipe', 'inherit'] = ['ignore', 'pipe', 'inherit']
  return execFileSync('npm', args, { cwd, env, encoding: 'utf8', stdio, maxBuffer: 2 ** 28 })
}

/** Returns the name of the file. */
function pack(folder: string, to: string): string {
  const printed = npm(join(root, folder), 'pack', '--silent', '--pack-destination', to)
  return printed.trim().split('\n').at(-1) ?? ''
}

function inside(file: string, path: string): string {
  const args = ['-xzOf', join(temporary, file), `package/${path}`]
  return execFileSync('tar', args, { encoding: 'utf8' })
}

function runInstalled(file: string, command: string): void {
  const prefix = join(temporary, command)
  const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
  npm(temporary, 'install', '--global', '--prefix', prefix, ...quiet, file)
  execFileSync(join(prefix, 'bin', command), ['--help'], { cwd: temporary, env })
}

/** Node of the service has a lock file of its own. */
function sbomFolders(folder: string): string[] {
  return folder === '.' ? ['.', 'scripts/runtime'] : [folder]
}

function npmSbom(folder: string) {
  const form = ['--package-lock-only', '--sbom-format', 'cyclonedx', '--sbom-type', 'application']
  return JSON.parse(npm(join(root, folder), 'sbom', ...form))
}

function digestOf(file: string): string {
  return sha256Hex(readFileSync(file))
}

function write(name: string, content: string | Buffer): void {
  writeFileSync(join(made, name), content)
}

function writeSignature(key: KeyObject, bytes: Buffer): void {
  const signature = sign(null, bytes, key)
  if (!verify(null, bytes, createPublicKey(key), signature)) stop(['The signature is wrong.'])
  write('SHA256SUMS.sig', signature)
}
