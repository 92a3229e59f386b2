/**
 * `assay doctor`: prints a line for each check. It changes nothing, but it starts the embedded
 * database if there is one, and stops it again.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { type Config, ConfigError, namedSecretFiles, readConfig } from '../../config/config.ts'
import { developmentWarnings } from '../../config/development.ts'
import { completionFile } from '../../demo/files.ts'
import { openMails } from '../../main/mails.ts'
import { openSignInProvider } from '../../main/sign-in-provider.ts'
import { openFilesMax } from '../../platform/open-files.ts'
import { act, fileFault, finish, remedyOf } from '../command.ts'
import { openCommandDb, withServer } from '../context.ts'
import {
  checkDatabase,
  checkReplica,
  checkRequestLogDatabase,
  type DatabaseCheckOptions,
} from '../doctor-database.ts'
import { about, type Finding } from '../doctor-finding.ts'
import {
  checkDataFolder,
  checkKeyFiles,
  checkNodeVersion,
  checkOpenFiles,
  checkPort,
  checkScoringEngine,
  checkSecretFiles,
  checkSignatureLibrary,
} from '../doctor-machine.ts'
import { done, type Outcome, withoutSecrets } from '../output.ts'

export function declareCommand(declared: Command): void {
  finish(declared, 'assay doctor').action(act(() => runChecks(process.env)))
}

async function runChecks(env: Record<string, string | undefined>): Promise<Outcome> {
  const findings = (await runAllChecks(env)).map((one) => ({
    ...one,
    message: withoutSecrets(one.message),
  }))
  const isSound = findings.every(({ level }) => level !== 'fail')
  const lines = findings.map(
    ({ check, level, message }) => `${level.padEnd(4)}  ${check.padEnd(12)}  ${message}`,
  )
  return done({ ok: isSound, findings }, lines, isSound ? 0 : 1)
}

async function runAllChecks(env: Record<string, string | undefined>): Promise<Finding[]> {
  const { ok, warn } = about('settings')
  const node = checkNodeVersion(process.version)
  const config = readSettings(env)
  if (Array.isArray(config)) return [node, ...config]
  const { finding: files, signers } = await checkKeyFiles(config)
  const { host } = new URL(config.publicUrl)
  const isDemo = existsSync(completionFile(config.dataDir))
  return [
    node,
    ok(`PUBLIC_URL is ${config.publicUrl}`),
    ...(config.operatorName === null
      ? [(isDemo ? ok : warn)(`OPERATOR_NAME is not set: pages name ${host} alone.`)]
      : []),
    ...developmentWarnings(config).map((message) => (isDemo ? ok : warn)(message)),
    checkSecurityContact(config, isDemo),
    await checkDataFolder(config.dataDir),
    files,
    ...(await checkSecretFiles(namedSecretFiles(env))),
    await checkMail(config),
    await checkProvider(config),
    checkSignatureLibrary(),
    await checkScoringEngine(),
    ...(await checkDatabaseIfAny(config, { signers, isDemo })),
    ...(await checkRequestLogIfApart(config)),
    ...(await checkReplicas(config)),
    await checkPort(config),
    ...checkOpenFiles(config, openFilesMax()),
  ]
}

function checkSecurityContact({ securityContact }: Config, isDemo: boolean): Finding {
  const { ok, warn } = about('security')
  if (securityContact !== null) return ok(`security.txt names ${securityContact}`)
  return (isDemo ? ok : warn)(
    'SECURITY_CONTACT is not set, so /.well-known/security.txt does not exist and nobody can report a vulnerability in private.',
  )
}

function readSettings(env: Record<string, string | undefined>): Config | Finding[] {
  const { fail } = about('settings')
  try {
    return readConfig(env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems.map((problem) => fail(problem))
  }
}

/** Connects to the mail server and signs in, and sends nothing. */
async function checkMail({ mail }: Config): Promise<Finding> {
  const { ok, warn } = about('mail')
  if (mail === null)
    return ok('off, because SMTP_URL is not set: `assay users sign-in-link EMAIL` prints a link')
  const client = await openMails(mail)
  const why = await client.check()
  client.close()
  const { host } = new URL(mail.smtpUrl)
  return why === null
    ? ok(`sign-in links are sent by ${host}, which accepts the connection`)
    : warn(`${host} does not take mails: ${why}. Check the settings SMTP_*.`)
}

/** Asks the provider for its configuration, as the first sign-in does. */
async function checkProvider(config: Config): Promise<Finding> {
  const { ok, warn } = about('provider')
  const provider = openSignInProvider(config, { warn() {} })
  if (provider === null) return ok('off, because OIDC_ISSUER is not set')
  const begun = await provider.begin()
  await provider.close()
  const callback = `It must know the callback URL ${provider.callbackUrl}.`
  return begun.kind === 'begun'
    ? ok(`${provider.name} answers. ${callback}`)
    : warn(`${provider.name} does not answer as it should: ${begun.why}. ${callback}`)
}

async function checkDatabaseIfAny(
  config: Config,
  machine: DatabaseCheckOptions,
): Promise<Finding[]> {
  const { ok } = about('database')
  if (config.databaseUrl === undefined && !existsSync(join(config.dataDir, 'postgres')))
    return [ok('the embedded one; `assay serve` makes it')]
  try {
    return await withServer(config, async ({ url }) => {
      await using closing = new AsyncDisposableStack()
      const db = openCommandDb({ url, pooling: config.databasePooling })
      closing.defer(() => db.close())
      return await checkDatabase(db, config, machine)
    })
  } catch (error) {
    return [unreachable('database', 'DATABASE_URL', error)]
  }
}

async function checkRequestLogIfApart(config: Config): Promise<Finding[]> {
  const { requestLogDatabaseUrl: url, databasePooling: pooling } = config
  if (url === undefined) return []
  await using closing = new AsyncDisposableStack()
  const db = openCommandDb({ url, pooling })
  closing.defer(() => db.close())
  const found = checkRequestLogDatabase(db)
  return [
    await found.catch((error) => unreachable('request log', 'REQUEST_LOG_DATABASE_URL', error)),
  ]
}

/** A replica that is not read costs nothing but speed, because the primary reads for it. */
async function checkReplicas({ databaseReadUrls: urls }: Config): Promise<Finding[]> {
  const checks = urls.map(async (url, i) => {
    const check = `replica ${i + 1}`
    const { warn } = about(check)
    await using closing = new AsyncDisposableStack()
    const db = openCommandDb({ url, pooling: 'session', connectionsMax: 1 })
    closing.defer(() => db.close())
    return await checkReplica(db, check).catch((error) =>
      warn(unreachable(check, 'DATABASE_READ_URLS', error).message),
    )
  })
  return Promise.all(checks)
}

function unreachable(check: string, setting: string, error: unknown): Finding {
  const { fail } = about(check)
  const fault = fileFault(error)
  if (fault !== null) return fail(fault)
  const { message, cause } = error instanceof Error ? error : new Error(String(error))
  const why = cause instanceof Error && cause.message !== '' ? `: ${cause.message}` : ''
  const remedy = remedyOf(message + why, setting)
  if (remedy !== null) return fail(`${message}${why}. ${remedy}.`)
  const advice = why.includes('DATABASE_POOLING')
    ? ''
    : ` Check ${setting} and that PostgreSQL runs.`
  return fail(`${message}${why}.${advice}`)
}
