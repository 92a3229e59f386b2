/**
 * Bundles of the packages that have hundreds of files, for the tests. TypeBox alone has 683. Without
 * the bundles, 32 small test files take 1.31 times the processor time. `use-bundled-packages.mjs`
 * uses them.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

export const bundledPackages = [
  'typebox',
  'typebox/compile',
  'viem',
  'viem/accounts',
  '@x402/core/schemas',
  '@x402/evm',
  '@x402/evm/exact/client',
  '@x402/evm/exact/facilitator',
]

/** Returns the folder of the bundles, which are made at the first run after an installation. */
export async function ensureBundledPackages(root) {
  const hash = createHash('sha256').update(bundledPackages.join())
  hash.update(readFileSync(join(root, 'package-lock.json')))
  const folder = join(root, `.runtime/packages-${hash.digest('hex').slice(0, 16)}`)
  if (existsSync(folder)) return folder
  const making = `${folder}-${process.pid}`
  const { build, stop } = await import('esbuild')
  await build({
    absWorkingDir: root,
    entryPoints: Object.fromEntries(bundledPackages.map((name) => [name, name])),
    outdir: making,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    logLevel: 'error',
  })
  await stop()
  // Another run may have made the same bundles meanwhile.
  if (existsSync(folder)) rmSync(making, { recursive: true })
  else renameSync(making, folder)
  return folder
}
