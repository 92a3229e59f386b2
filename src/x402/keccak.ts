/** Pure: Keccak-256 as Ethereum uses it: SHA-3 before its padding changed, which Node's own hashes do not have. */

const rateBytes = 136
const mask = (1n << 64n) - 1n

/** For addresses: small inputs, now and then. */
export function keccak256(message: Uint8Array): Buffer {
  const padded = Buffer.alloc((Math.floor(message.length / rateBytes) + 1) * rateBytes)
  padded.set(message)
  padded[message.length] = 0x01
  padded[padded.length - 1] = (padded.at(-1) ?? 0) | 0x80
  let lanes: bigint[] = Array(25).fill(0n)
  for (let at = 0; at < padded.length; at += rateBytes) {
    for (let i = 0; i < rateBytes / 8; i++)
      lanes[i] = lane(lanes, i) ^ padded.readBigUInt64LE(at + 8 * i)
    for (const constant of roundConstants) lanes = round(lanes, constant)
  }
  const digest = Buffer.alloc(32)
  for (let i = 0; i < 4; i++) digest.writeBigUInt64LE(lane(lanes, i), 8 * i)
  return digest
}

/** θ, ρ, π, χ and ι of FIPS 202, section 3.2; lane (x, y) stands at x + 5y. */
function round(lanes: readonly bigint[], constant: bigint): bigint[] {
  const columns = [0, 1, 2, 3, 4].map((x) =>
    [0, 5, 10, 15, 20].reduce((sum, row) => sum ^ lane(lanes, x + row), 0n),
  )
  const moved: bigint[] = Array(25).fill(0n)
  for (let x = 0; x < 5; x++) {
    const effect = lane(columns, (x + 4) % 5) ^ rotated(lane(columns, (x + 1) % 5), 1)
    for (let y = 0; y < 5; y++)
      moved[y + 5 * ((2 * x + 3 * y) % 5)] = rotated(
        lane(lanes, x + 5 * y) ^ effect,
        offsets[x + 5 * y] ?? 0,
      )
  }
  return moved.map((value, i) => {
    const row = i - (i % 5)
    const next = lane(moved, row + ((i + 1) % 5))
    const last = lane(moved, row + ((i + 2) % 5))
    const mixed = value ^ (~next & mask & last)
    return i === 0 ? mixed ^ constant : mixed
  })
}

function lane(lanes: readonly bigint[], i: number): bigint {
  return lanes[i] ?? 0n
}

function rotated(value: bigint, by: number): bigint {
  return ((value << BigInt(by)) | (value >> BigInt(64 - by))) & mask
}

/** ρ: how far lane x + 5y is rotated. */
const offsets = [
  0, 1, 62, 28, 27, 36, 44, 6, 55, 20, 3, 10, 43, 25, 39, 41, 45, 15, 21, 8, 18, 2, 61, 56, 14,
]

/** ι, by its shift register: 24 rounds, bits at 2^j − 1. */
const roundConstants = makeRoundConstants()

function makeRoundConstants(): readonly bigint[] {
  let register = 1
  return Array.from({ length: 24 }, () => {
    let constant = 0n
    for (let j = 0; j < 7; j++) {
      if ((register & 1) === 1) constant |= 1n << BigInt((1 << j) - 1)
      register = (register << 1) ^ ((register >> 7) * 0x171)
    }
    return constant
  })
}
