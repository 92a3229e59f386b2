/** Pure: what needs the operator, for the console, `assay status` and the operator API. */
import { counted } from '../platform/counted.ts'
import type { Survey } from './survey.ts'

/** Each need, and the page of the docs that mends it. */
export const needPages = {
  signing_key: 'signing-keys#create-a-key',
  status_list: 'monitor#if-a-job-fails',
  engine: 'recall-an-engine#if-the-recalled-engine-is-the-one-that-runs',
  processes: 'deploy#processes',
  jobs: 'monitor#if-a-job-fails',
  payments: 'manage-payments#resolve-open-payments',
  disputes: 'disputes#decide-a-dispute',
  books: 'manage-credits#check-the-books',
  credentials: 'signing-keys#revoke-a-stolen-key',
  scores: 'monitor#if-a-job-fails',
  events: 'monitor#if-a-job-fails',
  endpoints: 'manage-webhooks#find-an-endpoint',
  api_keys: 'accounts#rotate-a-key',
} as const

export type NeedName = keyof typeof needPages

export const needNames = Object.keys(needPages) as NeedName[]

export interface Need {
  name: NeedName
  title: string
  text: string
  /** The page of the console that shows it, below the first one. */
  page?:
    | 'disputes'
    | 'credits'
    | 'webhooks'
    | 'webhooks/view/failing'
    | 'api-keys'
    | 'payments/view/unresolved'
}

/** Work that waits longer needs an operator. */
const waitMsMax = 60_000
/** Lists are signed every six hours, and end a day after they were signed. */
const listAgeMsMax = 8 * 3_600_000

/** What the survey does not read. */
export interface NeedFacts {
  /** Null: no signing key is active. */
  activeKey: string | null
  failingEndpoints: number
  /** The engine of this release was recalled. */
  isEngineRecalled: boolean
}

export function needsOf(
  { backlog, jobs, live }: Pick<Survey, 'backlog' | 'jobs' | 'live'>,
  { activeKey, failingEndpoints, isEngineRecalled }: NeedFacts,
  now: Date,
): Need[] {
  const isOld = (since: Date | null, msMax = waitMsMax) =>
    since !== null && now.getTime() - since.getTime() > msMax
  const late = jobs.filter(({ isLate, error }) => isLate || error !== null)
  const needs: (Need | false)[] = [
    activeKey === null && {
      name: 'signing_key',
      title: 'No signing key is active',
      text: 'Nothing is issued. Run `assay keys create`.',
    },
    isOld(backlog.listPublishedAt, listAgeMsMax) && {
      name: 'status_list',
      title: 'A status list is not signed',
      text: 'It ends a day after its last signature: then nothing in it can be verified offline.',
    },
    isEngineRecalled && {
      name: 'engine',
      title: 'The scoring engine was recalled',
      text: 'No score is computed. Install a release with another engine.',
    },
    !live.some((one) => one.jobs !== null) && {
      name: 'processes',
      title: 'No process runs background jobs',
      text: 'Scores, events and mails wait. Start `assay jobs`.',
    },
    late.length > 0 && {
      name: 'jobs',
      title: counted(
        late.length,
        'background job fails or is late',
        'background jobs fail or are late',
      ),
      text: late.map(({ name, error }) => (error === null ? name : `${name}: ${error}`)).join('; '),
    },
    backlog.paymentsUnresolved > 0 && {
      name: 'payments',
      title: counted(
        backlog.paymentsUnresolved,
        'x402 payment is unresolved',
        'x402 payments are unresolved',
      ),
      text: 'The payer may have paid and got nothing. See `assay payments unresolved`.',
      page: 'payments/view/unresolved',
    },
    backlog.disputesOverdue > 0 && {
      name: 'disputes',
      title: counted(backlog.disputesOverdue, 'dispute is overdue', 'disputes are overdue'),
      text: 'Decide them: their workers wait longer than you promised.',
      page: 'disputes',
    },
    backlog.booksDiffering > 0 && {
      name: 'books',
      title: counted(backlog.booksDiffering, 'account is suspended', 'accounts are suspended'),
      text: 'The balance is not the sum of the entries. Check the books.',
      page: 'credits',
    },
    backlog.scoresWithoutCredential > 0 && {
      name: 'credentials',
      title: counted(
        backlog.scoresWithoutCredential,
        'score waits for a new credential',
        'scores wait for new credentials',
      ),
      text: 'A machine with the signing key issues them.',
    },
    isOld(backlog.scoreDueSince) && {
      name: 'scores',
      title: 'Workers wait to be scored',
      text: 'The oldest has waited for more than a minute.',
    },
    isOld(backlog.eventUndispatchedSince) && {
      name: 'events',
      title: 'Events wait to be dispatched',
      text: 'The oldest is more than a minute old.',
      page: 'webhooks',
    },
    failingEndpoints > 0 && {
      name: 'endpoints',
      title: counted(failingEndpoints, 'webhook endpoint fails', 'webhook endpoints fail'),
      text: 'See `assay webhooks failing`.',
      page: 'webhooks/view/failing',
    },
    backlog.apiKeysEnding > 0 && {
      name: 'api_keys',
      title: counted(
        backlog.apiKeysEnding,
        'API key ends within 7 days',
        'API keys end within 7 days',
      ),
      text: 'Tell their accounts to rotate them.',
      page: 'api-keys',
    },
  ]
  return needs.filter((one) => one !== false)
}
