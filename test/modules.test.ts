/** The import rules between modules, as a table. Add a row here before you add a module. */
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import faults from '../scripts/mutants/faults.json' with { type: 'json' }

/** From the bottom up: a row names only modules of earlier rows, in their order. */
const allowed: Record<string, readonly string[]> = {
  platform: [],
  edge: ['platform'],
  audit: ['platform', 'edge'],
  operations: ['platform', 'edge', 'audit'],
  accounts: ['platform', 'edge', 'audit', 'operations'],
  billing: ['platform', 'edge', 'audit', 'operations'],
  webhooks: ['platform', 'edge', 'operations'],
  health: ['platform', 'operations', 'webhooks'],
  standard: ['platform', 'edge'],
  credentials: ['platform', 'edge'],
  workers: ['platform', 'edge', 'webhooks', 'standard', 'credentials'],
  scoring: ['platform', 'edge', 'operations', 'webhooks', 'standard', 'credentials', 'workers'],
  reports: ['platform', 'edge', 'operations', 'workers'],
  privacy: ['platform', 'operations', 'webhooks', 'credentials', 'workers', 'scoring', 'reports'],
  discovery: ['platform', 'edge', 'standard', 'credentials'],
  config: ['platform', 'edge', 'billing', 'webhooks', 'health'],
  database: ['platform', 'audit', 'config'],
  demo: [
    'platform',
    'edge',
    'audit',
    'accounts',
    'billing',
    'webhooks',
    'standard',
    'credentials',
    'workers',
    'scoring',
    'reports',
  ],
  web: [
    'platform',
    'edge',
    'audit',
    'operations',
    'accounts',
    'billing',
    'webhooks',
    'health',
    'standard',
    'credentials',
    'workers',
    'reports',
    'privacy',
    'discovery',
    'demo',
  ],
  main: [
    'platform',
    'edge',
    'audit',
    'operations',
    'accounts',
    'billing',
    'webhooks',
    'health',
    'standard',
    'credentials',
    'workers',
    'scoring',
    'reports',
    'privacy',
    'discovery',
    'config',
    'database',
    'demo',
    'web',
  ],
  cli: [
    'platform',
    'audit',
    'operations',
    'accounts',
    'billing',
    'webhooks',
    'health',
    'credentials',
    'workers',
    'scoring',
    'reports',
    'privacy',
    'config',
    'database',
    'demo',
    'main',
  ],
}

const files = globSync('src/**/*.ts')
const sources = files.filter((file) => !file.endsWith('.test.ts'))

function moduleOf(file: string): string {
  return file.split('/')[1] as string
}

function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8')
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map((match) =>
    normalize(join(dirname(file), match[1] as string)),
  )
}

test('src/ holds only folders, and each folder is a module of the table', () => {
  assert.deepEqual(globSync('src/*.*'), [])
  const modules = new Set(sources.map(moduleOf))
  assert.deepEqual([...modules].sort(), Object.keys(allowed).sort())
  assert.ok(sources.length > 30, `${sources.length} source files found`)
  assert.ok(sources.some((file) => importsOf(file).length > 3))
})

test('a module imports only the modules of its row', () => {
  for (const file of files) {
    if (file.endsWith('.test.ts')) continue
    const module = moduleOf(file)
    for (const imported of importsOf(file)) {
      if (!imported.startsWith('src/')) continue
      const other = moduleOf(imported)
      const fine = other === module || allowed[module]?.includes(other)
      assert.ok(
        fine,
        `${file} imports ${imported}: module ${module} may not import module ${other}`,
      )
    }
  }
})

