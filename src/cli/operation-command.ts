/**
 * Declares the commands of operations: arguments and flags from the input, help from the texts,
 * tables from the columns. Commands that handle files or processes are written by hand.
 */
import type { Command } from 'commander'
import { openServices, type Services } from '../main/operation-services.ts'
import type { Operation } from '../operations/operation.ts'
import {
  checkInput,
  type InputOf,
  type OutputOf,
  type PerformOptions,
  perform,
} from '../operations/perform.ts'
import {
  type FieldForm,
  fieldForms,
  type Texts,
  valueForm,
  valuesOfTexts,
} from '../operations/text-input.ts'
import { errorTable, type Refusal } from '../platform/errors.ts'
import { renderFields } from '../platform/render-fields.ts'
import type { Columns } from '../platform/render-table.ts'
import { byOption, wholeNumber } from './args.ts'
import { act, command } from './command.ts'
import { type CommandContext, withContext } from './context.ts'
import { askYes, done, type Failure, failure, note, type Outcome, usageError } from './output.ts'
import { listed } from './render.ts'

/** Declares one command for each operation of a noun. */
export function declareOperations(noun: Command, operations: readonly Operation<Services>[]): void {
  for (const operation of operations) declareOperation(noun, operation)
}

export interface CommonFlags {
  json?: boolean
  csv?: boolean
  yes?: boolean
  dryRun?: boolean
  by?: string
  limit?: number
}

/** A command line reads so many rows at most, page by page. */
const rowsMax = 1_000_000

