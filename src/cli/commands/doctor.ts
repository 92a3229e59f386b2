/**
 * `assay doctor`: prints a line for each check. It changes nothing, but it starts the embedded
 * database if there is one, and stops it again.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { type Config, ConfigError, readConfig } from '../../config/config.ts'
import { developmentWarnings } from '../../config/development.ts'
import type { Signer } from '../../score-credentials/signing-key.ts'
import { act, finish } from '../command.ts'
import { openCommandDb, withServer } from '../context.ts'
import { databaseFindings } from '../doctor-database.ts'
import {
  dataFolder,
  keyFiles,
  nodeVersion,
  portFree,
  scoringEngine,
  signatureLibrary,
} from '../doctor-machine.ts'
import { type Finding, fail, ok, warn } from '../finding.ts'
import { done, type Outcome, withoutSecrets } from '../output.ts'

export function declareCommand(declared: Command): void {
  finish(declared, 'assay doctor').action(act(() => runChecks(process.env)))
}

async function runChecks(env: Record<string, string | undefined>): Promise<Outcome> {
  const findings = (await examine(env)).map((one) => ({ ...one, told: withoutSecrets(one.told) }))
  const isSound = findings.every(({ level }) => level !== 'fail')
  const lines = findings.map(
    ({ check, level, told }) => `${level.padEnd(4)}  ${check.padEnd(12)}  ${told}`,
  )
  return done({ ok: isSound, findings }, lines, isSound ? 0 : 1)
}

async function examine(env: Record<string, string | undefined>): Promise<Finding[]> {
  const node = nodeVersion(process.version)
  const config = settingsOf(env)
  if (Array.isArray(config)) return [node, ...config]
  const { finding: files, signers } = await keyFiles(config)
  return [
    node,
    ok('settings', `PUBLIC_URL is ${config.publicUrl}`),
    ...developmentWarnings(config).map((told) => warn('settings', told)),
    await dataFolder(config.dataDir),
    files,
    signInMail(config),
    signatureLibrary(),
    await scoringEngine(),
    ...(await database(config, signers)),
    await portFree(config),
  ]
}

function settingsOf(env: Record<string, string | undefined>): Config | Finding[] {
  try {
    return readConfig(env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems.map((problem) => fail('settings', problem))
  }
}

function signInMail({ mail }: Config): Finding {
  return mail === null
    ? ok('mail', 'off, because SMTP_URL is not set: `assay users sign-in-link EMAIL` prints a link')
    : ok('mail', `sign-in links are sent by ${new URL(mail.smtpUrl).host}`)
}

async function database(config: Config, signers: ReadonlyMap<string, Signer>): Promise<Finding[]> {
  if (config.databaseUrl === undefined && !existsSync(join(config.dataDir, 'postgres')))
    return [ok('database', 'the embedded one; `assay serve` makes it')]
  try {
    return await withServer(config, async ({ url }) => {
      await using closing = new AsyncDisposableStack()
      const db = openCommandDb({ url, pooling: config.databasePooling })
      closing.defer(() => db.close())
      return await databaseFindings(db, config, signers)
    })
  } catch (error) {
    const { message, cause } = error instanceof Error ? error : new Error(String(error))
    const why = cause instanceof Error && cause.message !== '' ? `: ${cause.message}` : ''
    const advice = why.includes('DATABASE_POOLING')
      ? ''
      : ' Check DATABASE_URL and that PostgreSQL runs.'
    return [fail('database', `${message}${why}.${advice}`)]
  }
}
