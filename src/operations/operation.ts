/**
 * Pure: the declaration of one operation. The command line, the operator API, the specification's
 * routes, the dashboard and the console call it through `perform`. Everything that a door shows
 * comes from here: arguments, flags, fields of forms, columns, refusals and documentation.
 */
import type { Static, TObject, TProperties } from 'typebox'
import type { ActionName, EntryOf } from '../audit/actions.ts'
import type { OperatorRole, Role, Scope } from '../edge/http/callers.ts'
import type { Queryable, Tx } from '../platform/db/db.ts'
import type { ErrorName, Refusal } from '../platform/errors.ts'
import type { Stored } from '../platform/json/wire-object.ts'
import type { Columns } from '../platform/render-table.ts'

/** The callers of an operation. An absent kind of caller is refused. */
export interface Who {
  /** The lowest role. Without it, the operation has no operator door. */
  operator?: Exclude<OperatorRole, 'ingest'>
  /** A token of the operator's own systems may call it. */
  ingest?: true
  member?: Role
  key?: Scope
}

/** The rows that a caller may reach: all, or those of one account. */
export type Owner = 'any' | { userId: string }

export interface Context<Services> {
  now: Date
  owner: Owner
  /** The signed-in user, if a member asks. */
  userId: string | null
  /** Named in the audit log. */
  actor: string
  /** Named in the history of the record, for example of a dispute. */
  by: string
  idempotencyKey: string | null
  services: Services
}

/** The result of a change. `after` runs after the commit and before the answer. */
export interface Done<Output, Name extends ActionName> {
  output: Output
  /** Empty: nothing was changed, and the audit log gets no entry. */
  entries: readonly EntryOf<Name>[]
  after?: () => Promise<void>
  /** Another batch is left: `perform` calls `run` again in a new transaction. */
  more?: boolean
}

type More = Pick<Done<unknown, ActionName>, 'after' | 'more'>

export function changed<const Output, const Entry extends object>(
  output: Output,
  entry: Entry,
  more: More = {},
): { output: Output; entries: readonly [Entry] } & More {
  return { output, entries: [entry], ...more }
}

export function unchanged<const Output>(
  output: Output,
  more: More = {},
): { output: Output; entries: readonly [] } & More {
  return { output, entries: [], ...more }
}

/** The member of the output that holds the rows of a list. */
type RowOf<Output> = {
  [Name in keyof Output]: Output[Name] extends (infer Row)[] ? Row : never
}[keyof Output]

/** The members that a declaration leaves out if they are empty. */
interface Filled<
  Path extends TProperties = TProperties,
  Input extends TProperties = TProperties,
  Refused extends ErrorName = ErrorName,
> {
  /** Path parameters in their order. They are the arguments of the command, too. */
  path: Path
  /** Flags, fields of the form, members of the body; of a read, query parameters. */
  input: Input
  refusals: readonly Refused[]
  /** Input of the example in the help and in the document. */
  example: Static<TObject<Path & Input>>
}

interface Common<
  Path extends TProperties,
  Input extends TProperties,
  Output extends TObject,
  Refused extends ErrorName,
> extends Partial<Filled<Path, Input, Refused>> {
  /** The words of the command line, such as `webhooks pause`; also the operation id. */
  name: string
  http: `${'GET' | 'POST' | 'DELETE'} /${string}`
  summary: string
  who: Who
  /** Arguments of the command if they are not the path parameters. */
  positional?: readonly (keyof NoInfer<Path & Input> & string)[]
  output: Output
  /**
   * The member of the output that an operator must look at. If it is there and not empty, the
   * command ends with 1; if such a read fails, with 2.
   */
  finding?: keyof Static<Output> & string
  /**
   * The result in sentences. Without it, a door shows the fields of the output. For a list, they
   * follow the table.
   */
  renderLines?(output: Static<Output>, input: Static<TObject<Path & Input>>): readonly string[]
  columns?: Columns<RowOf<Static<Output>>>
  /** The text of an empty list. */
  none?: string
  /** Whether a record is in a state for this action: the console hides the button otherwise. */
  when?(record: object): boolean
}

export interface Read<
  Services,
  Path extends TProperties,
  Input extends TProperties,
  Output extends TObject,
  Refused extends ErrorName,
> extends Common<Path, Input, Output, Refused> {
  run(
    db: Queryable,
    input: Static<TObject<Path & Input>>,
    context: Context<Services>,
  ): Promise<Stored<Static<Output>> | Refusal<Refused>>
}

export interface Change<
  Services,
  Path extends TProperties,
  Input extends TProperties,
  Output extends TObject,
  Refused extends ErrorName,
  Name extends ActionName,
> extends Common<Path, Input, Output, Refused> {
  /** The row of the audit log, or the reason why none is written. */
  audit: Name | { none: string }
  /** It knows repeated Idempotency-Keys by itself: from its records, or to keep a promise. */
  keepsKeys?: true
  /** It cannot be taken back. The sentence says what it does, and a door asks before it runs. */
  danger?: string
  run(
    tx: Tx,
    input: Static<TObject<Path & Input>>,
    context: Context<Services>,
  ): Promise<Done<Stored<Static<Output>>, Name> | Refusal<Refused>>
}

/** The members that differ with the types of input and output. */
type Typed = 'positional' | 'finding' | 'renderLines' | 'columns' | keyof Filled

/** An operation of any types, as the doors see it. They call `run` only through `perform`. */
export interface Operation<Services = never>
  extends Omit<Common<TProperties, TProperties, TObject, ErrorName>, Typed>,
    Omit<Filled, 'example'> {
  kind: 'read' | 'change'
  positional?: readonly string[]
  example: object
  audit?: ActionName | { none: string }
  danger?: string
  keepsKeys?: true
  finding?: string
  renderLines?: (output: never, input: never) => readonly string[]
  columns?: Columns<never>
  run: (db: never, input: never, context: Context<Services>) => Promise<object>
}

const empty = { path: {}, input: {}, refusals: [], example: {} }
type None = typeof empty.path

/** The declarations of a module, which names the services that they need. */
export function operationsFor<Services>() {
  return {
    read<
      O extends TObject,
      P extends TProperties = None,
      I extends TProperties = None,
      R extends ErrorName = never,
    >(declared: Read<Services, P, I, O, R>) {
      const operation = { kind: 'read', ...empty, ...declared } as const
      return operation as typeof operation & Filled<P, I, R>
    },
    change<
      O extends TObject,
      N extends ActionName,
      P extends TProperties = None,
      I extends TProperties = None,
      R extends ErrorName = never,
    >(declared: Change<Services, P, I, O, R, N>) {
      const operation = { kind: 'change', ...empty, ...declared } as const
      return operation as typeof operation & Filled<P, I, R>
    },
  }
}