test('a file with SQL is private: another module reads and changes its tables through `api.ts`', () => {
  const importsSql = /^import \{[^}]*\bsql\b[^}]*\} from '[^']*\/db\/db\.ts'/m
  const withSql = new Set(sources.filter((file) => importsSql.test(readFileSync(file, 'utf8'))))
  assert.ok(withSql.has('src/workers/identity.ts'))
  const others = sources.flatMap((file) => {
    const stores = importsOf(file).filter((imported) => /^src\/.*store\.ts$/.test(imported))
    const { imports } = runtimeImportsOf(file)
    // The composition root and commands call verbs and jobs that hold their own statements.
    const isRoot = /^src\/(main|cli)\//.test(file)
    const statements = isRoot ? [] : imports.filter((imported) => withSql.has(imported))
    return [...new Set([...stores, ...statements])]
      .filter((imported) => moduleOf(imported) !== moduleOf(file))
      .map((imported) => `${file} imports ${imported}`)
  })
  assert.deepEqual(others, [])
  for (const door of sources.filter((file) => /^src\/[^/]+\/api\.ts$/.test(file))) {
    const inside = sources.filter(
      (file) => moduleOf(file) === moduleOf(door) && importsOf(file).includes(door),
    )
    assert.deepEqual(inside, [], `${door} is for other modules`)
  }
})

test('every row names exactly the modules it imports, and all of them are in earlier rows', () => {
  const order = Object.keys(allowed)
  for (const [module, row] of Object.entries(allowed)) {
    const imported = sources.filter((file) => moduleOf(file) === module).flatMap(importsOf)
    const needed = new Set(imported.filter((file) => file.startsWith('src/')).map(moduleOf))
    const above = order.slice(0, order.indexOf(module)).filter((other) => needed.has(other))
    assert.deepEqual(row, above, `row ${module}`)
  }
})

test('imports form no cycle', () => {
  const done = new Set<string>()
  const visit = (file: string, path: string[]): void => {
    assert.ok(
      !path.includes(file),
      `circle: ${[...path.slice(path.indexOf(file)), file].join(' → ')}`,
    )
    if (done.has(file)) return
    for (const imported of importsOf(file)) {
      if (imported.startsWith('src/')) visit(imported, [...path, file])
    }
    done.add(file)
  }
  for (const file of sources) visit(file, [])
})

test('every imported file exists with the extension .ts', () => {
  const known = new Set(files)
  for (const file of files) {
    for (const imported of importsOf(file)) {
      if (imported.startsWith('src/')) assert.ok(known.has(imported), `${file} imports ${imported}`)
    }
  }
})

test('a pure file imports no store, no server and no node module except crypto, buffer and zlib', () => {
  const pure = sources.filter((file) => readFileSync(file, 'utf8').includes('* Pure:'))
  assert.ok(pure.length >= 5, 'pure files open with "Pure:" in their first comment')
  for (const file of pure) {
    const text = readFileSync(file, 'utf8')
    for (const [, name] of text.matchAll(/from 'node:([^']+)'/g)) {
      assert.ok(
        ['crypto', 'buffer', 'zlib'].includes(name as string),
        `${file} imports node:${name}`,
      )
    }
    for (const imported of importsOf(file)) {
      assert.ok(
        !/store\.ts$|^src\/edge\/(?!http\/|rate-limit\/)/.test(imported),
        `${file} imports ${imported}`,
      )
    }
  }
})

test('a contract imports only schemas, examples and declarations, and nothing that it reaches does I/O', () => {
  const contracts = sources.filter((file) => file.endsWith('/contract.ts'))
  assert.ok(contracts.length >= 2, `${contracts.length} contracts found`)
  for (const file of contracts)
    for (const imported of importsOf(file))
      assert.match(
        imported,
        /\/(contract|schema|examples|event-types|callers|errors|identifiers|page)\.ts$/,
        file,
      )
  const reached = new Set(contracts)
  for (const file of reached) {
    const { text, imports } = runtimeImportsOf(file)
    for (const imported of imports) if (imported.startsWith('src/')) reached.add(imported)
    const others = [...text.matchAll(/from '([^.'][^']*)'/g)].map((match) => match[1] as string)
    for (const other of others)
      assert.ok(
        ['typebox', 'typebox/compile', 'node:crypto', 'node:zlib'].includes(other),
        `${file} imports ${other}, and a contract reaches ${file}`,
      )
  }
})

