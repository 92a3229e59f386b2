/**
 * The demo: a dozen issued credentials of fictional people, and their files. The files are written from what the registry has, and
 * `made.json` last; so a start that is cut off anywhere is completed by the next one, and a second process finds what the first made.
 */
import { generateKeyPairSync } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Db } from '../platform/db.ts'
import { alone } from '../platform/process-mark.ts'
import { signCredential } from '../score-credentials/issue.ts'
import { originOf } from '../score-credentials/payload.ts'
import { type Signer, signerOfPem } from '../score-credentials/signing-key.ts'
import { findCredentials, type StoredCredential } from '../score-credentials/store.ts'
import { credentialFile, demoFolder, madeFile, removeFile, textOf, writeWhole } from './files.ts'
import { scoreOf, storyCredentials } from './issue-story.ts'
import { readmeOf } from './readme.ts'
import {
  credentialIdOf,
  type DemoCredential,
  foreign,
  foreignUrl,
  generationAt,
  story,
  tamperedScore,
} from './story.ts'

export interface DemoOptions {
  config: { publicUrl: string; dataDir: string; signingKeysDir: string }
  db: Db
  now: Date
  log: { info(message: string): void }
}

/**
 * Makes what is missing of the demo; where nothing is, one query. Adds to the registry its own credentials alone, and a signing key
 * where none is usable. Throws `KeyRefused` where the active key's file is on another machine.
 */
export async function prepareDemo({ config, db, now, log }: DemoOptions): Promise<void> {
  const { publicUrl, dataDir } = config
  const text = `${JSON.stringify({ publicUrl, generation: generationAt(now), version: 1 })}\n`
  const made = { made: text, publicUrl, dataDir, now }
  if (await isMade(db, made)) return
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  // Two that start at once, perhaps for two addresses, must not mix their files.
  await alone(join(dataDir, 'demo.lock'), otherMakesItWithinMs, async () => {
    if (await isMade(db, made)) return
    log.info('making the demo')
    await makeDemo(db, config, made)
    log.info('the demo is made')
  })
}

const otherMakesItWithinMs = 60_000

async function makeDemo(
  db: Db,
  { signingKeysDir }: DemoOptions['config'],
  { made, publicUrl, dataDir, now }: Made,
): Promise<void> {
  await removeFile(madeFile(dataDir))
  const telling = {
    publicUrl,
    generation: generationAt(now),
    keysFolder: signingKeysDir,
    now: wholeSecond(now),
  }
  const stored = await storyCredentials(db, telling)
  const texts = new Map(
    [...stored].map(([file, credential]) => [file, textOfFile(file, credential)]),
  )
  texts.set(foreign.file, foreignText(publicUrl, now))
  for (const [file, text] of texts) await writeWhole(credentialFile(dataDir, file), text)
  await writeWhole(join(demoFolder(dataDir), 'README.md'), readmeOf(publicUrl))
  await writeWhole(madeFile(dataDir), made)
}

interface Made {
  made: string
  publicUrl: string
  dataDir: string
  now: Date
}

/** All files are there, they are for this address and half-year, and they are from this database and no earlier one. */
async function isMade(db: Db, { made, publicUrl, dataDir, now }: Made): Promise<boolean> {
  const files = [...story, foreign].map(({ file }) => credentialFile(dataDir, file))
  if ((await textOf(madeFile(dataDir))) !== made || !files.every(existsSync)) return false
  const valid = story.find(({ file }) => file === 'valid') as DemoCredential
  const id = credentialIdOf(valid, { publicUrl, generation: generationAt(now) })
  const [stored] = await findCredentials(db, [id])
  if (stored === undefined) return false
  return (await textOf(credentialFile(dataDir, 'valid'))) === textOfFile('valid', stored)
}

function textOfFile(file: string, { payload, proof }: StoredCredential): string {
  const credential = { ...JSON.parse(payload), proof: JSON.parse(proof) }
  if (file === 'tampered') credential.credentialSubject.score = tamperedScore
  return asFile(credential)
}

/** In everything like one of ours, contexts included, but for who issued it. */
function foreignText(publicUrl: string, now: Date): string {
  const { contextUrl } = originOf(publicUrl)
  const issuer = {
    origin: { ...originOf(foreignUrl), contextUrl },
    signer: throwAwaySigner(),
    validityDays: foreign.validityDays,
    supersedeRevokes: false,
  }
  const issuedAt = new Date(wholeSecond(now).getTime() - foreign.daysAgo * 86_400_000)
  const slot = { token: '0'.repeat(64), listId: 'aaaaaaaaaa', index: 0 }
  const score = {
    ...scoreOf(foreign),
    issuedAt,
    id: credentialIdOf(foreign, { publicUrl, generation: 0 }),
  }
  return asFile(signCredential(issuer, score, slot).issued.credential)
}

function throwAwaySigner(): Signer {
  const { privateKey } = generateKeyPairSync('ed25519')
  return signerOfPem(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()) as Signer
}

function asFile(credential: object): string {
  return `${JSON.stringify(credential, null, 2)}\n`
}

function wholeSecond(time: Date): Date {
  return new Date(Math.floor(time.getTime() / 1_000) * 1_000)
}
