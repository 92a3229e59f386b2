/**
 * Runs the commands of the docs as printed, page by page in the order of docs/README.md, on the
 * database of one fresh demo.
 *
 * A fence `sh` is run. A fence `json` or `text` after it is the response, with every printed number
 * but those of ids and times; in `json measured` and `text measured`, numbers may differ. A fence `ts` or `python` whose first line is a comment with a file name is saved
 * under that name. `sh install` is run too, and fetches packages that are not in the cache of npm.
 * `sh python` needs Python and `sh pynacl` also PyNaCl. These are not run: `sh production` needs a
 * deployment of its own, and `sh demo` runs without end or changes the demo itself.
 */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { test } from 'node:test'
import { type Fence, fencesOf, nameOf } from './support/start/docs-page.ts'
import { writeCommandInProcess } from './support/start/in-process.ts'
import { freePort, programs, startServer, temporaryFolder } from './support/start/processes.ts'

const separator = '\u001e'
/** A Python with PyNaCl if there is one, otherwise any Python. */
const python = findPython('import nacl') ?? findPython('')
const hasPyNaCl = python?.code === 'import nacl'

function findPython(code: string): { folder: string; code: string } | undefined {
  const folders = ['/usr/bin', '/usr/local/bin', ...(programs['PATH'] ?? '').split(':')]
  const folder = folders.find((one) => spawnSync(join(one, 'python3'), ['-c', code]).status === 0)
  return folder === undefined ? undefined : { folder, code }
}

/** Has a database of its own; test/flows/issue-scores.test.ts runs its commands. */
const otherTest = 'issue-scores.md'

/** Returns the pages in the order of the lists of docs/README.md, which is the navigation. */
function pagesInOrder(): string[] {
  const links = readFileSync('docs/README.md', 'utf8').matchAll(
    /^(?:\d+\.|-) \[[^\]]*\]\(([a-z0-9-]+\.md)\)/gm,
  )
  const pages = new Set([...links].map(([, page = '']) => page))
  pages.delete(otherTest)
  return [...pages]
}

/**
 * Returns a folder like a fresh clone, with the installation replaced by `bin/assay`. The packages
 * are copies, because packing and installing write into their folders.
 */
async function clone(): Promise<string> {
  const folder = temporaryFolder()
  cpSync('docs', join(folder, 'docs'), { recursive: true })
  cpSync('scripts/release', join(folder, 'scripts/release'), { recursive: true })
  cpSync('packages/sdk', join(folder, 'packages/sdk'), { recursive: true })
  cpSync('packages/mcp', join(folder, 'packages/mcp'), {
    recursive: true,
    filter: (path) => !path.includes('packages/mcp/node_modules'),
  })
  for (const name of ['vectors', 'vocabulary', 'engines', 'events', 'node_modules'])
    symlinkSync(resolve(name), join(folder, name))
  mkdirSync(join(folder, 'bin'))
  await writeCommandInProcess(join(folder, 'bin/assay'))
  return folder
}

/** The cache and the registry of this machine; the folder of installed commands is not kept. */
const npmSettings = Object.fromEntries([
  ...Object.entries(process.env).filter(([name]) =>
    /^npm_config_(cache|registry|userconfig)$/i.test(name),
  ),
  ['npm_config_prefer_offline', 'true'],
])

function runs({ info }: Fence): boolean {
  if (info === 'sh python') return python !== undefined
  return info === 'sh' || info === 'sh install' || (info === 'sh pynacl' && hasPyNaCl)
}

