/** What a new API key of an account may be. */
import { Type } from 'typebox'
import { uuidParameter } from '../../edge/http/fields.ts'

export const overlapHoursMax = 168
export const allowedNetworksMax = 20

export const keyNameLengthMax = 80
export const validDaysMax = 3_650

export const keyName = Type.String({
  minLength: 1,
  maxLength: keyNameLengthMax,
  // No control character, and not spaces alone. `\\xNN` means the same in every engine.
  pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]*[^\\s\\x00-\\x1f\\x7f-\\x9f][^\\x00-\\x1f\\x7f-\\x9f]*$',
  description: `must be text of 1 to ${keyNameLengthMax} characters`,
})

export const keyIdPath = Type.Object({
  keyId: uuidParameter('A UUID.'),
})
