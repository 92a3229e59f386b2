/**
 * Checks what the docs print: the offline verifiers with the vectors, the example files, the backup
 * commands, the documented fields and the links. `docs-commands.test.ts` runs the commands.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { didDocumentOf, publicKeyDocumentOf } from '../src/credentials/documents.ts'
import { bitsOf, statusListPayload, statusListProofs } from '../src/credentials/status-list.ts'
import { releasedVocabulary } from '../src/main/scoring.ts'
import { evidenceFault, readEvidenceLine } from '../src/scoring/evidence/evidence-line.ts'
import { evidenceLine, sourceLine } from '../src/scoring/evidence/schema.ts'
import { readSourceLine, sourceOf } from '../src/scoring/evidence/source-line.ts'
import { readScoreLine } from '../src/scoring/scores/issue-scores.ts'
import { type EventType, eventTypes } from '../src/webhooks/events/event-types.ts'
import { readRegistration } from '../src/workers/registration.ts'
import { registration } from '../src/workers/schema.ts'
import { keyRow, origin, signer, signerOf } from './support/build/credentials.ts'

const verifiers = readFileSync('docs/verify-offline.md', 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'assay-docs-'))
after(() => rmSync(folder, { recursive: true }))

const vector = JSON.parse(readFileSync('vectors/score-credential.json', 'utf8'))
const credential = vector.native.credential
const did = didDocumentOf(origin, [keyRow(signer)])
/** The keys after a rotation and before the next. */
const rotatedDid = didDocumentOf(origin, [
  keyRow(signer, { state: 'retired' }),
  keyRow(signerOf(8)),
  keyRow(signerOf(9), { state: 'pending' }),
])
const missing = 'not in the key file: give did.json'
/** In this list the credential of the other vector is revoked. */
const listVector = JSON.parse(readFileSync('vectors/status-list.json', 'utf8'))
const revokedList = listVector.credentials.native
const place = Number(credential.credentialStatus.statusListIndex)
const clearList = listWithout(place)

/** Returns the vector's list with one bit cleared and a new signature. */
function listWithout(index: number, by = signer): Record<string, unknown> {
  const indexes: number[] = listVector.revokedIndexes
  const payload = statusListPayload(origin, {
    listId: '2026-0007',
    bits: bitsOf(indexes.filter((one) => one !== index)),
    publishedAt: new Date(revokedList.validFrom),
  })
  return { ...payload, proof: statusListProofs(payload, origin, by).native }
}

interface Case {
  name: string
  credential: unknown
  did: unknown
  list: unknown
  now: string
  /** The verdict, or the message with which the program ends. */
  expected: string
}

const subject = credential.credentialSubject
const base = { credential, did, list: clearList, now: revokedList.validFrom }
const cases: Case[] = [
  { ...base, name: 'as issued', expected: 'valid' },
  { ...base, name: 'its bit is set', list: revokedList, expected: 'revoked' },
  {
    ...base,
    name: 'a claim changed',
    credential: { ...credential, credentialSubject: { ...subject, score: 743 } },
    expected: 'signature_invalid',
  },
  { ...base, name: 'a year later', now: '2027-05-14T09:00:01Z', expected: 'expired' },
  { ...base, name: 'a second early', now: '2026-05-14T08:59:59Z', expected: 'not_yet_valid' },
  {
    ...base,
    name: 'another issuer',
    credential: { ...credential, issuer: 'did:web:elsewhere.example' },
    expected: 'issuer_mismatch',
  },
  {
    ...base,
    name: 'another issuer and its key',
    credential: {
      ...credential,
      issuer: 'did:web:elsewhere.example',
      proof: { ...credential.proof, verificationMethod: 'did:web:elsewhere.example#z6Mk' },
    },
    expected: 'issuer_mismatch',
  },
  {
    ...base,
    name: 'after a rotation',
    did: rotatedDid,
    list: listWithout(place, signerOf(8)),
    expected: 'valid',
  },
  {
    ...base,
    name: 'a list by a key that the file lacks',
    list: listWithout(place, signerOf(8)),
    expected: missing,
  },
  {
    ...base,
    name: 'a list by a key that does not sign yet',
    did: rotatedDid,
    list: listWithout(place, signerOf(9)),
    expected: missing,
  },
  {
    ...base,
    name: 'a key that the file lacks',
    did: didDocumentOf(origin, [keyRow(signerOf(8))]),
    expected: missing,
  },
  {
    ...base,
    name: 'the document of one key',
    did: publicKeyDocumentOf(origin, keyRow(signerOf(8))),
    expected: missing,
  },
  {
    ...base,
    name: 'a stolen key',
    did: didDocumentOf(origin, [keyRow(signer, { state: 'revoked', revokedAt: new Date() })]),
    expected: 'key_revoked',
  },
  {
    ...base,
    name: 'a list that was changed',
    list: { ...revokedList, credentialSubject: clearList.credentialSubject },
    expected: 'status_unavailable',
  },
  {
    ...base,
    name: 'a list grown old',
    now: '2026-12-14T09:00:00Z',
    expected: 'status_unavailable',
  },
]