/** Runs the commands of a page in one shell. Returns what each fence printed, by its line. */
async function run(
  fences: readonly Fence[],
  { folder, env }: { folder: string; env: Record<string, string> },
): Promise<Map<number, string>> {
  const steps = fences
    .filter(runs)
    .map((fence) => `printf '${separator}${fence.line}\\n'\n${fence.text}`)
  const shell = spawn(
    '/bin/sh',
    ['-e', '-c', `exec 2>&1\n${steps.join('')}printf '${separator}'`],
    {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  )
  let out = ''
  shell.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  const [code] = await once(shell, 'close')
  const parts = out.split(separator).slice(1)
  assert.equal(code, 0, `the fence of line ${parts.at(-1)} ended with ${code}`)
  return new Map(
    parts.slice(0, -1).map((part) => {
      const end = part.indexOf('\n')
      return [Number(part.slice(0, end)), part.slice(end + 1)]
    }),
  )
}

/** Returns the JSON in an output, which may begin with headers. */
function jsonIn(output: string): unknown {
  return JSON.parse(output.slice(output.search(/^[{[]/m)))
}

/** What differs from run to run: times, days, ids, digests, secrets, rates. */
const varying = [
  /\b\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d)?)?/g,
  /\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi,
  /(?=[a-z_=+-]*[\dA-Z])[\w=+-]{16,}/g,
  /\b\d+(?= (lines|workers|items)\/s)/g,
]

/** Replaces all that differs from run to run. Every other number must be the printed one. */
function constantPart(text: string, measured: boolean): string {
  return [...varying, ...(measured ? [/[\d.,]*\d/g] : [])]
    .reduce((left, form) => left.replace(form, '…'), text)
    .replace(/\s+/g, ' ')
    .trim()
}

/** Returns whether a text is the printed one, in which `…` stands for any text. */
function isLike(actual: string, printed: string, measured: boolean): boolean {
  const parts = constantPart(printed, measured).split('…').map(RegExp.escape)
  return new RegExp(`^${parts.join('.*')}`, 's').test(constantPart(actual, measured))
}

/**
 * Fails where the response lacks a printed member, or has another value there. `measured` numbers
 * may differ.
 */
function assertShape(
  actual: unknown,
  printed: unknown,
  { at, measured }: { at: string; measured: boolean },
): void {
  if (typeof printed === 'string' && typeof actual === 'string') {
    if (!isLike(actual, printed, measured)) assert.equal(actual, printed, at)
  } else if (measured && typeof printed === 'number') {
    assert.equal(typeof actual, 'number', at)
  } else if (Array.isArray(printed)) {
    assert.ok(Array.isArray(actual), `${at} is an array`)
    for (const [i, item] of printed.entries())
      assertShape(actual[i], item, { at: `${at}[${i}]`, measured })
  } else if (typeof printed === 'object' && printed !== null) {
    assert.ok(typeof actual === 'object' && actual !== null, `${at} is an object`)
    for (const [name, value] of Object.entries(printed))
      assertShape((actual as Record<string, unknown>)[name], value, {
        at: `${at}.${name}`,
        measured,
      })
  } else assert.equal(actual, printed, at)
}

function assertLines(actual: string, printed: string, measured: boolean): void {
  const lines = actual.split('\n')
  let from = 0
  for (const line of printed.split('\n').filter((text) => text.trim() !== '' && text !== '…')) {
    const found = lines.findIndex((one, i) => i >= from && isLike(one, line, measured))
    assert.ok(found >= 0, `printed is "${line}", but the output is:\n${actual}`)
    from = found
  }
}

test('every program of the docs is saved under its name and run, or marked as an example', () => {
  const pages = pagesInOrder().map((page) => readFileSync(join('docs', page), 'utf8'))
  const fences = pages.map(fencesOf)
  const commands = fences.flat().filter(({ info }) => /^sh( python| pynacl)?$/.test(info))
  const programs = fences.flat().filter(({ info }) => /^(ts|python)$/.test(info))
  assert.ok(programs.length >= 12, `${programs.length} programs`)
  for (const { text } of programs) {
    const name = nameOf(text)
    assert.ok(name !== undefined, `the program has no name:\n${text.slice(0, 80)}`)
    const module = name.replace(/^.*\/|\.(ts|py)$/g, '')
    const users = [...commands, ...programs.filter((other) => other.text !== text)]
    assert.ok(
      users.some((user) => user.text.includes(name) || user.text.includes(`from ${module} `)),
      `nothing runs ${name}`,
    )
  }
})

test('the commands of every page run, in the order of docs/README.md, on one fresh database', async (t) => {
  const folder = await clone()
  const port = await freePort()
  const settings = {
    ASSAY_DATA_DIR: join(folder, '.data'),
    PUBLIC_URL: `http://localhost:${port}`,
  }
  const server = await startServer({ ...settings, PORT: String(port) }, ['--demo'])
  const env = {
    ...programs,
    ...settings,
    HOME: folder,
    ...npmSettings,
    PATH: [dirname(process.execPath), python?.folder, programs['PATH']].filter(Boolean).join(':'),
  }
  for (const page of pagesInOrder())
    await t.test(page, async (one) => {
      const text = readFileSync(join('docs', page), 'utf8')
      const fences = fencesOf(text.replaceAll(/localhost(:|%3A)8080/g, `localhost$1${port}`))
      for (const { info, text } of fences) {
        const name = nameOf(text)
        if (name === undefined || !/^(ts|python)$/.test(info)) continue
        mkdirSync(dirname(join(folder, name)), { recursive: true })
        writeFileSync(join(folder, name), text)
      }
      for (const fence of fences)
        if (/^sh (python|pynacl)$/.test(fence.info) && !runs(fence))
          one.diagnostic(`line ${fence.line} was NOT run: ${fence.info.slice(3)} is not installed`)
      const outputs = await run(fences, { folder, env })
      let output: string | undefined
      for (const fence of fences) {
        if (fence.info.startsWith('sh')) output = outputs.get(fence.line)
        if (output === undefined) continue
        const place = `docs/${page}:${fence.line}`
        const form = /^(json|text)( measured)?$/.exec(fence.info)
        if (form === null) continue
        const measured = form[2] !== undefined
        if (form[1] === 'text') assertLines(output, fence.text, measured)
        else assertShape(jsonIn(output), JSON.parse(fence.text), { at: place, measured })
      }
    })
  server.signal('SIGTERM')
  await server.ended
})
