/** x402 payments built by hand, as a wallet makes them. Tests can make every field wrong. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { requirementV2 } from '../../../src/billing/x402/protocol/challenge.ts'
import {
  type Authorization,
  decodePayment,
  type SignedPayment,
} from '../../../src/billing/x402/protocol/payload.ts'
import { networks, type Terms } from '../../../src/billing/x402/protocol/terms.ts'

export const testTerms: Terms = {
  ...networks['base-sepolia'],
  network: 'base-sepolia',
  endpoint: 'score_lookup',
  resource: 'https://scores.example.org/api/v1/scores/1',
  description: 'One score',
  payTo: '0x00000000000000000000000000000000000000aa',
  amount: '10000',
  maxTimeoutSeconds: 300,
}

export function testWallet(): PrivateKeyAccount {
  return privateKeyToAccount(`0x${randomBytes(32).toString('hex')}`)
}

export interface SignedAuthorization {
  authorization: Authorization
  signature: string
}

/**
 * Signs an authorization as the official version 1 clients do. `changes` are made before signing,
 * so the signature is always valid.
 */
export async function signAuthorization(
  wallet: PrivateKeyAccount,
  terms: Terms,
  changes: Partial<Authorization> = {},
): Promise<SignedAuthorization> {
  const now = Math.floor(Date.now() / 1_000)
  const authorization: Authorization = {
    from: wallet.address,
    to: terms.payTo,
    value: terms.amount,
    validAfter: String(now - 600),
    validBefore: String(now + terms.maxTimeoutSeconds),
    nonce: `0x${randomBytes(32).toString('hex')}`,
    ...changes,
  }
  const signature = await wallet.signTypedData(authorizationData(authorization, terms))
  return { authorization, signature }
}

/** Returns the typed data (EIP-712) that a wallet signs. */
export function authorizationData(authorization: Authorization, terms: Terms) {
  return {
    domain: {
      name: terms.assetName,
      version: terms.assetVersion,
      chainId: terms.chainId,
      verifyingContract: terms.asset as `0x${string}`,
    },
    types: { TransferWithAuthorization: transferWithAuthorization },
    primaryType: 'TransferWithAuthorization',
    message: {
      from: authorization.from as `0x${string}`,
      to: authorization.to as `0x${string}`,
      value: BigInt(authorization.value),
      validAfter: BigInt(authorization.validAfter),
      validBefore: BigInt(authorization.validBefore),
      nonce: authorization.nonce as `0x${string}`,
    },
  } as const
}

const transferWithAuthorization = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
] as const

export function base64Json(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64')
}

export function payloadV1(signed: SignedAuthorization, terms: Terms = testTerms) {
  return { x402Version: 1, scheme: 'exact', network: terms.network, payload: signed }
}

/**
 * Builds a version 2 payload. `extra` is the member of the challenge that the payer must return
 * unchanged.
 */
export function payloadV2(
  signed: SignedAuthorization,
  terms: Terms = testTerms,
  extra: Record<string, unknown> = {},
) {
  const accepted = requirementV2(terms)
  return {
    x402Version: 2,
    accepted: { ...accepted, extra: { ...accepted.extra, ...extra } },
    payload: signed,
  }
}

/** Decodes a payload in the same way as the server decodes the payment header. */
export function paymentOf(payload: unknown): SignedPayment {
  const decoded = decodePayment(base64Json(payload))
  assert.ok('payment' in decoded)
  return decoded.payment
}

/**
 * Returns the second valid ECDSA signature of the same key and message, with the other `s`. The
 * token contract accepts only one of the two.
 */
export function malleated(signature: string): string {
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
  const s = (order - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, '0')
  return `${signature.slice(0, 66)}${s}${signature.endsWith('1b') ? '1c' : '1b'}`
}

/** Decodes a payment header or a receipt header. */
export function readBase64Json(text: unknown): Record<string, unknown> {
  return JSON.parse(Buffer.from(String(text), 'base64').toString('utf8')) as Record<string, unknown>
}