function codeBlock(language: string): string {
  const block = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(verifiers)?.[1]
  assert.ok(block, `the page holds a block of ${language}`)
  return block
}

test('the example scores are valid lines', () => {
  const lines = readFileSync('docs/scores.ndjson', 'utf8').trimEnd().split('\n')
  for (const line of lines) assert.ok('username' in readScoreLine(Buffer.from(line)), line)
})

test("no page puts the example workers and scores into the reader's own database", () => {
  const example = /bin\/assay .*docs\/\w+\.ndjson/
  const pages = ['README.md', ...globSync('docs/*.md')].filter((file) =>
    example.test(readFileSync(file, 'utf8')),
  )
  assert.deepEqual(pages, ['docs/issue-scores.md'], 'a page with a database of its own')
})

test('the TypeScript verifier of the page returns the expected verdict for every case', async () => {
  const file = join(folder, 'verify.ts')
  writeFileSync(file, codeBlock('ts'))
  const { check } = (await import(pathToFileURL(file).href)) as {
    check(credential: unknown, did: unknown, list: unknown, now: Date): string
  }
  for (const { name, expected, now, ...given } of cases) {
    const checked = () => check(given.credential, given.did, given.list, new Date(now))
    if (expected === missing) assert.throws(checked, { message: missing }, name)
    else assert.equal(checked(), expected, name)
  }
})

test('the Python verifier of the page returns the expected verdict for every case', (t) => {
  const python = ['/usr/bin/python3', 'python3'].find(
    (candidate) => spawnSync(candidate, ['-c', 'import nacl']).status === 0,
  )
  if (python === undefined) {
    t.skip('PyNaCl is not installed: the Python verifier was NOT run')
    return
  }
  writeFileSync(join(folder, 'cases.json'), JSON.stringify(cases))
  writeFileSync(join(folder, 'verify.py'), codeBlock('python'))
  writeFileSync(
    join(folder, 'run.py'),
    [
      'import json, sys',
      'from datetime import datetime',
      'from verify import check',
      'for case in json.load(open("cases.json")):',
      '    now = datetime.fromisoformat(case["now"].replace("Z", "+00:00"))',
      '    try:',
      '        print(check(case["credential"], case["did"], case["list"], now))',
      '    except LookupError as error:',
      '        print(error.args[0])',
    ].join('\n'),
  )
  const run = spawnSync(python, ['run.py'], { cwd: folder, encoding: 'utf8' })
  assert.equal(run.stderr, '')
  assert.deepEqual(
    run.stdout.trim().split('\n'),
    cases.map((one) => one.expected),
  )
})

test('the example sources and evidence are accepted and name existing skills', () => {
  const lines = (file: string): string[] => readFileSync(file, 'utf8').split('\n').filter(Boolean)
  const [sources, evidence] = [lines('docs/sources.ndjson'), lines('docs/evidence.ndjson')]
  assert.ok(sources.length > 0 && evidence.length > 0)
  const ids = new Set(
    sources.map((line) => {
      const read = readSourceLine(JSON.parse(line))
      assert.ok(!('refused' in read) && !('refused' in sourceOf(read)), line)
      return read.id
    }),
  )
  const vocabulary = releasedVocabulary()
  for (const line of evidence) {
    const read = readEvidenceLine(JSON.parse(line))
    assert.ok('observedOn' in read, line)
    assert.ok(ids.has(read.sourceId))
    assert.equal(evidenceFault(read, { vocabulary, today: '2026-05-14' }), null)
  }
})