/** Returns the source without its type imports, which do not exist at run time. */
function runtimeImportsOf(file: string): { text: string; imports: string[] } {
  const text = readFileSync(file, 'utf8').replaceAll(/import type [^;]*? from '[^']+'/g, '')
  const imports = [...text.matchAll(/from '(\.[^']+)'/g)]
  return {
    text,
    imports: imports.map((match) => normalize(join(dirname(file), match[1] as string))),
  }
}

test('consent and identity are changed only by the functions that also update credentials', () => {
  const raw = /(?:recordConsents?|recordIdentityMove|verifyFirst|registerOrEditWorkers)\b/
  const home = 'src/scoring/scores/keep-sharing.ts'
  const callers = sources.filter((file) => {
    const text = readFileSync(file, 'utf8')
    const imports = text.matchAll(/import (?!type)([^';]*?) from '[^']*\/workers\/[^']+'/g)
    return [...imports].some(([, names = '']) => raw.test(names))
  })
  assert.deepEqual(callers, [home])
})

test('a credential is revoked by name only by the function that also marks its score', () => {
  const callers = sources.filter((file) =>
    /import [^';]*?\brevokeCredentials\b[^';]* from/.test(readFileSync(file, 'utf8')),
  )
  assert.deepEqual(callers, ['src/scoring/scores/reissue.ts'])
})

test('evidence is revoked only by the function that also updates the scores', () => {
  const callers = sources.filter((file) =>
    importsOf(file).includes('src/scoring/evidence/revoke-evidence.ts'),
  )
  assert.deepEqual(callers, ['src/scoring/scores/revoke-evidence.ts'])
})

test('evidence moves to another worker only by the function that also updates the scores', () => {
  const callers = sources.filter((file) =>
    /import [^;]*?\bmoveToWorker\b/.test(readFileSync(file, 'utf8')),
  )
  assert.deepEqual(callers, ['src/scoring/scores/reassign-evidence.ts'])
})

/**
 * Files that write to the audit log themselves, although no operation, job or migration is theirs.
 * The list only shrinks: `perform` writes the entry of a change, so that no door forgets it.
 */
const recorders = [
  // The account and first key of the demo are part of another action, in its transaction.
  'src/accounts/access/manage.ts',
  // The invited person has no account yet, so no kind of caller fits.
  'src/accounts/accept-invitation.ts',
  // The demo's user joins when the server starts. No caller asks for it.
  'src/main/demo.ts',
  // Signing up by e-mail has no caller before it has ended.
  'src/main/mails.ts',
  // The service itself disables an endpoint, in the transaction of its job.
  'src/main/webhooks.ts',
  // The credits of the demo and of a new account are part of another action.
  'src/billing/credits/credits.ts',
  // The demo tells a dated story in one transaction.
  'src/demo/account.ts',
  'src/demo/receiver.ts',
  'src/demo/registry.ts',
  'src/demo/story.ts',
]

test('outside operations, jobs and migrations, only the listed files write to the audit log', () => {
  const importers = sources.filter(
    (file) =>
      !/^src\/(audit|operations|database|main\/jobs)\//.test(file) &&
      importedNames(file).some(({ name }) => name === 'recordAction' || name === 'recordEntries'),
  )
  assert.deepEqual(importers.sort(), [...recorders].sort())
})

test('no union calls its cases outcomes: refusals have the names of the error table', () => {
  const found = globSync('src/**/*.ts').filter((file) =>
    /\boutcome: '/.test(readFileSync(file, 'utf8')),
  )
  assert.deepEqual(found, [])
})

/** Returns the names that a file imports at run time from other files of `src/`. */
function importedNames(file: string): { name: string; from: string }[] {
  const text = readFileSync(file, 'utf8')
  return [...text.matchAll(/^import \{([^}]*)\} from '(\.[^']+)'/gm)].flatMap(
    ([, names = '', path = '']) =>
      names
        .split(',')
        .map((name) => name.trim().replace(/ as .*/, ''))
        .filter((name) => name !== '' && !name.startsWith('type '))
        .map((name) => ({ name, from: homeOf(normalize(join(dirname(file), path)), name) })),
  )
}

/** Returns the file that declares what a module shows through its `api.ts`. */
function homeOf(file: string, name: string): string {
  if (!/^src\/[^/]+\/api\.ts$/.test(file)) return file
  const shown = [
    ...readFileSync(file, 'utf8').matchAll(/export (?:type )?\{([^}]*)\} from '([^']+)'/g),
  ]
  const [, , home] = shown.find(([, names = '']) => new RegExp(`\\b${name}\\b`).test(names)) ?? []
  assert.ok(home, `${file} shows ${name}`)
  return normalize(join(dirname(file), home))
}

