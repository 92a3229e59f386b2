/**
 * The pages of the console (decision D63): for each noun a list, a page for a record and a form for
 * each action, all made from the declared operations. The overview, a worker and the audit log are
 * written by hand.
 */
import { Type } from 'typebox'
import { consolePath } from '../../accounts/sign-in.ts'
import { type Endpoint } from '../../edge/http/endpoint.ts'
import { type Operation } from '../../operations/operation.ts'
import { refuse } from '../../platform/errors.ts'
import { type Shown } from '../page.ts'
import { auditPages } from './audit.ts'
import { type Console, type ConsoleOptions, openConsole, type Visiting } from './console.ts'
import { formShown, type Sent } from './form-page.ts'
import { listShown } from './list-page.ts'
import { type Noun, verbOf } from './nouns.ts'
import { type OverviewOptions, overviewPage } from './overview.ts'
import { recordShown } from './record-page.ts'
import { workerPage } from './worker.ts'

export function consolePages<Services>(
  options: ConsoleOptions<Services> & OverviewOptions,
): Endpoint[] {
  const console = openConsole(options)
  return [
    ...overviewPage(console, options),
    ...auditPages(console),
    ...workerPage(console),
    ...nounPages(console),
  ]
}

const anyText = Type.String()

/** The pages that are the same for every noun. */
function nounPages<Services>(console: Console<Services>): Endpoint[] {
  const { nouns } = console
  const named = (visit: Visiting, work: (noun: Noun<Services>) => Promise<Shown>) => {
    const noun = nouns.get(visit.path.noun ?? '')
    return noun === undefined ? Promise.resolve(refuse('not_found')) : work(noun)
  }
  const verbs = (visit: Visiting, kind: Operation['kind'], work: OfOperation<Services>) =>
    named(visit, async (noun) => {
      const all = kind === 'read' ? noun.views : noun.changes
      const operation = all.find((one) => verbOf(one) === visit.path.verb)
      return operation === undefined ? refuse('not_found') : work(noun, operation)
    })
  const form = (visit: Visiting, sent?: Sent) =>
    verbs(visit, 'change', (noun, operation) =>
      formShown(console, visit, { noun, operation, sent }),
    )
  return [
    ...console.page({
      path: `${consolePath}/{noun}`,
      pathParameters: Type.Object({ noun: anyText }),
      show: (visit) =>
        named(visit, (noun) => listShown(console, visit, { noun, operation: noun.main })),
    }),
    ...console.page({
      path: `${consolePath}/{noun}/view/{verb}`,
      pathParameters: Type.Object({ noun: anyText, verb: anyText }),
      show: (visit) =>
        verbs(visit, 'read', (noun, operation) => listShown(console, visit, { noun, operation })),
    }),
    ...console.page({
      path: `${consolePath}/{noun}/{record}`,
      pathParameters: Type.Object({ noun: anyText, record: anyText }),
      show: (visit) => named(visit, (noun) => recordShown(console, visit, noun)),
    }),
    ...console.page({
      path: `${consolePath}/{noun}/do/{verb}`,
      pathParameters: Type.Object({ noun: anyText, verb: anyText }),
      show: (visit) => form(visit),
      actions: {
        perform: (visit, fields) => form(visit, { fields, isPreview: false }),
        preview: (visit, fields) => form(visit, { fields, isPreview: true }),
      },
    }),
  ]
}

type OfOperation<Services> = (
  noun: Noun<Services>,
  operation: Operation<Services>,
) => Promise<Shown>