/** Declares the command of an operation. `run` performs it if more than the operation is to do. */
export function declareOperation(
  noun: Command,
  operation: Operation<Services>,
  run = runOperation,
): void {
  const { name, summary, kind, danger, columns } = operation
  const verb = name.slice(name.indexOf(' ') + 1)
  const isCheck = kind === 'read' && operation.finding !== undefined
  const exits = isCheck ? ': ends with 1 for a finding, 2 if it fails' : ''
  const declared = command(noun, verb, `${summary}${exits}`, exampleOf(operation))
  const forms = fieldForms(operation)
  const positional = positionalOf(operation)
  for (const field of positional) declareArgument(declared, operation, field)
  for (const field of flagFields(operation)) declareFlag(declared, operation, field)
  if (columns !== undefined) declared.option('--csv', 'CSV for a spreadsheet')
  if (kind === 'change') {
    declared.option(...byOption)
    declared.option('--dry-run', 'show what would change, and change nothing')
  }
  if (danger !== undefined) declared.option('--yes', 'do it without asking')
  declared.action(
    act(
      (...args: unknown[]) => {
        const flags = args.at(-1) as CommonFlags & Record<string, Texts[string] | undefined>
        const texts = [
          ...positional.map((field, i) => [field, args[i]]),
          ...flagFields(operation).map((field) => [field, flags[camel(flagOf(forms, field))]]),
          // An optional list that is left out is an empty one here.
        ].filter(
          ([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0),
        )
        return run(operation, Object.fromEntries(texts) as Texts, flags)
      },
      { failureCode: isCheck ? 2 : 1 },
    ),
  )
}

/** Pages are followed by the command itself, so it has no flag for the page after a row. */
function flagFields(operation: Operation<Services>): string[] {
  const positional = positionalOf(operation)
  return Object.keys(fieldForms(operation)).filter(
    (field) => !positional.includes(field) && !(isPaged(operation) && field === 'after'),
  )
}

function isPaged({ input, output }: Operation<Services>): boolean {
  return 'after' in input && 'limit' in input && 'next' in output.properties
}

function positionalOf({ positional, path }: Worded): readonly string[] {
  return positional ?? Object.keys(path)
}

function declareArgument(declared: Command, operation: Operation<Services>, field: string): void {
  const form = fieldForms(operation)[field] ?? {}
  const name = `${dashed(field)}${valueForm(form).type === 'array' ? '...' : ''}`
  declared.argument(isOptional(operation, field) ? `[${name}]` : `<${name}>`, helpOf(form))
}

function declareFlag(declared: Command, operation: Operation<Services>, field: string): void {
  const forms = fieldForms(operation)
  const form = forms[field] ?? {}
  const name = flagOf(forms, field)
  const help = helpOf(form)
  const value = valueForm(form)
  if (isPaged(operation) && field === 'limit') {
    const usual = Number(form.default)
    declared.option('--limit <n>', help, wholeNumber(1, rowsMax), usual)
    return
  }
  if (value.type === 'boolean') {
    declared.option(`--${name}`, help)
    // Without a default, leaving it out is a third answer: a setting decides.
    if (form.default === undefined) declared.option(`--no-${name}`, 'the opposite')
    return
  }
  const shown = value.type === 'array' ? '<value...>' : value.type === 'integer' ? '<n>' : '<value>'
  const usual = form.default === undefined ? '' : ` (default: ${JSON.stringify(form.default)})`
  const option = declared.createOption(`--${name} ${shown}`, `${help}${usual}`)
  const isRequired = !isOptional(operation, field) && form.default === undefined
  declared.addOption(isRequired ? option.makeOptionMandatory() : option)
}

function isOptional({ path, input }: Operation<Services>, field: string): boolean {
  const schema = path[field] ?? input[field]
  return schema !== undefined && '~optional' in schema
}

/** Performs an operation with the texts of its arguments and flags. */
export async function runOperation(
  operation: Operation<Services>,
  texts: Texts,
  flags: CommonFlags,
  idempotencyKey?: string,
): Promise<Outcome> {
  const { dryRun: isDryRun = false } = flags
  const { raw, input: checked } = checkTexts(operation, texts)
  await askFirst(operation, flags)
  return withContext(async (context) => {
    const perform = (input: object): Promise<object> =>
      performHere(context, operation, { input: { ...input }, flags, options: { idempotencyKey } })
    const output = isPaged(operation)
      ? await readPages(perform, raw, flags.limit ?? rowsMax)
      : await perform(raw)
    return rendered(operation, output, { input: checked, isDryRun, csv: flags.csv === true })
  })
}

/** Reports a wrong argument before the database is opened. */
export function checkTexts(
  operation: Operation<Services>,
  texts: Texts,
): { raw: object; input: object } {
  const raw = valuesOfTexts(operation, texts)
  if (isPaged(operation)) delete raw.limit
  const checked = checkInput(operation, raw)
  if ('refusal' in checked) throw failureOf(operation, checked)
  return { raw, input: checked.input }
}

interface Asked<Needed, Op extends Operation<Needed>> {
  input: InputOf<Op>
  flags: Pick<CommonFlags, 'by' | 'dryRun'>
  options?: PerformOptions
  /** What a command has opened for its operation. */
  services: Needed
}

/** Performs an operation at the machine, also for commands that are written by hand. */
export function performHere<Op extends Operation<Services>>(
  context: CommandContext,
  operation: Op,
  asked: Omit<Asked<Services, Op>, 'services'>,
): Promise<OutputOf<Op>> {
  return performWith(context, operation, { ...asked, services: openServices(context.config) })
}

/** Performs an operation with services that the command itself has opened. */
export async function performWith<Needed, Op extends Operation<Needed>>(
  { db, clock, actor }: CommandContext,
  operation: Op,
  { input, flags: { by = actor, dryRun: isDryRun = false }, options, services }: Asked<Needed, Op>,
): Promise<OutputOf<Op>> {
  const performer = { db, clock, services }
  const caller = { kind: 'operator', role: 'admin', actor, by } as const
  const performed = await perform(performer, operation, caller, input, { isDryRun, ...options })
  if ('refusal' in performed) throw failureOf(operation, performed)
  return performed.output
}

/** Reads pages until there are `limit` rows, and returns them as one page. */
async function readPages(
  perform: (input: object) => Promise<object>,
  raw: object,
  limit: number,
): Promise<object> {
  const read: object[] = []
  for (let after: string | null = null; ; ) {
    const left = limit - read.length
    const page = { ...raw, limit: Math.min(left, 1_000), ...(after !== null && { after }) }
    const output = await perform(page)
    const { name, rows } = rowsOf(output)
    read.push(...rows)
    after = (output as { next: string | null }).next
    if (after === null || read.length >= limit) return { ...output, [name]: read }
  }
}

/** Returns the member of a list's output that holds its rows. */
function rowsOf(output: object): { name: string; rows: object[] } {
  const [name, rows] = Object.entries(output).find(([, value]) => Array.isArray(value)) ?? ['', []]
  return { name, rows }
}

/** Asks on a terminal. Elsewhere, says what the command would do, and does nothing. */
export async function askFirst(
  { danger, summary }: Operation<Services>,
  { yes = false, dryRun = false, json = false }: CommonFlags,
): Promise<void> {
  if (danger === undefined || yes || dryRun) return
  const isWanted = json ? null : await askYes(`${summary}. ${danger}\nType yes to do it: `)
  if (isWanted === null)
    throw usageError(`${danger} Add --yes to do it, or --dry-run to see what would change.`)
  if (!isWanted) throw usageError('Nothing was changed.')
}

interface Rendering {
  input: object
  isDryRun: boolean
  csv: boolean
}

function rendered(
  operation: Operation<Services>,
  output: object,
  { input, isDryRun, csv }: Rendering,
): Outcome {
  // A change is made for the names that were found, and the exit code says that some were not.
  const { renderLines, columns, none = 'There are none.', finding = 'notFound' } = operation
  const found: unknown = Reflect.get(output, finding)
  const exitCode = found == null || (Array.isArray(found) && found.length === 0) ? 0 : 1
  const report = isDryRun ? { dryRun: true, ...output } : { ...output }
  const sentences = () => renderLines?.(output as never, input as never).map(harmless)
  if (columns !== undefined) {
    const { rows } = rowsOf(output)
    const table = { rows, columns: columns as Columns<object>, none, csv }
    const { lines, ...outcome } = listed(report, table)
    const more = sentences() ?? []
    if (csv) for (const line of more) note(line)
    return { ...outcome, lines: csv ? lines : [...lines, ...more], exitCode }
  }
  const lines = sentences() ?? fieldLines(output)
  return done(
    report,
    isDryRun ? ['Dry run: nothing was changed. Without --dry-run:', ...lines] : lines,
    exitCode,
  )
}

/** A name that a worker chose must not steer the terminal. */
function harmless(line: string): string {
  return line.replace(/[\p{C}\u2028\u2029]+/gu, ' ')
}

function fieldLines(output: object): readonly string[] {
  const fields = Object.entries(output).map(([name, value]) => [name, fieldText(value)])
  return renderFields(Object.fromEntries(fields))
}

function fieldText(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const isPlain = Array.isArray(value) && value.every((item) => typeof item !== 'object')
  return isPlain ? value.join(', ') : JSON.stringify(value)
}

/** The words of an operation's arguments. */
type Worded = Pick<Operation, 'path' | 'input' | 'positional'>

/** Says what happened, the value that caused it, and the next command. */
function failureOf(operation: Worded, refused: Refusal): Failure {
  const { refusal, message = errorTable.invalid_field.message } = refused
  if (refusal !== 'invalid_field') return refusalFailure(refused)
  return usageError(argumentFault(operation, message), { report: { error: refusal } })
}

export function refusalFailure({ refusal, message }: Refusal): Failure {
  const row: { message: string; advice: string; command?: string } = errorTable[refusal]
  // A message of the operation names the next step itself, unless a command shows more.
  const next = row.command ?? (message === undefined ? row.advice : '')
  return failure(`${message ?? row.message} ${next}`.trimEnd(), { report: { error: refusal } })
}

/** Names a field as the command line does: `--since`, or `endpoint-id` for an argument. */
function argumentFault(operation: Worded, message: string): string {
  const [field = ''] = message.split(/[ .]/, 1)
  const forms = fieldForms(operation)
  const form = forms[field]
  if (form === undefined) return message
  const isArgument = positionalOf(operation).includes(field)
  const named = isArgument ? dashed(field) : `--${flagOf(forms, field)}`
  const shownBy =
    form['x-shown-by'] === undefined ? '' : ` \`assay ${form['x-shown-by']}\` shows it.`
  // An item of a list has a place, and its flag has none.
  return `${named}${message.slice(field.length).replace(/^\.\d+/, '')}${shownBy}`
}

function exampleOf(operation: Operation<Services>): string {
  const { name, example } = operation
  const forms = fieldForms(operation)
  const positional = positionalOf(operation)
  const words = positional.flatMap((field) => [Reflect.get(example, field)].flat().map(quoted))
  for (const [field, value] of Object.entries(example)) {
    const isDefault = JSON.stringify(value) === JSON.stringify(forms[field]?.default)
    if (positional.includes(field) || isDefault) continue
    const flag = `--${value === false ? 'no-' : ''}${flagOf(forms, field)}`
    words.push(flag, ...(typeof value === 'boolean' ? [] : [value].flat().map(quoted)))
  }
  const yes = operation.danger === undefined ? [] : ['--yes']
  return ['assay', name, ...words, ...yes].join(' ')
}

function quoted(value: unknown): string {
  const text = typeof value === 'string' ? value : value === null ? 'off' : JSON.stringify(value)
  return /^[\w./:@+-]+$/.test(text) ? text : `'${text}'`
}

function helpOf(form: FieldForm = {}): string {
  return form['x-help'] ?? (form.description ?? '').replace(/^must (be|have) /, '')
}

function flagOf(forms: Readonly<Record<string, FieldForm>>, field: string): string {
  return forms[field]?.['x-flag'] ?? dashed(field)
}

/** `endpointId` becomes `endpoint-id`. */
function dashed(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/** `endpoint-id` becomes `endpointId`, the name under which commander gives its value. */
function camel(flag: string): string {
  return flag.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
