/**
 * Makes the command one file with everything inside, so that it installs without other packages and
 * runs with exactly the versions of our lock file. `dist/LICENSES` has the licenses of these.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

const { metafile } = await build({
  entryPoints: ['src/assay-mcp.ts'],
  outfile: 'dist/assay-mcp.js',
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  metafile: true,
  // Some packages are CommonJS and require modules of Node.
  banner: {
    js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)",
  },
})

const packages = new Set(
  Object.keys(metafile.inputs).flatMap(
    (input) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1] ?? [],
  ),
)
writeFileSync('dist/LICENSES', [...packages].sort().map(licenseOf).join('\n'))

function licenseOf(name) {
  const folder = join('node_modules', name)
  const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one))
  const text = file === undefined ? '' : readFileSync(join(folder, file), 'utf8')
  return `${name} ${version} (${license})\n\n${text}\n`
}
