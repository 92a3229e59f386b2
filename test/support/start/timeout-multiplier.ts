/**
 * Multiplies all deadlines of a test process, so that tests do not fail on a slow machine. A test
 * of a deadline restores the usual value.
 */
import { setTimeoutMultiplier } from '../../../src/platform/deadlines.ts'

export const timeoutMultiplier = 20

setTimeoutMultiplier(timeoutMultiplier)
