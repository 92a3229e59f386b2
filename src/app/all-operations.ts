/** Every operation, noun by noun. The operator API and its document are made from this list. */
import { operatorOperations } from '../access/operator-operations.ts'
import { disputeOperations } from '../disputes/operations.ts'
import { sourceOperations } from '../evidence/operations.ts'
import type { Operation } from '../operations/operation.ts'
import { consentOperations, identityOperations } from '../scores/sharing-operations.ts'
import type { Services } from './operations.ts'

export const allOperations: readonly Operation<Services>[] = [
  ...consentOperations,
  ...identityOperations,
  ...sourceOperations,
  ...disputeOperations,
  ...operatorOperations,
]
