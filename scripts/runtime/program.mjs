/**
 * Makes the program: the sources and their packages, bundled into a few files of JavaScript. A
 * command takes 0.4 of the processor time of the sources and 0.6 of their memory (`bin/assay --help`
 * beside `node src/cli/assay.ts --help`), because Node loads fewer files and strips no types. It is
 * made after the installation and after each change of a source. Where nothing can be written, the
 * sources run.
 */
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { isPackage } from './install.mjs'

/**
 * Loaded as files of their own: native code, what is looked up by its place, and undici, whose
 * names a bundle gives only to static imports.
 */
const external = JSON.parse(readFileSync(new URL('external.json', import.meta.url), 'utf8'))

/** A running server may still load a part of an earlier program. */
const keptPrograms = 3

/** Returns the file that Node runs. */
export async function ensureProgram(root) {
  if (isPackage(root)) return join(root, 'dist/assay.mjs')
  const sources = join(root, 'src/cli/assay.ts')
  const folder = join(root, '.runtime/program', digestOf(root))
  const program = join(folder, 'assay.mjs')
  if (existsSync(program)) return program
  try {
    const making = `${folder}-${process.pid}`
    // esbuild would say for each of its files that it cannot be written.
    mkdirSync(making, { recursive: true })
    await bundle(root, making)
    // Another process may have made the same program meanwhile.
    if (existsSync(program)) rmSync(making, { recursive: true })
    else renameSync(making, folder)
    removeEarlier(dirname(folder))
    return program
  } catch (error) {
    console.error(`assay: the sources run, because no program could be made: ${error.message}`)
    return sources
  }
}

/** By size and time of change, because reading every source would take longer than a command. */
function digestOf(root) {
  const hash = createHash('sha256').update(readFileSync(join(root, 'package-lock.json')))
  const folders = ['src', 'packages/sdk/src', 'scripts/runtime']
  for (const path of folders.flatMap((folder) => filesIn(join(root, folder)))) {
    if (!/(?<!\.test)\.(ts|json|mjs)$/.test(path)) continue
    const { size, mtimeMs } = statSync(path)
    hash.update(`${path} ${size} ${mtimeMs}\n`)
  }
  return hash.digest('hex').slice(0, 16)
}

function filesIn(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? filesIn(path) : [path]
  })
}

/** Returns the files that became part of the program, relative to `root`. */
export async function bundle(root, outdir) {
  const { build, stop } = await import('esbuild')
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { assay: 'src/cli/assay.ts' },
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    sourcemap: 'linked',
    sourcesContent: false,
    logLevel: 'error',
    metafile: true,
    external,
    // Packages of CommonJS require Node's own modules.
    banner: {
      js: `import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);`,
    },
    plugins: [placesOfSources(outdir)],
  })
  // Its process would stay as long as the service runs.
  await stop()
  return Object.keys(metafile.inputs)
}

/** A module that looks for files beside itself finds them beside its source. */
function placesOfSources(outdir) {
  return {
    name: 'places of sources',
    setup(build) {
      build.onLoad({ filter: /[/\\]src[/\\].*\.ts$/ }, ({ path }) => {
        const text = readFileSync(path, 'utf8')
        if (!text.includes('import.meta')) return undefined
        const place = JSON.stringify(relative(outdir, path).replaceAll('\\', '/'))
        const contents = text
          .replaceAll('import.meta.dirname', `(import.meta.dirname + '/' + ${place} + '/..')`)
          .replaceAll('import.meta.url', `new URL(${place}, import.meta.url).href`)
        return { contents, loader: 'ts' }
      })
    },
  }
}

function removeEarlier(folder) {
  const made = (name) => statSync(join(folder, name)).mtimeMs
  const names = readdirSync(folder).sort((a, b) => made(b) - made(a))
  for (const name of names.slice(keptPrograms))
    rmSync(join(folder, name), { recursive: true, force: true })
}
