/** Names the packages inside a bundle, with their licenses. Plain JavaScript, for any Node. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Returns the folders of the packages that the files `inputs` of a bundle come from, sorted. */
export function packagesOf(inputs) {
  const folder = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/
  const folders = new Set(inputs.flatMap((input) => folder.exec(input)?.[0] ?? []))
  return [...folders].sort((a, b) => (a < b ? -1 : 1))
}

/** `folders` are relative to `root`. */
export function licensesOf(root, folders) {
  return folders.map((folder) => licenseOf(join(root, folder))).join('\n')
}

function licenseOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one))
  const text = file === undefined ? '' : readFileSync(join(folder, file), 'utf8')
  return `${name} ${version} (${license})\n\n${text}\n`
}
