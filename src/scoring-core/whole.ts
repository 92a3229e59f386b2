/**
 * Pure: division of whole numbers, exact. A quotient of doubles may round up to the next whole number; the remainder never errs, so it
 * is taken away first. All operands stay below 2^53.
 */

/** The whole part of dividend / divisor; neither is negative. */
export function floorOf(dividend: number, divisor: number): number {
  return (dividend - (dividend % divisor)) / divisor
}

/** The least whole number that is not below dividend / divisor. */
export function ceilOf(dividend: number, divisor: number): number {
  const remainder = dividend % divisor
  return (dividend - remainder) / divisor + (remainder === 0 ? 0 : 1)
}
