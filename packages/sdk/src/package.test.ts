/**
 * The packed package, installed alone in an empty folder, as its users get it: in three versions of
 * Node, two of TypeScript, and a browser. The tools come from `test/clients`.
 */
import assert from 'node:assert/strict'
import { type ExecFileOptions, execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { newKey } from '../../../test/support/build/keys.ts'
import { verdictCases } from '../../../test/support/build/verdict-cases.ts'
import { noBrowser, openContext } from '../../../test/support/start/browser.ts'
import { temporaryFolder } from '../../../test/support/start/processes.ts'
import { startSdkStage } from '../../../test/support/start/sdk-stage.ts'
import { startService } from '../../../test/support/start/service.ts'

const root = join(import.meta.dirname, '../../..')
const tools = join(root, 'test/clients/sdk/node_modules')
const env = {
  ...process.env,
  PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
  npm_config_update_notifier: 'false',
  NODE_COMPILE_CACHE: undefined,
}

const runFile = promisify(execFile)

async function run(file: string, args: readonly string[], options: ExecFileOptions = {}) {
  const { stdout, stderr } = await runFile(file, args, { cwd: folder, env, ...options })
  return { out: String(stdout), err: String(stderr) }
}

const folder = temporaryFolder()
execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], {
  cwd: join(root, 'packages/sdk'),
  env,
})
const [tarball = ''] = readdirSync(folder)
writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}')
const quiet = ['--offline', '--no-audit', '--no-fund', '--silent']
execFileSync('npm', ['install', ...quiet, `./${tarball}`], { cwd: folder, env })
const installed = join(folder, 'node_modules/@assay/client')

const service = await startService('https://scores.example.org')
after(() => service.stop())
const testKey = await newKey(service.database.db, {
  environment: 'test',
  scopes: ['candidates:read', 'scores:read'],
})
const { signatures } = JSON.parse(
  readFileSync(join(root, 'vectors/webhook-signatures.json'), 'utf8'),
)
const input = { ...verdictCases(500), signatures, testKey: testKey.key }
const startStage = (): Promise<string> =>
  startSdkStage({ service: service.base, packageFolder: installed, input })

// Before the first test: once all tests so far have ended, the hooks above run.
const suite = join(root, 'test/clients/sdk/suite.mjs')
const { names }: { names: string[] } = await import(suite)

test('the package brings nothing else, and neither tests nor sources', () => {
  const packages = readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))
  assert.deepEqual(packages, ['@assay'])
  assert.deepEqual(readdirSync(join(folder, 'node_modules/@assay')), ['client'])
  const shipped = readdirSync(installed, { recursive: true }).map(String)
  const strange = shipped.filter((name) => /\.test\.|(?<!\.d)\.ts$|\.tsbuildinfo$/.test(name))
  assert.deepEqual(strange, [])
})

const nodes: Record<string, string> = {
  'Node 20': join(root, 'test/clients/node/node_modules/node20/bin/node'),
  'Node 22': join(root, 'test/clients/node/node_modules/node22/bin/node'),
  [`Node ${process.versions.node}`]: process.execPath,
}

const program = `
import * as sdk from '@assay/client'
import { verifyCredential } from '@assay/client/verify'
const { runSuite } = await import(process.argv[2])
console.log(JSON.stringify(await runSuite(sdk, verifyCredential, process.argv[3])))
`
writeFileSync(join(folder, 'run.mjs'), program)

for (const [name, node] of Object.entries(nodes))
  test(`${name}: the suite passes, with the verdicts of the service on all vectors and 500 mutations`, {
    skip: existsSync(node) ? false : 'skipped: npm has this Node for Linux on x64 alone',
  }, async () => {
    const { out, err } = await run(node, ['run.mjs', suite, await startStage()])
    assert.deepEqual(JSON.parse(out), names)
    assert.doesNotMatch(err, /error/i)
    const command = join(installed, 'dist/cli/assay-client.js')
    const skills = await run(node, [command, 'skills', 'typescript', '--json'], {
      env: { ...env, ASSAY_URL: service.base, XDG_CONFIG_HOME: folder },
    })
    assert.equal(JSON.parse(skills.out)[0].id, 'hss:typescript')
    assert.equal(skills.err, '')
  })

