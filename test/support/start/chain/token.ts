/**
 * The token of the tests: the part of EIP-3009 that payments need, with the error texts of the real
 * token. It has no allowances and no contract wallets. Balances are in mapping 0 and used
 * authorizations in mapping 1, in Solidity's storage layout.
 */
import { encodeAbiParameters, keccak256, toFunctionSelector, toHex } from 'viem'
import { assemble, type Expression, type Statement } from './assembler.ts'

const tokenName = 'USDC'
const tokenVersion = '2'

const argument = (index: number): Expression => ['CALLDATALOAD', 4 + 32 * index]
const hashOf = (text: string): bigint => BigInt(keccak256(toHex(text)))

/** Memory layout: bytes 0 to 63 for mapping keys, then one area for each hash. */
const at = { domain: 0x100, struct: 0x200, digest: 0x300, recovery: 0x400, result: 0x500 }

function slotOf(key: Expression, mapping: Expression): Expression {
  return {
    after: [
      ['MSTORE', 32, mapping],
      ['MSTORE', 0, key],
    ],
    value: ['KECCAK256', 0, 64],
  }
}
/** Storage slot. A value other than 0 rejects every transfer. */
export const pausedSlot = 2
const balanceSlot = (address: Expression) => slotOf(address, 0)
const usedSlot = (address: Expression, nonce: Expression) => slotOf(nonce, slotOf(address, 1))

function hashed(place: number, words: Expression[]): Expression {
  return {
    after: words.map((word, i): Statement => ['MSTORE', place + 32 * i, word]),
    value: ['KECCAK256', place, 32 * words.length],
  }
}

const domainSeparator = hashed(at.domain, [
  hashOf('EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'),
  hashOf(tokenName),
  hashOf(tokenVersion),
  ['CHAINID'],
  ['ADDRESS'],
])

interface Signature {
  v: Expression
  r: Expression
  s: Expression
}

/** Writes the signer's address to memory, or zero if the signature is invalid. */
function recover(struct: Expression, { v, r, s }: Signature): Statement[] {
  const digest: Expression = {
    after: [
      ['MSTORE', at.digest, 0x1901n << 240n],
      ['MSTORE', at.digest + 2, domainSeparator],
      ['MSTORE', at.digest + 34, struct],
    ],
    value: ['KECCAK256', at.digest, 66],
  }
  return [
    ...[digest, v, r, s].map((word, i): Statement => ['MSTORE', at.recovery + 32 * i, word]),
    ['POP', ['STATICCALL', ['GAS'], 1, at.recovery, 128, at.recovery + 128, 32]],
  ]
}

const signer: Expression = ['MLOAD', at.recovery + 128]

function refuseUnless(condition: Expression, text: string): Statement {
  const encoded = encodeAbiParameters([{ type: 'string' }], [text]).slice(2)
  const words = `08c379a0${encoded}`.match(/.{1,64}/g) ?? []
  return {
    if: ['ISZERO', condition],
    do: [
      ...words.map((word, i): Statement => ['MSTORE', 32 * i, BigInt(`0x${word.padEnd(64, '0')}`)]),
      ['REVERT', 0, 4 + encoded.length / 2],
    ],
  }
}

const invalidSignature = 'FiatTokenV2: invalid signature'
const usedAlready = 'FiatTokenV2: authorization is used or canceled'

