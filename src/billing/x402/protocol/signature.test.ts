/**
 * The signer of an authorization, compared with viem, which recovers the address in another way;
 * and signatures that no key can have made.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { recoverTypedDataAddress } from 'viem/utils'
import {
  authorizationData,
  malleated,
  payloadV1,
  paymentOf,
  signAuthorization,
  testTerms,
  testWallet,
} from '../../../../test/support/build/payments.ts'
import fc from '../../../../test/support/oracle/fc.ts'
import type { SignedPayment } from './payload.ts'
import { signerOf } from './signature.ts'

/** Keys are the numbers from 1 to the order of the curve minus 1. */
const privateKeys = fc
  .bigInt({ min: 1n, max: 2n ** 255n })
  .map((key): Hex => `0x${key.toString(16).padStart(64, '0')}`)

function withBitFlipped(signature: string, bit: number): string {
  const bytes = Buffer.from(signature.slice(2), 'hex')
  bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  return `0x${bytes.toString('hex')}`
}

/** Returns viem's verdict. viem shares nothing but the hash with our code. */
async function isSignedByPayer({ authorization, signature }: SignedPayment): Promise<boolean> {
  try {
    const data = authorizationData(authorization, testTerms)
    const signer = await recoverTypedDataAddress({ ...data, signature: signature as Hex })
    return signer.toLowerCase() === authorization.from
  } catch {
    return false
  }
}

test("the payer's signature is recognised, and after a change of any bit it is nobody's, in agreement with viem", async () => {
  await fc.assert(
    fc.asyncProperty(privateKeys, fc.integer({ min: 0, max: 64 * 8 - 1 }), async (key, bit) => {
      const signed = await signAuthorization(privateKeyToAccount(key), testTerms)
      const payment = paymentOf(payloadV1(signed))
      const forged = { ...payment, signature: withBitFlipped(payment.signature, bit) }
      assert.equal(await signerOf(payment, testTerms), 'payer')
      assert.equal(await isSignedByPayer(payment), true)
      assert.equal(await signerOf(forged, testTerms), 'other')
      assert.equal(await isSignedByPayer(forged), false)
    }),
    { numRuns: 60 },
  )
})

const number256 = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map(String)
const hexOf = (bytes: number) =>
  fc
    .uint8Array({ minLength: bytes, maxLength: bytes })
    .map((each) => `0x${Buffer.from(each).toString('hex')}`)

test('the signed bytes are those that viem has its wallets sign, for any authorization and coin', async () => {
  const wallet = testWallet()
  const authorized = fc.record({
    to: fc.oneof(hexOf(20), fc.constant(`0x${'0'.repeat(40)}`)),
    value: number256,
    validAfter: number256,
    validBefore: number256,
    nonce: fc.oneof(hexOf(32), fc.constant(`0x${'0'.repeat(64)}`)),
  })
  const coins = fc.record({
    assetName: fc.string({ unit: 'grapheme', minLength: 1 }),
    assetVersion: fc.string({ minLength: 1 }),
    chainId: fc.integer({ min: 1 }),
    asset: hexOf(20),
  })
  await fc.assert(
    fc.asyncProperty(authorized, coins, async (changes, coin) => {
      const terms = { ...testTerms, ...coin }
      const { authorization, signature } = await signAuthorization(wallet, terms, changes)
      const payment = paymentOf(payloadV1({ authorization, signature }))
      assert.equal(await signerOf(payment, terms), 'payer')
    }),
    { numRuns: 60 },
  )
})

test('a signature over anything else belongs to another signer', async () => {
  const payment = paymentOf(payloadV1(await signAuthorization(testWallet(), testTerms)))
  const { authorization } = payment
  const others = [
    { ...payment, authorization: { ...authorization, value: '10001' } },
    { ...payment, authorization: { ...authorization, to: testTerms.asset.toLowerCase() } },
    { ...payment, authorization: { ...authorization, from: testTerms.asset.toLowerCase() } },
    { ...payment, authorization: { ...authorization, nonce: `0x${'1'.repeat(64)}` } },
  ]
  for (const other of others) assert.equal(await signerOf(other, testTerms), 'other')
  const { chainId, assetName, assetVersion } = testTerms
  for (const terms of [
    { ...testTerms, chainId: chainId + 1 },
    { ...testTerms, assetName: `${assetName}.` },
    { ...testTerms, assetVersion: `${assetVersion}0` },
    { ...testTerms, asset: testTerms.payTo },
  ])
    assert.equal(await signerOf(payment, terms), 'other')
})

test('a signature that no key can have made has no signer and throws no error', async () => {
  const payment = paymentOf(payloadV1(await signAuthorization(testWallet(), testTerms)))
  const order = 'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141'
  const one = '1'.padStart(64, '0')
  const zero = '0'.repeat(64)
  const noPoint = '5'.padStart(64, '0')
  for (const [r, s] of [
    [zero, one],
    [one, zero],
    [order, one],
    ['f'.repeat(64), one],
    [noPoint, one],
  ])
    for (const v of ['1b', '1c'])
      assert.equal(await signerOf({ ...payment, signature: `0x${r}${s}${v}` }, testTerms), 'other')
})

test("one of the two forms of a signature is accepted, the one that the coin's contract accepts", async () => {
  const payment = paymentOf(payloadV1(await signAuthorization(testWallet(), testTerms)))
  const malleatedPayment = { ...payment, signature: malleated(payment.signature) }
  assert.equal(await isSignedByPayer(malleatedPayment), true)
  assert.equal(await signerOf(malleatedPayment, testTerms), 'other')
  const numbered = {
    ...payment,
    signature: payment.signature.replace(/1b$/, '00').replace(/1c$/, '01'),
  }
  assert.equal(await signerOf(numbered, testTerms), 'other')
})

test('a signature of another length may be a contract’s: only the chain can tell', async () => {
  const payment = paymentOf(payloadV1(await signAuthorization(testWallet(), testTerms)))
  const longer = { ...payment, signature: `${payment.signature}00` }
  assert.equal(await signerOf(longer, testTerms), 'unknown')
})
