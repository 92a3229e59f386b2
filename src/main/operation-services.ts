/** Builds the services that operations need. Each is opened by the first operation that needs it. */
import type { KeyServices } from '../accounts/access/api-key-operations.ts'
import type { UserServices } from '../accounts/user-operations.ts'
import type { Config } from '../config/config.ts'
import type { StatusServices } from '../health/status-operation.ts'
import type { Keyring } from '../platform/crypto/keyring.ts'
import type { Db } from '../platform/db/db.ts'
import type { Resolve } from '../platform/egress/names.ts'
import { type Refusal, refuse } from '../platform/errors.ts'
import type { Log } from '../platform/observability/log.ts'
import type { ReportServices } from '../reports/operations.ts'
import type { DisputeServices } from '../scoring/disputes/operations.ts'
import type { EvidenceServices } from '../scoring/evidence/evidence-ingests.ts'
import type { CredentialServices } from '../scoring/scores/credential-operations.ts'
import type { ExplainServices } from '../scoring/scores/explain-operation.ts'
import type { WebhookServices } from '../webhooks/operation-parts.ts'

/** Everything that some operation needs. */
export type Services = DisputeServices &
  KeyServices &
  EvidenceServices &
  UserServices &
  WebhookServices &
  ReportServices &
  CredentialServices &
  ExplainServices &
  StatusServices

/** Asks the DNS as deliveries do. A process asks it seldom, so the resolver is opened by the first. */
function nameCheckOf({ rules, proxyUrl }: Config['webhooks']) {
  if (proxyUrl !== undefined) return null
  let resolve: Resolve | undefined
  return async (host: string) => {
    const [{ checkName }, { strangerResolver }] = await Promise.all([
      import('../platform/egress/names.ts'),
      import('../platform/egress/client.ts'),
    ])
    resolve ??= strangerResolver(rules)
    return checkName(host, { rules, resolve })
  }
}

/** `opened` is what a server has open already. */
export function openServices(
  config: Config,
  opened: { secrets?: Keyring | null; callsDb?: Db; log?: Log } = {},
): Services {
  return {
    accounts: {
      async named(db, text) {
        const { findAccount } = await import('../accounts/api.ts')
        const account = await findAccount(db, text)
        return (
          account ??
          refuse('account_not_found', {
            message: `There is no account with the name or id ${JSON.stringify(text)}.`,
          })
        )
      },
      async names(db, ids) {
        const { findAccountNames } = await import('../accounts/api.ts')
        return findAccountNames(db, ids)
      },
    },
    async withCalls(db, work) {
      const { requestLogDatabaseUrl: url, databasePooling: pooling } = config
      if (url === undefined) return work(db)
      if (opened.callsDb !== undefined) return work(opened.callsDb)
      const { openDb } = await import('../platform/db/db.ts')
      const applicationName = 'assay request log'
      const calls = openDb({ url, pooling, connectionsMax: 1, applicationName, onError: () => {} })
      try {
        return await work(calls)
      } finally {
        await calls.close()
      }
    },
    users: {
      publicUrl: config.publicUrl,
      operatorUrl: config.operatorUrl,
      sendsMail: config.mail !== null,
      sessions: config.sessions,
    },
    webhooks: {
      rules: config.webhooks.rules,
      activeMax: config.webhookEndpointsMax,
      checkName: nameCheckOf(config.webhooks),
      async ring() {
        if (opened.secrets !== undefined) return opened.secrets
        const { openSecretsKeyring } = await import('./secrets-keyring.ts')
        return openSecretsKeyring(config)
      },
      onSecretShown: (endpointId) =>
        opened.log?.info('a repeated creation showed its secret again', { endpointId }),
    },
    reports: { defaultState: config.agentReportingDefault },
    disputes: { hidesScore: config.disputeHidesScore, dueDays: config.disputeDueDays },
    credentials: {
      publicUrl: config.publicUrl,
      formerPublicUrls: config.formerPublicUrls,
      signers: () =>
        orUnavailable(async () => {
          const { openKeyFolder } = await import('./scoring.ts')
          return openKeyFolder(config)
        }),
    },
    async activeKey(db) {
      const { findKeys } = await import('../credentials/api.ts')
      return (await findKeys(db)).find(({ state }) => state === 'active')?.kid ?? null
    },
    async isEngineRecalled(db) {
      const { isReleaseRecalled } = await import('../scoring/scores/engine-operations.ts')
      return isReleaseRecalled(db)
    },
    async vocabulary() {
      const { releasedVocabulary } = await import('./scoring.ts')
      return releasedVocabulary()
    },
    scoringRules: () =>
      orUnavailable(async () => {
        const { openRules } = await import('./scoring.ts')
        return openRules(config)
      }),
    scoring: (db) =>
      orUnavailable(async () => {
        const { openScoring } = await import('./scoring.ts')
        return (await openScoring(config))(db)
      }),
    issuer: (db) =>
      orUnavailable(async () => {
        const { openIssuer } = await import('./scoring.ts')
        return (await openIssuer(config))(db)
      }),
  }
}

async function orUnavailable<Result>(
  open: () => Promise<Result>,
): Promise<Result | Refusal<'scoring_unavailable'>> {
  try {
    return await open()
  } catch (error) {
    const { ScoringUnavailable } = await import('./scoring.ts')
    if (!(error instanceof ScoringUnavailable)) throw error
    return refuse('scoring_unavailable', { message: error.message })
  }
}
