/** The contract of the service: the endpoints of every module, by operation id. */
import { apiKeyContract } from '../access/contract.ts'
import { accountContract } from '../accounts/contract.ts'
import { agentDecisionContract } from '../agent-decisions/contract.ts'
import { auditContract } from '../audit/contract.ts'
import { candidateContract } from '../candidates/contract.ts'
import { creditsContract } from '../credits/contract.ts'
import { discoveryContract } from '../discovery/contract.ts'
import { requestLogContract } from '../request-log/contract.ts'
import { sandboxContract } from '../sandbox/contract.ts'
import { scoreCredentialContract } from '../score-credentials/contract.ts'
import { skillStandardContract } from '../skill-standard/contract.ts'
import { webhookContract } from '../webhooks/endpoints/contract.ts'

export const contract = {
  ...accountContract,
  ...agentDecisionContract,
  ...apiKeyContract,
  ...auditContract,
  ...candidateContract,
  ...creditsContract,
  ...discoveryContract,
  ...requestLogContract,
  ...sandboxContract,
  ...scoreCredentialContract,
  ...skillStandardContract,
  ...webhookContract,
}
