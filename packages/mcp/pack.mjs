/** Makes the command one file: the client is inside, the protocol's package is a dependency. */
import { build } from 'esbuild'

await build({
  entryPoints: ['src/assay-mcp.ts'],
  outfile: 'dist/assay-mcp.js',
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  packages: 'external',
})