test('the example workers are accepted, and every field of a worker, a source and an item is documented', () => {
  const lines = readFileSync('docs/people.ndjson', 'utf8').split('\n').filter(Boolean)
  for (const line of lines)
    assert.ok('profile' in readRegistration(JSON.parse(line), new Date('2026-05-14')), line)
  const fields = {
    'docs/workers.md': registration.properties,
    'docs/evidence.md': { ...sourceLine.properties, ...evidenceLine.properties },
  }
  for (const [file, properties] of Object.entries(fields)) {
    const rows = readFileSync(file, 'utf8').match(/^\| `.*$/gm) ?? []
    for (const name of Object.keys(properties))
      assert.ok(
        rows.some((row) => row.includes(`\`${name}\``)),
        `${file} documents ${name}`,
      )
  }
})

test('the page of events documents every member of every event and prints a body as it is sent', () => {
  const receive = readFileSync('docs/webhook-events.md', 'utf8')
  const { events } = JSON.parse(readFileSync('vectors/webhook-events.json', 'utf8'))
  assert.ok(receive.includes(`\n${events[0].body}\n`))
  assert.deepEqual(
    new Set(events.map(({ type }: { type: string }) => type)),
    new Set(Object.keys(eventTypes)),
  )
  const rowOf = (type: string) =>
    receive.split('\n').find((line) => line.startsWith(`| \`${type}\` |`)) ?? ''
  /** Events whose row refers to the row of another event. */
  const continued: Partial<Record<EventType, EventType>> = {
    'score.revised': 'score.updated',
    'dispute.resolved': 'dispute.opened',
  }
  for (const type of Object.keys(eventTypes) as EventType[]) {
    const rows = rowOf(type) + rowOf(continued[type] ?? type)
    const names = Object.keys(eventTypes[type].data.properties).filter(
      (name) => name !== 'workerId',
    )
    assert.deepEqual(
      names.filter((name) => !rows.includes(`\`${name}\``)),
      [],
      type,
    )
  }
})

