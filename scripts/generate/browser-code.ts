/** Makes the scripts of the pages from TypeScript when files are generated: the server has no compiler. */
import { join } from 'node:path'
import { buildSync } from 'esbuild'

const assets = 'src/web/assets'

/** The scripts as generated files: their paths and contents. */
export const browserScripts = ['theme', 'islands', 'verify-page', 'skill-search', 'camera'].map(
  (name) => ({
    path: `${assets}/browser/${name}.js`,
    text: (root: string) => browserCode(root, name),
  }),
)

/** Returns a script with the modules that it imports, except those that it loads on demand. */
function browserCode(root: string, name: string): string {
  const { outputFiles } = buildSync({
    absWorkingDir: root,
    entryPoints: [join(root, assets, `${name}.ts`)],
    bundle: true,
    external: ['./camera.ts', './jsqr.ts'],
    format: 'esm',
    target: 'es2024',
    minify: true,
    write: false,
  })
  return outputFiles[0]?.text ?? ''
}
