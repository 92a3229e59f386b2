/**
 * For `--import` of Node: resolves the packages of `bundled-packages.mjs` to their bundles, and
 * `node:http` to `http.mjs`.
 */
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundledPackages } from './bundled-packages.mjs'

const folder = process.env.ASSAY_BUNDLED_PACKAGES
const urls = new Map(
  folder === undefined
    ? []
    : bundledPackages.map((name) => [name, pathToFileURL(join(folder, `${name}.mjs`)).href]),
).set('node:http', new URL('http.mjs', import.meta.url).href)
registerHooks({
  resolve(name, context, next) {
    const url = urls.get(name)
    return url === undefined ? next(name, context) : { url, format: 'module', shortCircuit: true }
  },
})
