/**
 * Pure: exact division of whole numbers below 2^53. A quotient of doubles may round up to the next
 * whole number. The remainder is exact, so it is subtracted first.
 */

/** Rounds down. Neither number is negative. */
export function floorOf(dividend: number, divisor: number): number {
  return (dividend - (dividend % divisor)) / divisor
}

/** Rounds up. Neither number is negative. */
export function ceilOf(dividend: number, divisor: number): number {
  const remainder = dividend % divisor
  return (dividend - remainder) / divisor + (remainder === 0 ? 0 : 1)
}
