/** Every operation, noun by noun. The operator API and its document are made from this list. */
import { accountOperations } from '../access/account-operations.ts'
import { apiKeyOperations } from '../access/key-operations.ts'
import { operatorOperations } from '../access/operator-operations.ts'
import { accountsMembers, memberOperations } from '../accounts/member-operations.ts'
import { operatorUserOperations } from '../accounts/operator-operations.ts'
import { userOperations } from '../accounts/user-operations.ts'
import { reportOperations } from '../agent-decisions/operations.ts'
import { creditOperations } from '../credits/operations.ts'
import { evidenceOperations } from '../disputes/evidence-operations.ts'
import { disputeOperations } from '../disputes/operations.ts'
import { evidenceImport, sourcesImport } from '../evidence/evidence-ingests.ts'
import { sourceOperations } from '../evidence/operations.ts'
import { serviceStatus } from '../health/status-operation.ts'
import { auditOperations } from '../operations/audit-operations.ts'
import type { AnyIngest } from '../operations/ingest.ts'
import type { Operation } from '../operations/operation.ts'
import { workerOperations } from '../privacy/worker-operations.ts'
import { credentialOperations } from '../scores/credential-operations.ts'
import { engineOperations } from '../scores/engine-operations.ts'
import { scoresExplain } from '../scores/explain-operation.ts'
import { scoreOperations } from '../scores/operations.ts'
import { measureOperations } from '../scores/reports/measure-operations.ts'
import { reportOperations as reportsForAuditors } from '../scores/reports/operations.ts'
import { consentImport, identityImport } from '../scores/sharing-ingests.ts'
import { consentOperations, identityOperations } from '../scores/sharing-operations.ts'
import { workersImport } from '../scores/worker-ingest.ts'
import { webhookOperations } from '../webhooks/operations.ts'
import { paymentOperations } from '../x402/operations.ts'
import type { Services } from './operations.ts'

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
