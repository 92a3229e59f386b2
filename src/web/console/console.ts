/**
 * What all pages of the console share (decision D63): the operations by noun, the caller, the frame,
 * links to actions, and the notice after a change.
 */
import { type TObject } from 'typebox'
import { consolePath } from '../../accounts/sign-in.ts'
import { type ConsoleRole, type SessionCaller } from '../../edge/http/callers.ts'
import { type Endpoint, type RefusalPage } from '../../edge/http/endpoint.ts'
import { findOutput } from '../../operations/api.ts'
import { type Operation } from '../../operations/operation.ts'
import { type OperationCaller, type Performer, performAny } from '../../operations/perform.ts'
import { type Refusal, refusalText } from '../../platform/errors.ts'
import { type FieldErrors, menu, notice } from '../components.ts'
import { attributes, html, type Part } from '../html.ts'
import {
  type DeclaredPage,
  type Fields,
  type PagesContext,
  pageEndpoints,
  type Shown,
  type Visit,
} from '../page.ts'
import { errorsOf } from './form.ts'
import {
  formPath,
  type Noun,
  type Nouns,
  navigation,
  nounNameOf,
  nounsOf,
  singular,
  titled,
  verbOf,
  wordsOf,
} from './nouns.ts'

export interface ConsoleOptions<Services> extends Pick<PagesContext, 'db' | 'clock' | 'publicUrl'> {
  operations: readonly Operation<Services>[]
  performer: Performer<Services>
  refusalPage: RefusalPage
  /** Origin of the public pages, or nothing if this listener serves them. */
  siteUrl: string
  /** Returns what the user's menu shows. */
  nameOfUser(session: SessionCaller): Promise<string | null>
}

export interface Console<Services> extends Pick<ConsoleOptions<Services>, 'siteUrl'> {
  nouns: Nouns<Services>
  perform: (
    visit: Visiting,
    operation: Operation<Services>,
    raw: object,
    options?: { idempotencyKey?: string | null; isDryRun?: boolean },
  ) => ReturnType<typeof performAny>
  /** Returns the output of an earlier change of this actor, or null. */
  answerOf(actor: string, key: string): Promise<object | null>
  page(declared: Declared): Endpoint[]
}

export type Visiting = Omit<Visit, 'perform'>

interface Declared
  extends Partial<Pick<DeclaredPage<TObject, TObject>, 'entry'>>,
    Pick<DeclaredPage<TObject, TObject>, 'path' | 'pathParameters'> {
  show(visit: Visiting): Promise<Shown>
  actions?: Readonly<Record<string, (visit: Visiting, fields: Fields) => Promise<Shown>>>
}

const batchesMsMax = 10_000

export function openConsole<Services>(options: ConsoleOptions<Services>): Console<Services> {
  const nouns = nounsOf(options.operations)
  const groups = navigation(nouns)
  return {
    nouns,
    siteUrl: options.siteUrl,
    perform: (visit, operation, raw, more = {}) =>
      performAny(
        options.performer,
        operation,
        { ...callerOf(visit.session), requestId: visit.requestId },
        raw,
        { ...more, batchesMsMax },
      ),
    answerOf: (actor, key) => findOutput(options.db, { actor, key }),
    page: (declared) =>
      pageEndpoints(
        options,
        {
          policy: { kind: 'session', isConsole: true },
          priority: 'operator',
          refusalPage: options.refusalPage,
          async frameOf(session, current) {
            const user = await options.nameOfUser(session)
            const role = roleOf(session)
            return user === null ? null : { console: { user, role, current, groups } }
          },
          moreOf: () => ({}),
        },
        // Its parameters are texts: operations check them.
        { entry: entryOf, ...declared } as DeclaredPage<TObject, TObject, object>,
      ),
  }
}

/** Returns the path of the entry in the navigation for the page of a noun. */
function entryOf({ noun }: Fields): string {
  return noun === undefined ? consolePath : `${consolePath}/${noun}`
}

