/**
 * Makes the command one file with everything inside, so that it installs without other packages and
 * runs with exactly the versions of our lock file. `dist/LICENSES` has the licenses of these.
 */
import { writeFileSync } from 'node:fs'
import { build } from 'esbuild'
import { licensesOf, packagesOf } from '../../scripts/release/licenses.mjs'

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

const folders = packagesOf(Object.keys(metafile.inputs))
writeFileSync('dist/LICENSES', licensesOf('.', folders))
