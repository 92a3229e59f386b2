/** The contract of the service: the endpoints of every module, by operation id. */
import { agentDecisionContract } from '../agent-decisions/contract.ts'
import { candidateContract } from '../candidates/contract.ts'
import { creditsContract } from '../credits/contract.ts'
import { discoveryContract } from '../discovery/contract.ts'
import { sandboxContract } from '../sandbox/contract.ts'
import { scoreCredentialContract } from '../score-credentials/contract.ts'
import { skillStandardContract } from '../skill-standard/contract.ts'
import { webhookContract } from '../webhooks/endpoints/contract.ts'

export const contract = {
  ...agentDecisionContract,
  ...candidateContract,
  ...creditsContract,
  ...discoveryContract,
  ...sandboxContract,
  ...scoreCredentialContract,
  ...skillStandardContract,
  ...webhookContract,
}
