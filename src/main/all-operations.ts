/**
 * Every operation with an operator route, noun by noun. The operator API and its document are made
 * from this list.
 */
import { accountOperations } from '../accounts/access/account-operations.ts'
import { apiKeyOperations } from '../accounts/access/api-key-operations.ts'
import { operatorOperations } from '../accounts/access/operator-operations.ts'
import { accountsMembers, memberOperations } from '../accounts/member-operations.ts'
import { operatorUserOperations } from '../accounts/operator-operations.ts'
import { userOperations } from '../accounts/user-operations.ts'
import { creditOperations } from '../billing/credits/operations.ts'
import { paymentOperations } from '../billing/x402/operations.ts'
import { serviceStatus } from '../health/status-operation.ts'
import { auditOperations } from '../operations/audit-operations.ts'
import type { AnyIngest } from '../operations/ingest.ts'
import type { Operation } from '../operations/operation.ts'
import { workerOperations } from '../privacy/worker-operations.ts'
import { reportOperations } from '../reports/operations.ts'
import { evidenceOperations } from '../scoring/disputes/evidence-operations.ts'
import { disputeOperations } from '../scoring/disputes/operations.ts'
import { evidenceImport, sourcesImport } from '../scoring/evidence/evidence-ingests.ts'
import { sourceOperations } from '../scoring/evidence/source-operations.ts'
import { credentialOperations } from '../scoring/scores/credential-operations.ts'
import { engineOperations } from '../scoring/scores/engine-operations.ts'
import { scoresExplain } from '../scoring/scores/explain-operation.ts'
import { scoreOperations } from '../scoring/scores/operations.ts'
import { measureOperations } from '../scoring/scores/reports/measure-operations.ts'
import { reportOperations as reportsForAuditors } from '../scoring/scores/reports/operations.ts'
import { consentImport, identityImport, workersImport } from '../scoring/scores/sharing-ingests.ts'
import { consentOperations, identityOperations } from '../scoring/scores/sharing-operations.ts'
import { keyOperations } from '../scoring/scores/signing-key-operations.ts'
import { webhookOperations } from '../webhooks/operations.ts'
import type { Services } from './operation-services.ts'

/** Every bulk input. */
export const allIngests: readonly AnyIngest<Services>[] = [
  workersImport,
  consentImport,
  identityImport,
  sourcesImport,
  evidenceImport,
]

export const allOperations: readonly Operation<Services>[] = [
  ...workerOperations,
  ...consentOperations,
  ...identityOperations,
  ...sourceOperations,
  ...evidenceOperations,
  ...disputeOperations,
  ...scoreOperations,
  scoresExplain,
  ...reportsForAuditors,
  ...measureOperations,
  ...credentialOperations,
  ...engineOperations,
  ...keyOperations,
  ...accountOperations,
  accountsMembers,
  ...memberOperations,
  ...userOperations,
  ...webhookOperations,
  ...operatorUserOperations,
  ...apiKeyOperations,
  ...creditOperations,
  ...paymentOperations,
  ...reportOperations,
  ...operatorOperations,
  ...auditOperations,
  serviceStatus,
]