function transferWithAuthorization(signature: Signature): Statement[] {
  const [from, to, value, validAfter, validBefore, nonce] = [0, 1, 2, 3, 4, 5].map(argument) as [
    Expression,
    Expression,
    Expression,
    Expression,
    Expression,
    Expression,
  ]
  const struct = hashed(at.struct, [
    hashOf(
      'TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)',
    ),
    from,
    to,
    value,
    validAfter,
    validBefore,
    nonce,
  ])
  const balance = (address: Expression): Expression => ['SLOAD', balanceSlot(address)]
  return [
    refuseUnless(['ISZERO', ['SLOAD', pausedSlot]], 'Pausable: paused'),
    refuseUnless(['GT', ['TIMESTAMP'], validAfter], 'FiatTokenV2: authorization is not yet valid'),
    refuseUnless(['LT', ['TIMESTAMP'], validBefore], 'FiatTokenV2: authorization is expired'),
    refuseUnless(['ISZERO', ['SLOAD', usedSlot(from, nonce)]], usedAlready),
    ...recover(struct, signature),
    refuseUnless(['EQ', signer, from], invalidSignature),
    ['SSTORE', usedSlot(from, nonce), 1],
    ['LOG3', 0, 0, hashOf('AuthorizationUsed(address,bytes32)'), from, nonce],
    refuseUnless(
      ['ISZERO', ['LT', balance(from), value]],
      'ERC20: transfer amount exceeds balance',
    ),
    ['SSTORE', balanceSlot(from), ['SUB', balance(from), value]],
    ['SSTORE', balanceSlot(to), ['ADD', balance(to), value]],
    ['MSTORE', 0, value],
    ['LOG3', 0, 32, hashOf('Transfer(address,address,uint256)'), from, to],
    ['STOP'],
  ]
}

function cancelAuthorization(): Statement[] {
  const [authorizer, nonce] = [argument(0), argument(1)]
  const struct = hashed(at.struct, [
    hashOf('CancelAuthorization(address authorizer,bytes32 nonce)'),
    authorizer,
    nonce,
  ])
  return [
    refuseUnless(['ISZERO', ['SLOAD', usedSlot(authorizer, nonce)]], usedAlready),
    ...recover(struct, { v: argument(2), r: argument(3), s: argument(4) }),
    refuseUnless(['EQ', signer, authorizer], invalidSignature),
    ['SSTORE', usedSlot(authorizer, nonce), 1],
    ['LOG3', 0, 0, hashOf('AuthorizationCanceled(address,bytes32)'), authorizer, nonce],
    ['STOP'],
  ]
}

/** Reads the last argument as bytes: r, s and v after its length. */
function packedSignature(): Signature {
  const part = (offset: number): Expression => ['CALLDATALOAD', ['ADD', 36 + offset, argument(6)]]
  return { r: part(0), s: part(32), v: ['BYTE', 0, part(64)] }
}

function giveWord(word: Expression): Statement[] {
  return [
    ['MSTORE', at.result, word],
    ['RETURN', at.result, 32],
  ]
}

function giveText(text: string): Statement[] {
  return [
    ['MSTORE', at.result, 32],
    ['MSTORE', at.result + 32, text.length],
    ['MSTORE', at.result + 64, BigInt(`0x${Buffer.from(text).toString('hex').padEnd(64, '0')}`)],
    ['RETURN', at.result, 96],
  ]
}

const transferArguments = 'address,address,uint256,uint256,uint256,bytes32'
const functions: Record<string, Statement[]> = {
  'name()': giveText(tokenName),
  'version()': giveText(tokenVersion),
  'decimals()': giveWord(6),
  'DOMAIN_SEPARATOR()': giveWord(domainSeparator),
  'balanceOf(address)': giveWord(['SLOAD', balanceSlot(argument(0))]),
  'authorizationState(address,bytes32)': giveWord(['SLOAD', usedSlot(argument(0), argument(1))]),
  [`transferWithAuthorization(${transferArguments},uint8,bytes32,bytes32)`]:
    transferWithAuthorization({ v: argument(6), r: argument(7), s: argument(8) }),
  [`transferWithAuthorization(${transferArguments},bytes)`]: transferWithAuthorization(
    packedSignature(),
  ),
  'cancelAuthorization(address,bytes32,uint8,bytes32,bytes32)': cancelAuthorization(),
}

/** Runtime code of the contract. */
export const tokenCode = assemble([
  ...Object.entries(functions).map(([signature, body]): Statement => {
    const selector = BigInt(toFunctionSelector(signature))
    return { if: ['EQ', ['SHR', 224, ['CALLDATALOAD', 0]], selector], do: body }
  }),
  ['REVERT', 0, 0],
])

/** Returns the storage slot of a balance. */
export function balanceStorageSlot(address: string): `0x${string}` {
  const parameters = [{ type: 'address' }, { type: 'uint256' }] as const
  return keccak256(encodeAbiParameters(parameters, [address as `0x${string}`, 0n]))
}
