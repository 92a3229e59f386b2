/** The contract of the service: the endpoints of every module, by operation id. */
import { creditsContract } from '../billing/credits/contract.ts'
import { scoreCredentialContract } from '../credentials/contract.ts'
import { sandboxContract } from '../demo/sandbox/contract.ts'
import { discoveryContract } from '../discovery/contract.ts'
import { agentDecisionContract } from '../reports/contract.ts'
import { skillStandardContract } from '../standard/contract.ts'
import { webhookContract } from '../webhooks/endpoints/contract.ts'
import { candidateContract } from '../workers/candidates/contract.ts'

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