/**
 * Functions within a caller's transaction that doors call without an operation. The list only
 * shrinks: such a change has an audit entry only if the door thinks of it.
 */
const changesWithoutOperation: Record<string, readonly string[]> = {
  // The demo's user joins when the server starts.
  'src/main/demo.ts': ['addMember'],
  // Signing up makes user, account and first credits in the transaction of the link.
  'src/main/mails.ts': ['createAccount', 'findOrCreateUser', 'grantCredits', 'insertMembership'],
  // Only a lock, for the command that shows the progress of the reissue.
  'src/cli/commands/keys.ts': ['waitForReissues'],
  // The demo tells a dated story in one transaction.
  'src/demo/account.ts': ['createAccount', 'createRecordedKey', 'grantCredits'],
  'src/demo/receiver.ts': ['createEndpoint', 'disableEndpoint', 'replaySince'],
  'src/demo/registry.ts': ['insertKey', 'lockKeys', 'scoreWorkers'],
  'src/demo/seed.ts': [
    'changeConsent',
    'ingestEvidence',
    'moveIdentity',
    'openDispute',
    'registerSource',
    'registerWorkers',
    'revokeAndRescore',
    'scoreWorkers',
  ],
  'src/demo/story.ts': ['createRecordedKey', 'lockReporting', 'requestUnlockReview'],
}