test('Chromium: the suite passes, with the verdicts of the service on all vectors and 500 mutations', {
  skip: noBrowser,
}, async () => {
  const stage = await startStage()
  const page = await (await openContext()).newPage()
  await page.goto(`${stage}/stage.html`)
  const passed = await page.evaluate<string[]>(`(async () => {
      const [sdk, { verifyCredential }, { runSuite }] = await Promise.all(
        ['/sdk/index.js', '/sdk/verify.js', '/suite.mjs'].map((path) => import(path)))
      return runSuite(sdk, verifyCredential, location.origin)
    })()`)
  assert.deepEqual(passed, names)
  await page.close()
})

const use = `
import { Client, explain, NotFoundError, type Reason, verifyWebhook } from '@assay/client'
import { type Verdict, verifyCredential } from '@assay/client/verify'
const reason: Reason = 'expired'
const verdict: Verdict = await verifyCredential('{}', { keyDocument: {}, statusLists: [] })
const client = new Client({ baseUrl: 'https://scores.example.org' })
const { data, creditsCharged } = await client.candidates.search({ q: 'ada' }).withResponse()
const names: string[] = data.candidates.map(({ username }) => username)
const paid: number | null = creditsCharged
for await (const { event, next } of client.webhooks.listen()) {
  if (event.type === 'score.updated') names.push(String(event.data.score), next)
}
const isGenuine: boolean = await verifyWebhook('', new Headers(), 'whsec_x')
export { isGenuine, names, NotFoundError, paid, reason, verdict }
export const sentence: string = explain(verdict)
// @ts-expect-error: a search needs a query
client.candidates.search({})
`
writeFileSync(join(folder, 'use.ts'), use)

for (const [name, compiler, modules] of [
  ['TypeScript 5.9', join(tools, 'typescript-5.9/bin/tsc'), '--module nodenext'],
  [
    'TypeScript 7',
    join(root, 'node_modules/typescript/bin/tsc'),
    '--module esnext --moduleResolution bundler',
  ],
] as const)
  test(`${name}: a program with the package type-checks under strict settings`, async () => {
    const strict = '--strict --noEmit --exactOptionalPropertyTypes --noUncheckedIndexedAccess'
    const web = '--target es2022 --lib es2024,dom,dom.asynciterable --types --skipLibCheck false'
    const args = [compiler, ...`${strict} ${web} ${modules}`.split(' '), 'use.ts']
    await run(process.execPath, args)
  })

test('publint and attw find nothing', async () => {
  const publint = join(tools, 'publint/src/cli.js')
  const { out } = await run(process.execPath, [publint, 'run', tarball, '--strict'])
  assert.match(out, /All good!/)
  const attw = join(tools, '@arethetypeswrong/cli/dist/index.js')
  await run(process.execPath, [attw, tarball, '--profile', 'esm-only', '--format', 'ascii'])
})

test('verification alone weighs at most 4.5 KB in gzip once bundled, and names no import', async () => {
  const { build } = await import(join(tools, 'esbuild/lib/main.js'))
  const { outputFiles } = await build({
    stdin: {
      contents: `export { verifyCredential } from '@assay/client/verify'`,
      resolveDir: folder,
    },
    bundle: true,
    minify: true,
    format: 'esm',
    write: false,
  })
  const [{ contents }] = outputFiles
  const { length } = gzipSync(contents, { level: 9 })
  assert.ok(length <= 4_608, `${length} bytes`)
  assert.doesNotMatch(String(contents), /\bimport\b/)
})

test('npx runs the command from the packed file in an empty folder', async () => {
  const empty = join(folder, 'empty')
  mkdirSync(empty)
  const npx = ['--yes', '--offline', '--package', join(folder, tarball), 'assay-client', '--help']
  const { out } = await run('npx', npx, { cwd: empty })
  assert.match(out, /^assay-client: /)
})
