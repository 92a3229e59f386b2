/**
 * Performs an operation for a caller: checks who may call it, checks the input, runs it in one
 * transaction and writes its audit entry there. This is the only way to a change, so no door can
 * forget the entry.
 */
import type { Static, TObject, TProperties, TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import type { ActionName } from '../audit/actions.ts'
import { recordEntries } from '../audit/record.ts'
import { type OperatorRole, operatorRoles, type Role, type Scope } from '../edge/http/callers.ts'
import type { Clock } from '../platform/clock.ts'
import { sha256 } from '../platform/crypto/bytes.ts'
import type { Db, Queryable, Tx } from '../platform/db/db.ts'
import { nameRequest } from '../platform/db/name-request.ts'
import { type ErrorName, type Refusal, refuse } from '../platform/errors.ts'
import { canonicalJson } from '../platform/json/canonical-json.ts'
import { closedObject } from '../platform/json/closed-object.ts'
import { parseBody } from '../platform/json/shape-fault.ts'
import { wireObject } from '../platform/json/wire-object.ts'
import { type Context, type Done, type Operation, type Who } from './operation.ts'
import { findReplay, insertReplay } from './replay-store.ts'
import { rollingBack } from './rolling-back.ts'

export type OperationCaller = {
  actor: string
  by: string
  /** The HTTP request that asks for the operation, if one does. */
  requestId?: string
} & (
  | /** An operator: at the machine, by a token, or in the console. */
  { kind: 'operator'; role: OperatorRole }
  | { kind: 'member'; accountId: string; role: Role; userId: string }
  | { kind: 'key'; accountId: string; scopes: readonly Scope[] }
)

export interface Performer<Services> {
  db: Db
  clock: Clock
  services: Services
}

export interface PerformOptions {
  idempotencyKey?: string | null | undefined
  /** Runs everything, returns the result and rolls back. */
  isDryRun?: boolean
  /** Called after each batch of a long operation, with the sum of all batches. */
  onBatch?: (output: object) => void
  /** After so many milliseconds no further batch begins, and the output has `more: true`. */
  batchesMsMax?: number
}

export type Performed<Output> = { output: Output } | Refusal

interface Typed {
  path: TProperties
  input: TProperties
  output: TObject
}
export type InputOf<Op extends Typed> = Static<TObject<Op['path'] & Op['input']>>
export type OutputOf<Op extends Typed> = Static<Op['output']>

/** For hand-written doors: the types of input and output are those of the declaration. */
export function perform<Services, Op extends Operation<Services>>(
  performer: Performer<Services>,
  operation: Op,
  caller: OperationCaller,
  input: InputOf<Op>,
  options: PerformOptions = {},
): Promise<Performed<OutputOf<Op>>> {
  return performAny(performer, operation, caller, input, options) as Promise<
    Performed<OutputOf<Op>>
  >
}

type Row = Readonly<Record<string, unknown>>

/** `run` of an operation whose input was checked. */
type Runnable<Services> = {
  run(
    db: Queryable,
    input: object,
    context: Context<Services>,
  ): Promise<object | Done<object, ActionName> | Refusal>
}

/** For generic doors: `raw` is checked against the declaration. */
export async function performAny<Services>(
  performer: Performer<Services>,
  operation: Operation<Services>,
  caller: OperationCaller,
  raw: object,
  {
    idempotencyKey = null,
    isDryRun = false,
    onBatch,
    batchesMsMax = Infinity,
  }: PerformOptions = {},
): Promise<Performed<object>> {
  const forbidden = whyForbidden(operation.who, caller)
  if (forbidden !== null) return refuse(forbidden)
  const checked = checkInput(operation, raw)
  if ('refusal' in checked) return checked
  const { input } = checked
  const contextAt = (): Context<Services> => ({
    now: performer.clock(),
    owner: caller.kind === 'operator' ? 'any' : { userId: caller.accountId },
    userId: caller.kind === 'member' ? caller.userId : null,
    actor: caller.actor,
    by: caller.by,
    idempotencyKey,
    services: performer.services,
  })
  if (operation.kind === 'read') {
    const result = await (operation as unknown as Runnable<Services>).run(
      performer.db,
      input,
      contextAt(),
    )
    return 'refusal' in result ? result : { output: wireObject(operation.output, result as Row) }
  }
  // A refusal changes nothing, whatever was written before it.
  const db = rollingBack(performer.db, (result) => isDryRun || 'refusal' in (result as object))
  const began = performance.now()
  let total: object | null = null
  for (;;) {
    // Only the first batch stores the key: a repeated call goes on with the batches that are left.
    const key: string | null =
      isDryRun || operation.keepsKeys || total !== null ? null : idempotencyKey
    const result: Done<object, ActionName> | Refusal = await db.transaction(async (tx) => {
      if (caller.requestId !== undefined) await nameRequest(tx, caller.requestId)
      return runBatch(tx, operation, { input, context: contextAt(), key, isDryRun })
    })
    const changedNothing = 'refusal' in result || result.entries.length === 0
    // An earlier call may have hidden the same a moment ago, and be waiting until no replica shows
    // it. Calls with a key hide nothing.
    if (changedNothing && !isDryRun && caller.kind !== 'key') await performer.db.untilShown()
    if ('refusal' in result) return result
    if (!isDryRun) await result.after?.()
    total = total === null ? result.output : withSums(operation.output, total, result.output)
    onBatch?.(total)
    const isLast = isDryRun || performance.now() - began >= batchesMsMax
    if (result.more && !isLast) continue
    // A dry run shows only the first batch: after its rollback it would find the same rows again.
    const output = isDryRun ? (withoutMade(operation.output, total) as object) : total
    return { output: result.more ? { ...output, more: true } : output }
  }
}

interface Batch<Services> {
  input: object
  context: Context<Services>
  /** The Idempotency-Key under which the answer is stored, or null. */
  key: string | null
  isDryRun: boolean
}

/** The audit entry comes last: its lock lasts until the commit. */
async function runBatch<Services>(
  tx: Tx,
  operation: Operation<Services>,
  { input, context, key, isDryRun }: Batch<Services>,
): Promise<Done<object, ActionName> | Refusal> {
  const call = key === null ? null : { actor: context.actor, key, ...fingerprint(operation, input) }
  const replay = call === null ? null : await findReplay(tx, call)
  if (replay !== null) return replay
  const done = (await (operation as unknown as Runnable<Services>).run(tx, input, context)) as
    | Done<object, ActionName>
    | Refusal
  if ('refusal' in done) return done
  const result = { ...done, output: wireObject(operation.output, done.output as Row) }
  if (isDryRun) return result
  if (call !== null) await insertReplay(tx, call, storedAnswer(operation, result), context.now)
  const { audit, name } = operation
  if (typeof audit === 'string') await recordEntries(tx, audit, result.entries, context)
  else if (result.entries.length > 0) throw new Error(`${name} has no audit row`)
  return result
}

function fingerprint({ name }: { name: string }, input: object): { fingerprint: Buffer } {
  return { fingerprint: sha256(canonicalJson({ name, input })) }
}

/** An output with a secret is not stored: it is shown once. */
function storedAnswer(
  { output: shape }: { output: TObject },
  { output, more }: Done<object, ActionName>,
): object | null {
  return secretFields(shape, output).length > 0 ? null : { output, more }
}

/** A secret of a dry run never works, and a record of it never exists, so neither is shown. */
function withoutMade(schema: TSchema, value: unknown): unknown {
  if (typeof value === 'string')
    return 'x-secret' in schema || 'x-made' in schema ? '(not made)' : value
  if (typeof value !== 'object' || value === null) return value
  const { items = {}, properties = {} } = schema as {
    items?: TSchema
    properties?: Record<string, TSchema>
  }
  if (Array.isArray(value)) return value.map((item) => withoutMade(items, item))
  const members = Object.entries(value).map(([name, member]) => [
    name,
    withoutMade(properties[name] ?? {}, member),
  ])
  return Object.fromEntries(members)
}

/** Returns the names of the members that hold a secret, of an output those that it has. */
export function secretFields({ properties }: TObject, output: object = properties): string[] {
  return Object.entries(properties).flatMap(([name, schema]) =>
    'x-secret' in schema && name in output ? [name] : [],
  )
}

export function whyForbidden(who: Who, caller: OperationCaller): ErrorName | null {
  if (caller.kind === 'key')
    return who.key !== undefined && caller.scopes.includes(who.key) ? null : 'insufficient_scope'
  if (caller.kind === 'member') {
    if (who.member === undefined) return 'operator_role_required'
    return who.member === 'member' || caller.role === 'owner' ? null : 'owner_required'
  }
  const isAllowed =
    caller.role === 'ingest'
      ? who.ingest === true
      : who.operator !== undefined &&
        operatorRoles.indexOf(caller.role) >= operatorRoles.indexOf(who.operator)
  return isAllowed ? null : 'operator_role_required'
}

interface InputCheck {
  shape: ReturnType<typeof Compile>
  fields: readonly [string, TSchema][]
}

const checks = new WeakMap<object, InputCheck>()

function checkOf(operation: Typed): InputCheck {
  const known = checks.get(operation)
  if (known !== undefined) return known
  const properties = { ...operation.path, ...operation.input }
  const shape = Compile(closedObject(properties))
  const made = { shape, fields: Object.entries(properties) }
  checks.set(operation, made)
  return made
}

/** Fills in defaults, takes each value in its one spelling, and checks the whole. */
export function checkInput(operation: Typed, raw: object): { input: object } | Refusal {
  const { shape, fields } = checkOf(operation)
  const input: Record<string, unknown> = { ...raw }
  for (const [name, schema] of fields) {
    const given = input[name]
    const usual = given === undefined && 'default' in schema ? schema.default : given
    const value = inOneSpelling(schema, usual)
    if (value !== undefined) input[name] = value
    else if (Object.hasOwn(input, name)) delete input[name]
  }
  const read = parseBody(shape, input)
  return 'fault' in read
    ? refuse('invalid_field', { message: read.fault })
    : { input: read.body as object }
}

function inOneSpelling(schema: TSchema, value: unknown): unknown {
  const { oneSpelling, items } = schema as {
    oneSpelling?: (text: string) => string
    items?: TSchema
  }
  if (Array.isArray(value) && items !== undefined)
    return value.map((item) => inOneSpelling(items, item))
  return typeof value === 'string' && oneSpelling !== undefined ? oneSpelling(value) : value
}

/** Adds the whole numbers of two batches; every other member is that of the last one. */
function withSums({ properties }: TObject, before: object, last: object): object {
  const sums = Object.keys(properties).flatMap((name) => {
    const [a, b] = [Reflect.get(before, name), Reflect.get(last, name)]
    return typeof a === 'number' && typeof b === 'number' ? [[name, a + b]] : []
  })
  return { ...last, ...Object.fromEntries(sums) }
}
