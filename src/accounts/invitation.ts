/** Pure: an open invitation as the invited person sees it. */
import type { Role } from '../edge/http/callers.ts'

export interface Invitation {
  id: string
  email: string
  role: Role
  accountId: string
  /** Name of the account. */
  account: string
  /** The user who invited. Null: the operator, or a user who was erased. */
  inviter: { name: string | null; email: string } | null
  expiresAt: Date
}