test('the backup of docs/backups.md: only the operator can read the copies, and restored files keep their modes', () => {
  const place = mkdtempSync(join(folder, 'back up-'))
  const files = [
    ['assay/postgres/PG_VERSION', 0o600],
    ['assay/postgres/postgresql.auto.conf', 0o600],
    ['assay/keys/2026.pem', 0o600],
    ['assay/webhook-secrets.keys', 0o600],
    ['assay/keys/readme', 0o644],
  ] as const
  for (const name of ['assay', 'assay/postgres', 'assay/keys'])
    mkdirSync(join(place, name), { mode: 0o700 })
  for (const [name, mode] of files) writeFileSync(join(place, name), name, { mode })
  const page = readFileSync('docs/backups.md', 'utf8').replace(/^## Back up your.*?(?=^## )/ms, '')
  const scripts = resolve('deploy/backup')
  const fences = [...page.matchAll(/^ *```sh production.*\n([^]*?)^ *```$/gm)].map(
    ([, text = '']) =>
      text
        .replace(/^ {3}/gm, '')
        .replace(/^([A-Z]+)=\/.*\/(\S+)/gm, `$1='${place}/$2'`)
        .replace('sudo install -d -o assay -g assay', 'install -d')
        .replaceAll('deploy/backup/', `${scripts}/`)
        .replace(/base-\d+T\d+Z"/, '"base-*')
        .replace(/ 2026-\S+Z$/m, ''),
  )
  const own = fences.filter((fence) => !fence.includes('systemctl'))
  const commands = ['umask 022; set -e', ...own.slice(0, 6)].join('\n')
  const { status, stderr } = spawnSync('sh', ['-c', commands], { cwd: place, encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  const modeOf = (path: string) => statSync(path).mode & 0o777
  for (const name of ['assay-backup', 'assay-backup/wal', 'assay-secrets'])
    assert.equal(modeOf(join(place, name)), 0o700, name)
  for (const [name, mode] of files) assert.equal(modeOf(join(place, name)), mode, name)
  for (const name of ['assay', 'assay/postgres', 'assay/keys'])
    assert.equal(modeOf(join(place, name)), 0o700, name)
  const conf = readFileSync(join(place, 'assay/postgres/postgresql.conf'), 'utf8')
  assert.match(
    conf,
    /^archive_mode = on\n.*\narchive_command = '"\/.*\/archive-wal" "%p" "%f" "\//m,
  )
})

/** The id that a heading gets in the rendered page. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

test('every relative link of a page leads to a file of the project, and to a heading of it', () => {
  const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...globSync('docs/**/*.md')]
  const textOf = (file: string) => readFileSync(file, 'utf8').replace(/^ *```.*?^ *```$/gms, '')
  for (const page of pages)
    for (const [, target = '', anchor] of textOf(page).matchAll(
      /\]\((?!https?:|\/)([^)#]*)(?:#([^)]+))?\)/g,
    )) {
      const file = target === '' ? page : join(dirname(page), target)
      assert.ok(existsSync(file), `${page} links to ${target}`)
      if (anchor === undefined) continue
      const headings = [...textOf(file).matchAll(/^#+ (.*)$/gm)].map(([, text = '']) =>
        anchorOf(text),
      )
      assert.ok(headings.includes(anchor), `${page} links to ${target}#${anchor}`)
    }
})

test('docs/README.md lists every page', () => {
  const list = readFileSync('docs/README.md', 'utf8')
  for (const page of globSync('*.md', { cwd: 'docs' }))
    assert.ok(page === 'README.md' || list.includes(`](${page})`), page)
})

const architecture = readFileSync('docs/architecture.md', 'utf8')
const sources = globSync('src/**/*.ts').filter((file) => !file.endsWith('.test.ts'))

function moduleOf(file: string): string {
  return file.split('/')[1] ?? ''
}

/** Returns the names in backticks of each table row that begins with a module. */
function rowsOf(section: string): Map<string, string[]> {
  const [, text = ''] = architecture.split(`## ${section}\n`)
  const rows = (text.split('\n## ')[0] ?? '').matchAll(/^\| `([a-z0-9-]+)` \| (.*) \|$/gm)
  return new Map(
    [...rows].map(([, module = '', cell = '']) => [
      module,
      [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
    ]),
  )
}

test('docs/architecture.md names every module', () => {
  assert.deepEqual([...rowsOf('Modules').keys()].sort(), [...new Set(sources.map(moduleOf))].sort())
})

test('docs/architecture.md names the only module that writes each table', () => {
  const schema = readFileSync('schema.sql', 'utf8')
  const created = [...schema.matchAll(/^create table (\w+) \(/gm)].map(([, name = '']) => name)
  assert.ok(created.length > 50, `${created.length} tables found`)
  const rows = rowsOf('Tables and their writers')
  const byTriggers = /Triggers of `workers` keep (.*)/.exec(architecture)?.[1] ?? ''
  const writes = /\b(?:insert into|update|delete from) (?:only )?(\w+)/g
  const writers = Map.groupBy(
    sources.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(writes)].map(([, table = '']) => {
        return { table, module: moduleOf(file) }
      }),
    ),
    ({ table }) => table,
  )
  for (const table of created) {
    const modules = new Set(writers.get(table)?.map(({ module }) => module))
    if (modules.size === 0) assert.ok(byTriggers.includes(`\`${table}\``), `${table} has a writer`)
    for (const module of modules)
      assert.ok(rows.get(module)?.includes(table), `${module} writes ${table}`)
    const named = [...rows].filter(([, tables]) => tables.includes(table))
    assert.ok(named.length <= 1, `${table} has one row`)
  }
})

test('every migration that a page names by its file exists', () => {
  for (const page of globSync('docs/*.md'))
    for (const [name] of readFileSync(page, 'utf8').matchAll(/\b\d{4}_\w+\.sql\b/g))
      assert.ok(existsSync(join('migrations', name)), `${page}: ${name}`)
})

test('docs/architecture.md names only paths that exist', () => {
  for (const [, path = ''] of architecture.matchAll(/`((?:src|test|migrations|engines)\/[^`]*)`/g))
    assert.ok(existsSync(path), path)
})

test('the pages name only migrations that exist', () => {
  for (const page of readdirSync('docs').filter((name) => name.endsWith('.md')))
    for (const [name] of readFileSync(join('docs', page), 'utf8').matchAll(/\b\d{4}_\w+\.sql\b/g))
      assert.ok(existsSync(join('migrations', name)), `${page} names ${name}`)
})