/** The server admits only users with a role to these pages. */
function roleOf({ operatorRole }: SessionCaller): ConsoleRole {
  if (operatorRole === null) throw new Error('a page of the console was shown without a role')
  return operatorRole
}

export function callerOf(session: SessionCaller): OperationCaller {
  const actor = `operator ${session.userId}`
  return { kind: 'operator', role: roleOf(session), actor, by: actor }
}

/**
 * Three actions have buttons; with more, the rest is in a menu. `noun` is the one whose page it is:
 * an action of another noun also shows its noun.
 */
export function actionLinks<Services>(
  actions: readonly Operation<Services>[],
  given: Record<string, string>,
  noun: Noun<Services>,
): Part {
  // First what makes a record, then what needs nothing but the record, last what cannot be taken
  // back.
  const weight = (one: Operation<Services>) =>
    Object.keys(one.path).length +
    (one.danger === undefined ? 0 : 10) -
    (Object.keys(given).length === 0 && /^(create|register|open|invite)\b/.test(verbOf(one))
      ? 5
      : 0)
  const sorted = actions.toSorted((a, b) => weight(a) - weight(b))
  const buttons = sorted.length > 3 ? 2 : 3
  const link = (one: Operation<Services>, name?: string) =>
    html`<a${attributes({ class: name })} href="${formPath(one, given)}">${actionText(one, noun)}</a>`
  return html`${sorted.slice(0, buttons).map((one, i) => link(one, i === 0 && one.danger === undefined ? 'button primary' : 'button'))}${
    sorted.length > buttons &&
    menu({
      label: 'More actions',
      items: sorted
        .slice(buttons)
        .map((one) => link(one, one.danger === undefined ? undefined : 'danger')),
    })
  }`
}

/** `Revoke`, and `Revoke credentials of key` on the page of another noun. */
export function actionText<Services>(operation: Operation<Services>, noun: Noun<Services>): string {
  const text = titled(verbOf(operation))
  return noun.changes.includes(operation)
    ? text
    : text.replace(/^\S+/, (verb) => `${verb} ${thingOf(operation)}`)
}

/** What an action of a noun makes or changes: `API key`, but `credits`, and `credentials` of a key. */
function thingOf(operation: { name: string }): string {
  const noun = wordsOf(nounNameOf(operation))
  return noun === 'credits' || verbOf(operation).includes('-of-') ? noun : singular(noun)
}

export function refusalErrors(names: readonly string[], refusal: Refusal): FieldErrors {
  return errorsOf(names, refusalText(refusal))
}

export function sentencesOf<Services>(
  operation: Operation<Services>,
  output: object,
  input: object,
): readonly string[] {
  const lines = operation.renderLines?.(output as never, input as never) ?? [
    `Done: ${operation.summary}.`,
  ]
  // The next command is for a terminal.
  return lines.filter((line) => !line.includes('`assay '))
}

/** The parameter of the page after a change, which names it. No input has a name with a hyphen. */
export const doneParameter = 'done-by'

export function doneQuery(change: { name: string; key: string; given: object }): string {
  return new URLSearchParams({ [doneParameter]: JSON.stringify(change) }).toString()
}

/** What the change did that led to this page, from its stored answer. */
export async function doneNotice<Services>(
  console: Console<Services>,
  visit: Visiting,
): Promise<Part> {
  const { name, key, given } = parsedObject(visit.query[doneParameter] ?? '')
  if (typeof name !== 'string' || typeof key !== 'string' || typeof given !== 'object') return false
  const noun = console.nouns.get(nounNameOf({ name }))
  const operation = noun?.changes.find((one) => one.name === name)
  if (operation === undefined) return false
  const output = await console.answerOf(callerOf(visit.session).actor, key)
  if (output === null) return false
  const [title = '', ...rest] = sentencesOf(operation, output, given ?? {})
  const text = rest.length > 0 && { text: rest.join(' ') }
  return notice({ tone: 'positive', title, ...text, isResult: true })
}

function parsedObject(text: string): Record<string, unknown> {
  try {
    return { ...(JSON.parse(text) as object) }
  } catch {
    return {}
  }
}
