/** Pure: what needs the operator, for the console, `assay status` and the operator API. */
import { counted } from '../platform/counted.ts'
import type { Survey } from './survey.ts'

export interface Need {
  title: string
  text: string
  /** The noun whose operations mend it. */
  noun?: 'disputes' | 'credits' | 'webhooks' | 'api-keys'
}

/** Work that waits longer needs an operator. */
const waitMsMax = 60_000

/** What the survey does not read. */
export interface NeedFacts {
  /** Null: no signing key is active. */
  activeKey: string | null
  failingEndpoints: number
}

export function needsOf(
  { backlog, jobs, live }: Pick<Survey, 'backlog' | 'jobs' | 'live'>,
  { activeKey, failingEndpoints }: NeedFacts,
  now: Date,
): Need[] {
  const isOld = (since: Date | null) =>
    since !== null && now.getTime() - since.getTime() > waitMsMax
  const late = jobs.filter(({ isLate, error }) => isLate || error !== null)
  const needs: (Need | false)[] = [
    activeKey === null && {
      title: 'No signing key is active',
      text: 'Nothing is issued. Run `assay keys create`.',
    },
    !live.some((one) => one.jobs !== null) && {
      title: 'No process runs background jobs',
      text: 'Scores, events and mails wait. Start `assay jobs`.',
    },
    late.length > 0 && {
      title: counted(
        late.length,
        'background job fails or is late',
        'background jobs fail or are late',
      ),
      text: late.map(({ name, error }) => (error === null ? name : `${name}: ${error}`)).join('; '),
    },
    backlog.disputesOverdue > 0 && {
      title: counted(backlog.disputesOverdue, 'dispute is overdue', 'disputes are overdue'),
      text: 'Decide them: their workers wait longer than you promised.',
      noun: 'disputes',
    },
    backlog.booksDiffering > 0 && {
      title: counted(backlog.booksDiffering, 'account is suspended', 'accounts are suspended'),
      text: 'The balance is not the sum of the entries. Check the books.',
      noun: 'credits',
    },
    backlog.scoresWithoutCredential > 0 && {
      title: counted(
        backlog.scoresWithoutCredential,
        'score waits for a new credential',
        'scores wait for new credentials',
      ),
      text: 'A machine with the signing key issues them.',
    },
    isOld(backlog.scoreDueSince) && {
      title: 'Workers wait to be scored',
      text: 'The oldest has waited for more than a minute.',
    },
    isOld(backlog.eventUndispatchedSince) && {
      title: 'Events wait to be dispatched',
      text: 'The oldest is more than a minute old.',
      noun: 'webhooks',
    },
    failingEndpoints > 0 && {
      title: counted(failingEndpoints, 'webhook endpoint fails', 'webhook endpoints fail'),
      text: 'See `assay webhooks failing`.',
      noun: 'webhooks',
    },
    backlog.apiKeysEnding > 0 && {
      title: counted(
        backlog.apiKeysEnding,
        'API key ends within 7 days',
        'API keys end within 7 days',
      ),
      text: 'Tell their accounts to rotate them.',
      noun: 'api-keys',
    },
  ]
  return needs.filter((one) => one !== false)
}
