/**
 * The demo: sixty fictional workers with a seeded history in the database, and its files. The files
 * are written from the database, and `made.json` last. So the next start completes an interrupted
 * one, and a second process finds the records of the first.
 */
import { generateKeyPairSync } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { findCredentials, type StoredCredential } from '../credentials/api.ts'
import { signCredential } from '../credentials/issue.ts'
import { originOf } from '../credentials/payload.ts'
import { type Signer, signerOfPem } from '../credentials/signing-key.ts'
import { environments } from '../edge/http/callers.ts'
import type { Db } from '../platform/db/db.ts'
import { deadlineMs } from '../platform/deadlines.ts'
import { alone } from '../platform/process-mark.ts'
import type { Engine } from '../scoring/scores/engine.ts'
import { loadReleasedVocabulary } from '../standard/releases.ts'
import { ensureDemoAccount } from './account.ts'
import { demoSources } from './evidence.ts'
import {
  command,
  completionFile,
  credentialFile,
  demoFolder,
  keyFile,
  readText,
  removeFile,
  writeFileAtomically,
} from './files.ts'
import { type DemoRecords, ensureRecords } from './registry.ts'
import {
  dayMs,
  disputing,
  foreign,
  foreignScore,
  revokedEvidence,
  samples,
  tamperedScore,
  validityDays,
  withdrawn,
} from './scenario.ts'
import { ensureStory } from './story.ts'

interface DemoOptions {
  config: { publicUrl: string; dataDir: string; signingKeysDir: string }
  db: Db
  now: Date
  log: { info(message: string): void; warn(message: string): void }
  /** Null if the engine was refused: then the demo is not created. */
  engine: Engine | null
}

/**
 * Creates the missing parts of the demo. A complete demo costs one query. Adds only the demo's
 * workers and account to the database, and a signing key if none exists. Throws `KeyRefused` if the
 * file of the active key is on another machine. Returns false if there is no demo.
 */
export async function prepareDemo(options: DemoOptions): Promise<boolean> {
  const { dataDir } = options.config
  if (await isComplete(options)) return true
  const { engine, log } = options
  if (engine === null) {
    log.warn('there is no demo: its scores cannot be computed')
    return false
  }
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  // Two processes that start at once, perhaps with two addresses, must not mix their files.
  await alone(join(dataDir, 'demo.lock'), deadlineMs('demo'), async () => {
    if (await isComplete(options)) return
    log.info('making the demo')
    await makeDemo({ ...options, engine })
    log.info('the demo is made')
  })
  return true
}

async function makeDemo(options: DemoOptions & { engine: Engine }): Promise<void> {
  const { config, db, now, engine } = options
  const { publicUrl, dataDir, signingKeysDir } = config
  await removeFile(completionFile(dataDir))
  const records = await ensureRecords(db, {
    publicUrl,
    keysFolder: signingKeysDir,
    engine,
    records: loadReleasedVocabulary().records,
    now: wholeSecond(now),
  })
  await ensureDemoAccount(db, dataDir, now)
  await ensureStory(db, now)
  for (const [name, text] of renderFiles(records, publicUrl, now))
    await writeFileAtomically(join(demoFolder(dataDir), name), text)
  if (!hasSampleFiles(dataDir))
    throw new Error(
      'The workers of the demo were changed, so its sample credentials cannot be made. Start with `assay serve`, or with another ASSAY_DATA_DIR.',
    )
  await writeFileAtomically(completionFile(dataDir), completionText(publicUrl))
}

function hasSampleFiles(dataDir: string): boolean {
  return Object.keys(samples).every((sample) => existsSync(credentialFile(dataDir, sample)))
}

const otherFiles = ['README.md', 'people.ndjson', 'sources.ndjson', 'evidence.ndjson'] as const

/** Returns the text of each file, by file name. */
function renderFiles({ members, credentials }: DemoRecords, publicUrl: string, now: Date) {
  const texts = new Map<string, string>()
  for (const [sample, stored] of credentials)
    texts.set(`credentials/${sample}.json`, sampleText(sample, stored))
  texts.set('credentials/wrong-issuer.json', foreignCredentialText(publicUrl, now))
  texts.set('people.ndjson', ndjson(members.map(({ line }) => line)))
  texts.set('sources.ndjson', ndjson(demoSources))
  texts.set(
    'evidence.ndjson',
    ndjson(members.flatMap(({ evidence }) => evidence.map(({ line }) => line))),
  )
  return texts.set('README.md', renderReadme(publicUrl))
}

function completionText(publicUrl: string): string {
  return `${JSON.stringify({ publicUrl, version: 3 })}\n`
}

