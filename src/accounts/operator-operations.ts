/** The operations on users with an operator role. */
import { Type } from 'typebox'
import { consoleRoles } from '../edge/http/callers.ts'
import { afterField, limitField, nextField, pageOf, time, userName } from '../operations/fields.ts'
import { changed, operationsFor, unchanged } from '../operations/operation.ts'
import { type Refusal, refuse } from '../platform/errors.ts'
import { closedObject } from '../platform/json/closed-object.ts'
import { emailField } from './email.ts'
import { deleteOperatorRole, findOperators, lockUserByEmail, updateOperatorRole } from './store.ts'

const { read, change } = operationsFor<object>()

const email = emailField
const role = Type.Enum([...consoleRoles], { description: consoleRoles.join(', ') })

const operator = closedObject({
  email: Type.String(),
  name: userName,
  userId: Type.String(),
  role,
  grantedAt: time,
  grantedBy: Type.String(),
  disabled: Type.Boolean({ description: 'A disabled user cannot sign in.' }),
})

const operatorChange = closedObject({
  email: Type.String(),
  userId: Type.String(),
  changed: Type.Boolean(),
})

export const operatorsGrant = change({
  name: 'operators grant',
  http: 'POST /operators/{email}/grant',
  summary: 'Let a user work in the console',
  who: { operator: 'admin' },
  path: { email },
  input: { role },
  output: operatorChange,
  refusals: ['user_not_found'],
  example: { email: 'ada@example.com', role: 'support' },
  audit: 'operators.granted',
  renderLines: ({ email: of, changed: isChanged }) => [
    isChanged ? `${of} has the role from the next request on.` : `${of} had the role before.`,
  ],
  async run(tx, { email: of, role: granted }, { by, now }) {
    const user = await lockUserByEmail(tx, of)
    if (user === undefined) return unknownUser(of)
    const isChanged = await updateOperatorRole(tx, { userId: user.id, role: granted, by, now })
    const output = { email: of, userId: user.id, changed: isChanged }
    if (!isChanged) return unchanged(output)
    return changed(output, { subjects: [user.id], details: { role: granted } })
  },
})

const operatorsWithdraw = change({
  name: 'operators withdraw',
  http: 'POST /operators/{email}/withdraw',
  summary: 'Take the operator role from a user',
  who: { operator: 'admin' },
  path: { email: { ...email, 'x-shown-by': 'operators list' } },
  output: operatorChange,
  refusals: ['user_not_found'],
  example: { email: 'ada@example.com' },
  audit: 'operators.withdrawn',
  renderLines: ({ email: of, changed: isChanged }) => [
    isChanged ? `${of} is no operator any more.` : `${of} had no operator role.`,
  ],
  async run(tx, { email: of }) {
    const user = await lockUserByEmail(tx, of)
    if (user === undefined) return unknownUser(of)
    const isChanged = await deleteOperatorRole(tx, user.id)
    const output = { email: of, userId: user.id, changed: isChanged }
    return isChanged ? changed(output, { subjects: [user.id] }) : unchanged(output)
  },
})

const operatorsList = read({
  name: 'operators list',
  http: 'GET /operators',
  summary: 'Show the users with an operator role',
  who: { operator: 'viewer' },
  input: { limit: limitField, after: afterField },
  output: closedObject({ operators: Type.Array(operator), next: nextField }),
  example: { limit: 200 },
  none: 'No user has an operator role. Run `assay operators grant`.',
  columns: {
    email: 'email',
    role: ({ role: has, disabled }) => (disabled ? `${has}, disabled` : has),
    granted: 'grantedAt',
    by: 'grantedBy',
  },
  async run(db, { limit, after = null }) {
    const found = await findOperators(db, { after, limit: limit + 1 })
    const { rows, next } = pageOf(found, limit, ({ userId }) => userId)
    return { operators: rows.map((one) => ({ ...one, disabled: one.disabledAt !== null })), next }
  },
})

function unknownUser(of: string): Refusal<'user_not_found'> {
  return refuse('user_not_found', {
    message: `There is no user with the address ${of}. Invite the user to an account first.`,
  })
}

export const operatorUserOperations = [operatorsGrant, operatorsList, operatorsWithdraw] as const
