/**
 * Runs before and after `npm pack` of the root. The package needs neither a clone nor a compiler:
 * its program is bundled into `dist/`, with the licenses of the packages inside, and its
 * package.json names only the packages beside the bundle, each with the locked version, and Node.
 *
 * Crash: package.json keeps its packed form, which has no scripts, so `npm pack` would not come here.
 * `git checkout package.json` mends it.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { bundle } from '../runtime/program.mjs'
import { licensesOf, packagesOf } from './licenses.mjs'
import { packageManifest } from './package-manifest.ts'

const root = join(import.meta.dirname, '../..')
const manifestFile = join(root, 'package.json')
const kept = join(root, '.runtime/source-package.json')
const outdir = join(root, 'dist')

if (process.argv[2] === 'after') {
  rmSync(outdir, { recursive: true, force: true })
  if (existsSync(kept)) renameSync(kept, manifestFile)
} else {
  const source = readFileSync(manifestFile, 'utf8')
  rmSync(outdir, { recursive: true, force: true })
  refuseIgnored(JSON.parse(source).files)
  const folders = packagesOf(await bundle(root, outdir))
  writeFileSync(join(outdir, 'LICENSES'), licensesOf(root, folders))
  const packed = packageManifest(JSON.parse(source), {
    locked: locked('package-lock.json'),
    runtime: locked('scripts/runtime/package-lock.json'),
    describe: describeCommit,
  })
  mkdirSync(dirname(kept), { recursive: true })
  writeFileSync(kept, source)
  writeFileSync(manifestFile, `${JSON.stringify(packed, null, 2)}\n`)
}

function locked(file) {
  return JSON.parse(readFileSync(join(root, file), 'utf8')).packages
}

function git(...args) {
  return execFileSync('git', ['-C', root, ...args], { encoding: 'utf8' }).trim()
}

/**
 * npm packs files that git ignores, such as the signing keys in the data directory of a command
 * that ran in `docs/`, and `git status` does not show them.
 */
function refuseIgnored(files) {
  if (!existsSync(join(root, '.git'))) return
  const packed = files.filter((file) => !file.startsWith('!'))
  const ignored = git('ls-files', '--others', '--ignored', '--exclude-standard', '--', ...packed)
  if (ignored === '') return
  console.error(`npm would pack these files, which git ignores: move them away.\n${ignored}`)
  process.exit(1)
}

/** Returns null outside of a clone, and if a file differs from the commit. */
function describeCommit(format) {
  if (!existsSync(join(root, '.git'))) return null
  const changes = git('status', '--porcelain', '--', ':!package.json')
  return changes === '' ? git('show', '--no-patch', `--format=${format}`) : null
}
