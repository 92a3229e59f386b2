/**
 * Multiplies all deadlines of a test process, so that tests do not fail on a slow machine. A test
 * of a deadline restores the usual value.
 */
import { setPatience } from '../../../src/platform/patience.ts'

export const patience = 20

setPatience(patience)