test('a door changes something only by an operation, apart from the listed functions', () => {
  const found: Record<string, string[]> = {}
  // Functions of these modules change nothing that an operator must find in the audit log.
  const technical = /^src\/(platform|audit|operations|config|database|edge|main|web|cli|demo)\//
  for (const file of sources) {
    if (!/^src\/(main|web|cli|demo)\//.test(file) || file.startsWith('src/main/jobs/')) continue
    const changes = importedNames(file).filter(
      ({ name, from }) => !technical.test(from) && takesTransaction(from, name),
    )
    if (changes.length > 0) found[file] = changes.map(({ name }) => name).sort()
  }
  assert.deepEqual(found, changesWithoutOperation)
})

/** By convention, a transaction is the first parameter. */
function takesTransaction(file: string, name: string): boolean {
  const declared = `export (?:async )?function ${name}\\s*(?:<[^(]*>)?\\(|export const ${name} = (?:async )?\\(`
  return new RegExp(`^(?:${declared})\\s*\\w+: Tx\\b`, 'm').test(readFileSync(file, 'utf8'))
}

test('only config/ and cli/ read the environment, and only cli/ and main/serve.ts write to the console', () => {
  for (const file of sources) {
    const text = readFileSync(file, 'utf8')
    if (!/^src\/(cli|config)\//.test(file))
      assert.ok(
        !text.includes('process.env'),
        `${file} reads process.env: settings come from config/`,
      )
    if (!file.startsWith('src/cli/') && file !== 'src/main/serve.ts')
      assert.ok(!/console\.(log|error)/.test(text), `${file} writes to the console`)
  }
})

test('only one file imports fast-check, so property tests always use the same seed', () => {
  const importers = globSync('{src,test}/**/*.ts').filter((file) =>
    /^import .* from 'fast-check'$/m.test(readFileSync(file, 'utf8')),
  )
  assert.deepEqual(importers, ['test/support/oracle/fc.ts'])
})

/** Node modules that can open a connection, each with its exports that only listen or describe. */
const connecting: Record<string, readonly string[]> = {
  net: ['isIP', 'createServer'],
  http: ['createServer', 'STATUS_CODES', 'ServerResponse'],
  https: ['createServer'],
  http2: [],
  tls: [],
  dgram: [],
  dns: [],
  'dns/promises': [],
  inspector: [],
}

test('only platform/egress opens outgoing connections, apart from the database driver', () => {
  const home = /^src\/platform\/egress\//
  assert.ok(sources.some((file) => home.test(file)))
  // Modules of `web/assets` run in a browser, whose policy lets them reach this service alone.
  const inBrowser = /^src\/web\/assets\//
  for (const file of sources.filter((file) => !home.test(file) && !inBrowser.test(file))) {
    const text = readFileSync(file, 'utf8')
    for (const found of connectionsIn(text)) assert.fail(`${file} can open a connection: ${found}`)
  }
})

test('the check of outgoing connections detects every way to open one', () => {
  const ways = [
    "import { connect } from 'node:net'",
    "import { createServer, request } from 'node:http'",
    "import { createServer, request as ask } from 'http'",
    "import https from 'node:https'",
    "import * as tls from 'node:tls'",
    "import { Resolver } from 'node:dns/promises'",
    "import { request } from 'undici'",
    "const { request } = await import('undici')",
    "import { createTransport } from 'nodemailer'",
    "const { request } = await import('node:https')",
    "const { request } = require('node:https')",
    'await fetch(url)',
    'const ask = globalThis.fetch',
    'new WebSocket(url)',
    'new EventSource(url)',
  ]
  for (const way of ways) assert.equal(connectionsIn(way).length, 1, way)
  for (const fine of [
    "import { createServer } from 'node:http'",
    "import type { Socket } from 'node:net'",
    "import { type Server, createServer } from 'node:net'",
    'fetchedAt(row)',
    'await prefetch(rows)',
  ])
    assert.deepEqual(connectionsIn(fine), [], fine)
})

function connectionsIn(text: string): string[] {
  const found = [
    ...text.matchAll(/\bfetch\(|\bglobalThis\.fetch|\bnew (?:WebSocket|EventSource)\b/g),
    ...text.matchAll(
      /^import (?!type )[^'\n]*'(?:undici|nodemailer)'|(?:import|require)\('(?:undici|nodemailer)'\)/gm,
    ),
  ].map(([match]) => match)
  for (const [match, names = '', module = ''] of text.matchAll(
    /(?:import (?!type )([^']*?) from |(?:import|require)\()'(?:node:)?([\w/]+)'/g,
  )) {
    const fine = connecting[module]
    if (fine === undefined) continue
    const braced = /^\{(.*)\}$/s.exec(names)
    const imported = braced?.[1]?.split(',').map((name) => name.trim().replace(/ as .*/, '')) ?? [
      '*',
    ]
    if (imported.some((name) => name !== '' && !name.startsWith('type ') && !fine.includes(name)))
      found.push(match)
  }
  return found
}

test('each fault of `npm run mutants` fits its file once, breaks a sentence of the docs and names tests', () => {
  const pages = ['README.md', ...globSync('docs/**/*.md')].map((page) => readFileSync(page, 'utf8'))
  assert.equal(new Set(faults.map(({ name }) => name)).size, faults.length)
  for (const { name, promise, file, find, replace, tests } of faults) {
    assert.equal(readFileSync(file, 'utf8').split(find).length, 2, `${name}: ${file} has ${find}`)
    assert.notEqual(find, replace, name)
    assert.ok(
      pages.some((page) => page.includes(promise)),
      `${name}: no page promises ${promise}`,
    )
    assert.ok(tests.length > 0 && tests.length <= 3, name)
    for (const path of tests) assert.ok(existsSync(path), `${name}: ${path}`)
  }
})
