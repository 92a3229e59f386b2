/** Deadlines have tests of their own; a slow machine must not fail the others. Whoever tests one sets the usual patience back. */
import { setPatience } from '../../../src/platform/patience.ts'

export const patience = 20

setPatience(patience)
