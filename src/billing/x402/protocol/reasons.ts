/**
 * Pure: reasons for which a payment is refused, in the words of the x402 specification. A
 * facilitator's own words never leave this service.
 */

/**
 * With these reasons a facilitator states that it has sent nothing and will not. Any other failure
 * to settle may hide a payment that was made.
 */
const sentNothing = [
  'insufficient_funds',
  'invalid_exact_evm_payload_signature',
  'invalid_exact_evm_payload_authorization_valid_after',
  'invalid_exact_evm_payload_authorization_valid_before',
  'invalid_exact_evm_payload_authorization_value',
  'invalid_exact_evm_payload_recipient_mismatch',
  'invalid_network',
  'invalid_payload',
  'invalid_payment_requirements',
  'invalid_scheme',
  'unsupported_scheme',
  'invalid_x402_version',
] as const

export const paymentReasons = [
  ...sentNothing,
  'invalid_transaction_state',
  'unexpected_verify_error',
  'unexpected_settle_error',
] as const
export type PaymentReason = (typeof paymentReasons)[number]

/** The authorization was used or cancelled before. */
export const usedReason = 'invalid_transaction_state' satisfies PaymentReason

/** The official name for a transfer that a node refused to simulate for a reason without a name. */
export const simulationFailed = 'invalid_exact_evm_transaction_simulation_failed'

/** The official name for a transaction that is sent and not yet in a block. */
export const settlementPending = 'settlement_pending'

/** Other names in use for the same reasons. */
const synonyms: Readonly<Record<string, PaymentReason>> = {
  invalid_exact_evm_signature: 'invalid_exact_evm_payload_signature',
  invalid_exact_evm_failed_to_parse_signature: 'invalid_exact_evm_payload_signature',
  eip6492_factory_not_allowed: 'invalid_exact_evm_payload_signature',
  smart_wallet_deployment_failed: 'invalid_exact_evm_payload_signature',
  invalid_exact_evm_insufficient_balance: 'insufficient_funds',
  invalid_exact_evm_recipient_mismatch: 'invalid_exact_evm_payload_recipient_mismatch',
  invalid_exact_evm_authorization_value: 'invalid_exact_evm_payload_authorization_value',
  invalid_exact_evm_payload_authorization_value_mismatch:
    'invalid_exact_evm_payload_authorization_value',
  invalid_exact_evm_network_mismatch: 'invalid_network',
  invalid_exact_evm_scheme: 'invalid_scheme',
  unsupported_payload_type: 'invalid_payload',
  invalid_payment: 'invalid_payload',
  payment_expired: 'invalid_exact_evm_payload_authorization_valid_before',
  invalid_exact_evm_nonce_already_used: 'invalid_transaction_state',
  [simulationFailed]: 'invalid_transaction_state',
  invalid_exact_evm_transaction_failed: 'invalid_transaction_state',
  invalid_exact_evm_transfer_event_mismatch: 'invalid_transaction_state',
  duplicate_settlement: 'invalid_transaction_state',
  invalid_exact_evm_token_name_mismatch: 'invalid_payment_requirements',
  invalid_exact_evm_token_version_mismatch: 'invalid_payment_requirements',
  invalid_exact_evm_missing_eip712_domain: 'invalid_payment_requirements',
  invalid_exact_evm_eip3009_not_supported: 'invalid_payment_requirements',
  asset_not_deployed_contract: 'invalid_payment_requirements',
}

export function paymentReason(code: string | undefined, otherwise: PaymentReason): PaymentReason {
  if (code === undefined) return otherwise
  return (
    paymentReasons.find((reason) => reason === code) ??
    (Object.hasOwn(synonyms, code) ? (synonyms[code] as PaymentReason) : otherwise)
  )
}

const firmReasons: ReadonlySet<string> = new Set(sentNothing)

export function isFirmRefusal(reason: PaymentReason): boolean {
  return firmReasons.has(reason)
}
