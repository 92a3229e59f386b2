/** Rules that hold for every operation, taken from its declaration. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownOperations } from '../src/accounts/member-operations.ts'
import { allOperations } from '../src/app/all-operations.ts'
import { actions } from '../src/audit/actions.ts'
import { checkInput, whyForbidden } from '../src/operations/perform.ts'
import { type FieldForm, fieldForms } from '../src/operations/text-input.ts'
import { type OperatorRole } from '../src/platform/http/callers.ts'
import { errorTable } from '../src/platform/http/errors.ts'
import { keyOperations } from '../src/scores/key-operations.ts'
import { recomputeOperations } from '../src/scores/recompute-operations.ts'
import { scoresRecordExport } from '../src/scores/reports/operations.ts'

/** Those of the command line alone: they handle files of its machine, or use its processors. */
const commandOperations = [...keyOperations, ...recomputeOperations, scoresRecordExport]

/** Those with an operator route, and those without one. */
const every = [...allOperations, ...ownOperations, ...commandOperations]

test('names and routes are unique, and the path of a route names exactly the path parameters', () => {
  const names = every.map(({ name }) => name)
  const routes = every.map(({ http }) => http.replaceAll(/\{\w+\}/g, '{}'))
  assert.deepEqual([...new Set(names)], names)
  assert.deepEqual([...new Set(routes)], routes)
  for (const { name, http, path, kind } of every) {
    assert.match(name, /^[a-z-]+ [a-z-]+$/)
    const [method, route = ''] = http.split(' ')
    assert.equal(method, kind === 'read' ? 'GET' : 'POST', name)
    const parameters = [...route.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter)
    assert.deepEqual(parameters, Object.keys(path), name)
  }
})

test('the example of each operation is valid input', () => {
  for (const operation of every) {
    const checked = checkInput(operation, operation.example)
    assert.ok('input' in checked, `${operation.name}: ${JSON.stringify(checked)}`)
  }
})

test('a field with a pattern, a format or several forms says what it must be', () => {
  for (const operation of every)
    for (const [field, form] of Object.entries(fieldForms(operation))) {
      for (const one of [form, form.items ?? {}])
        if (needsWords(one))
          assert.match(one.description ?? '', /^must /, `${operation.name}: ${field}`)
      assert.ok(form.description ?? form['x-help'], `${operation.name}: ${field} has no words`)
    }
})

function needsWords(form: FieldForm & { pattern?: string; format?: string }): boolean {
  return form.pattern !== undefined || form.format !== undefined || form.anyOf !== undefined
}

test('an operation refuses with rows of the error table, and records actions of the audit table', () => {
  for (const { name, refusals, audit, kind } of every) {
    for (const refusal of refusals) assert.ok(Object.hasOwn(errorTable, refusal), name)
    assert.equal(new Set(refusals).size, refusals.length, `${name} names a refusal twice`)
    if (kind === 'read') assert.equal(audit, undefined, name)
    else assert.ok(typeof audit === 'object' || (audit !== undefined && audit in actions), name)
  }
})

test('every role on every operation: admitted, or operator_role_required', () => {
  for (const { who, name } of every) {
    const refused = (role: OperatorRole) =>
      whyForbidden(who, { kind: 'operator', role, actor: 'x', by: 'x' })
    const ranks = ['viewer', 'support', 'admin'] as const
    const lowest = who.operator === undefined ? ranks.length : ranks.indexOf(who.operator)
    for (const [i, role] of ranks.entries())
      assert.equal(refused(role), i < lowest ? 'operator_role_required' : null, `${name} ${role}`)
    assert.equal(refused('ingest'), who.ingest === true ? null : 'operator_role_required', name)
  }
})

test('an operation that members or keys may not call refuses them', () => {
  const at = { accountId: 'a', actor: 'x', by: 'x' }
  const of = { ...at, userId: 'u' }
  for (const { who, name } of every) {
    const owner = whyForbidden(who, { kind: 'member', role: 'owner', ...of })
    assert.equal(owner, who.member === undefined ? 'operator_role_required' : null, name)
    const member = whyForbidden(who, { kind: 'member', role: 'member', ...of })
    if (who.member === 'owner') assert.equal(member, 'owner_required', name)
    assert.equal(whyForbidden(who, { kind: 'key', scopes: [], ...at }), 'insufficient_scope', name)
  }
})