/**
 * Returns true if all files exist, were written for this address and from this database, and hold
 * credentials that do not expire soon.
 */
async function isComplete({ config, db, now }: DemoOptions): Promise<boolean> {
  const { publicUrl, dataDir } = config
  const keys = environments.map((environment) => keyFile(dataDir, environment))
  const others = [...otherFiles.map((name) => join(demoFolder(dataDir), name)), ...keys]
  const isThere = hasSampleFiles(dataDir) && others.every(existsSync)
  if (!isThere || (await readText(completionFile(dataDir))) !== completionText(publicUrl))
    return false
  const text = (await readText(credentialFile(dataDir, 'valid'))) ?? ''
  const id = /^ {2}"id": "urn:uuid:([0-9a-f-]{36})"/m.exec(text)?.[1]
  const validUntil = /^ {2}"validUntil": "([^"]+)"/m.exec(text)?.[1] ?? ''
  if (id === undefined || !(Date.parse(validUntil) > now.getTime() + renewalDays * dayMs))
    return false
  const [stored] = await findCredentials(db, [id])
  return stored !== undefined && text === sampleText('valid', stored)
}

/** The credentials are issued again this many days before they expire. */
const renewalDays = 30

function sampleText(sample: string, { payload, proof }: StoredCredential): string {
  const credential = { ...JSON.parse(payload), proof: JSON.parse(proof) }
  if (sample === 'tampered') credential.credentialSubject.score = tamperedScore
  return formatCredential(credential)
}

/** Returns a credential that differs from the service's own only in its issuer. */
function foreignCredentialText(publicUrl: string, now: Date): string {
  const { contextUrl } = originOf(publicUrl)
  const issuer = {
    origin: { ...originOf(foreign.url), contextUrl },
    signer: throwAwaySigner(),
    validityDays,
    supersedeRevokes: false,
  }
  const issuedAt = new Date(wholeSecond(now).getTime() - foreign.daysAgo * dayMs)
  const slot = { token: '0'.repeat(64), listId: 'aaaaaaaaaa', index: 0 }
  return formatCredential(
    signCredential(issuer, { ...foreignScore, issuedAt }, slot).issued.credential,
  )
}

function throwAwaySigner(): Signer {
  const { privateKey } = generateKeyPairSync('ed25519')
  return signerOfPem(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()) as Signer
}

function formatCredential(credential: object): string {
  return `${JSON.stringify(credential, null, 2)}\n`
}

function ndjson(lines: readonly unknown[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

function wholeSecond(time: Date): Date {
  return new Date(Math.floor(time.getTime() / 1_000) * 1_000)
}

function renderReadme(publicUrl: string): string {
  const rows = Object.entries(samples).map(
    ([file, { reason, description }]) =>
      `| \`credentials/${file}.json\` | ${reason === null ? 'valid' : `\`${reason}\``} | ${description} |`,
  )
  return `# The demo

The service at ${publicUrl} scored the skills of sixty workers. All of them are fictional.

## Credentials

Each file holds a credential with another result of verification. Verify one:

    curl -s -H 'Content-Type: application/json' --data-binary @credentials/revoked.json \\
      ${publicUrl}/api/v1/score-vc/verify

| file | result | reason |
|---|---|---|
${rows.join('\n')}

## Search, candidates and scores

The file \`api-key\` holds the API key of the account \`demo\`, which has 1,000 credits. The file \`test-key\` holds its key for the
sandbox, whose candidates cost nothing. In this folder, run:

    curl -s -H "Authorization: Bearer $(cat api-key)" "${publicUrl}/api/v1/candidates/search?q=typescript"
    curl -s -H "Authorization: Bearer $(cat api-key)" ${publicUrl}/api/v1/candidates/demo-amara-okonkwo

If metering and payments are on, a request without the key gets 402 with the price and the address to pay. The demo
accepts no payments. \`npm run demo:x402\` shows a payment from the challenge to the receipt, on a local chain.

Search lists only workers with the consent to be listed. ${withdrawn.username} withdrew the consent to share the score, which
revoked the credentials. Two items of evidence of ${revokedEvidence.username} were revoked, and the score was revised.
${disputing.username} disputes the score, so the service hides it until the dispute is resolved: \`${command} disputes list\`.

## Source records

\`sources.ndjson\`, \`people.ndjson\` and \`evidence.ndjson\` hold the registered records, in the formats of
\`assay sources register\`, \`workers import\` and \`evidence import\`. To import your own records, see docs/issue-scores.md.

The server rewrites these files if one is missing, if PUBLIC_URL changes, and before the credentials expire.
`
}
