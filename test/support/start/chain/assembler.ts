/**
 * Assembles EVM bytecode from expressions such as `['ADD', 1, ['MLOAD', 0]]`, for the token of the
 * tests. Arguments are evaluated from last to first, so that the first is on top of the stack,
 * where the instruction reads it.
 */
export type Expression =
  | bigint
  | number
  /**
   * Runs the statements before it evaluates the expression. The statements must leave the stack
   * unchanged.
   */
  | { after: Statement[]; value: Expression }
  | readonly [instruction: Instruction, ...Expression[]]

export type Statement =
  | readonly [instruction: Instruction, ...Expression[]]
  | { if: Expression; do: Statement[] }

const instructions = {
  STOP: 0x00,
  ADD: 0x01,
  SUB: 0x03,
  LT: 0x10,
  GT: 0x11,
  EQ: 0x14,
  ISZERO: 0x15,
  AND: 0x16,
  OR: 0x17,
  BYTE: 0x1a,
  SHR: 0x1c,
  KECCAK256: 0x20,
  ADDRESS: 0x30,
  CALLDATALOAD: 0x35,
  TIMESTAMP: 0x42,
  CHAINID: 0x46,
  POP: 0x50,
  MLOAD: 0x51,
  MSTORE: 0x52,
  SLOAD: 0x54,
  SSTORE: 0x55,
  GAS: 0x5a,
  LOG3: 0xa3,
  RETURN: 0xf3,
  STATICCALL: 0xfa,
  REVERT: 0xfd,
} as const
export type Instruction = keyof typeof instructions

const jumpIf = 0x57
const jumpTarget = 0x5b
const push2 = 0x61

/** Returns the bytecode in hex with the prefix `0x`. */
export function assemble(statements: readonly Statement[]): `0x${string}` {
  const code: number[] = []
  for (const statement of statements) write(code, statement)
  return `0x${Buffer.from(code).toString('hex')}`
}

function write(code: number[], statement: Statement): void {
  if ('if' in statement) {
    evaluate(code, ['ISZERO', statement.if])
    const hole = code.length + 1
    code.push(push2, 0, 0, jumpIf)
    for (const inner of statement.do) write(code, inner)
    code[hole] = code.length >> 8
    code[hole + 1] = code.length & 0xff
    code.push(jumpTarget)
    return
  }
  evaluate(code, statement)
}

function evaluate(code: number[], expression: Expression): void {
  if (typeof expression === 'number' || typeof expression === 'bigint') {
    const hex = expression.toString(16)
    const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
    code.push(0x5f + bytes.length, ...bytes)
    return
  }
  if ('after' in expression) {
    for (const statement of expression.after) write(code, statement)
    evaluate(code, expression.value)
    return
  }
  const [instruction, ...operands] = expression
  for (const operand of operands.toReversed()) evaluate(code, operand)
  code.push(instructions[instruction])
}
