/**
 * The demo: sixty fictional people whose story is in the database, and its files. The files are written from what the registry has, and
 * `made.json` last; so a start that is cut off anywhere is completed by the next one, and a second process finds what the first made.
 */
import { generateKeyPairSync } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Keyring } from '../platform/crypto/keyring.ts'
import type { Db } from '../platform/db/db.ts'
import { deadlineMs } from '../platform/deadlines.ts'
import { collectGarbage } from '../platform/observability/garbage.ts'
import { alone } from '../platform/process-mark.ts'
import { signCredential } from '../score-credentials/issue.ts'
import { originOf } from '../score-credentials/payload.ts'
import { type Signer, signerOfPem } from '../score-credentials/signing-key.ts'
import { findCredentials, type StoredCredential } from '../score-credentials/store.ts'
import type { Engine } from '../scores/engine.ts'
import { loadReleasedVocabulary } from '../skill-standard/vocabulary.ts'
import { demoAccount } from './account.ts'
import { dayMs } from './days.ts'
import { demoSources } from './evidence.ts'
import {
  apiKeyFile,
  credentialFile,
  demoFolder,
  madeFile,
  removeFile,
  textOf,
  writeWhole,
} from './files.ts'
import { readmeOf } from './readme.ts'
import { type ToldStory, toldStory } from './registry.ts'
import { foreign, foreignScore, lessons, tamperedScore, validityDays } from './story.ts'

export interface DemoOptions {
  config: { publicUrl: string; dataDir: string; signingKeysDir: string }
  db: Db
  now: Date
  log: { info(message: string): void; warn(message: string): void }
  /** Null where it is refused: then nothing is made. */
  engine: Engine | null
  /** Of API keys; made where there are none. */
  peppers: () => Promise<Keyring>
}

/**
 * Makes what is missing of the demo; where nothing is, one query. Adds to the database its own people and account alone, and a signing
 * key where none is usable. Throws `KeyRefused` where the active key's file is on another machine. False: there is no demo.
 */
export async function prepareDemo(options: DemoOptions): Promise<boolean> {
  const { dataDir } = options.config
  if (await isMade(options)) return true
  const { engine, log } = options
  if (engine === null) {
    log.warn('there is no demo: its scores cannot be computed')
    return false
  }
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  // Two that start at once, perhaps for two addresses, must not mix their files.
  await alone(join(dataDir, 'demo.lock'), deadlineMs('demo'), async () => {
    if (await isMade(options)) return
    log.info('making the demo')
    await makeDemo({ ...options, engine })
    // Else this server would hold what is left of it for as long as nothing presses.
    collectGarbage()
    log.info('the demo is made')
  })
  return true
}

async function makeDemo(options: DemoOptions & { engine: Engine }): Promise<void> {
  const { config, db, now, engine, peppers } = options
  const { publicUrl, dataDir, signingKeysDir } = config
  await removeFile(madeFile(dataDir))
  const told = await toldStory(db, {
    publicUrl,
    keysFolder: signingKeysDir,
    engine,
    records: loadReleasedVocabulary().records,
    now: wholeSecond(now),
  })
  await demoAccount(db, dataDir, { peppers, now })
  for (const [name, text] of textsOf(told, publicUrl, now))
    await writeWhole(join(demoFolder(dataDir), name), text)
  if (!hasLessons(dataDir))
    throw new Error(
      'The people of the demo are not those of its story any more. Start with `assay serve`, or with another ASSAY_DATA_DIR.',
    )
  await writeWhole(madeFile(dataDir), madeText(publicUrl))
}

function hasLessons(dataDir: string): boolean {
  return Object.keys(lessons).every((lesson) => existsSync(credentialFile(dataDir, lesson)))
}

const otherFiles = ['README.md', 'people.ndjson', 'sources.ndjson', 'evidence.ndjson'] as const

/** By file name. */
function textsOf({ members, credentials }: ToldStory, publicUrl: string, now: Date) {
  const texts = new Map<string, string>()
  for (const [lesson, stored] of credentials)
    texts.set(`credentials/${lesson}.json`, textOfLesson(lesson, stored))
  texts.set('credentials/wrong-issuer.json', foreignText(publicUrl, now))
  texts.set('people.ndjson', ndjson(members.map(({ line }) => line)))
  texts.set('sources.ndjson', ndjson(demoSources))
  texts.set(
    'evidence.ndjson',
    ndjson(members.flatMap(({ evidence }) => evidence.map(({ line }) => line))),
  )
  return texts.set('README.md', readmeOf(publicUrl))
}

function madeText(publicUrl: string): string {
  return `${JSON.stringify({ publicUrl, version: 2 })}\n`
}

/** All files are there, they are for this address, and they are from this database, no earlier one, and not about to expire. */
async function isMade({ config, db, now }: DemoOptions): Promise<boolean> {
  const { publicUrl, dataDir } = config
  const others = [...otherFiles.map((name) => join(demoFolder(dataDir), name)), apiKeyFile(dataDir)]
  const isThere = hasLessons(dataDir) && others.every(existsSync)
  if (!isThere || (await textOf(madeFile(dataDir))) !== madeText(publicUrl)) return false
  const text = (await textOf(credentialFile(dataDir, 'valid'))) ?? ''
  const id = /^ {2}"id": "urn:uuid:([0-9a-f-]{36})"/m.exec(text)?.[1]
  const validUntil = /^ {2}"validUntil": "([^"]+)"/m.exec(text)?.[1] ?? ''
  if (id === undefined || !(Date.parse(validUntil) > now.getTime() + madeAgainDays * dayMs))
    return false
  const [stored] = await findCredentials(db, [id])
  return stored !== undefined && text === textOfLesson('valid', stored)
}

/** Before a credential of the files expires the story is told again. */
const madeAgainDays = 30

function textOfLesson(lesson: string, { payload, proof }: StoredCredential): string {
  const credential = { ...JSON.parse(payload), proof: JSON.parse(proof) }
  if (lesson === 'tampered') credential.credentialSubject.score = tamperedScore
  return asFile(credential)
}

/** In everything like one of ours, contexts included, but for who issued it. */
function foreignText(publicUrl: string, now: Date): string {
  const { contextUrl } = originOf(publicUrl)
  const issuer = {
    origin: { ...originOf(foreign.url), contextUrl },
    signer: throwAwaySigner(),
    validityDays,
    supersedeRevokes: false,
  }
  const issuedAt = new Date(wholeSecond(now).getTime() - foreign.daysAgo * dayMs)
  const slot = { token: '0'.repeat(64), listId: 'aaaaaaaaaa', index: 0 }
  return asFile(signCredential(issuer, { ...foreignScore, issuedAt }, slot).issued.credential)
}

function throwAwaySigner(): Signer {
  const { privateKey } = generateKeyPairSync('ed25519')
  return signerOfPem(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()) as Signer
}

function asFile(credential: object): string {
  return `${JSON.stringify(credential, null, 2)}\n`
}

function ndjson(lines: readonly unknown[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

function wholeSecond(time: Date): Date {
  return new Date(Math.floor(time.getTime() / 1_000) * 1_000)
}
