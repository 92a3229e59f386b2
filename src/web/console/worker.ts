/** The page of a worker, by hand: whether the score is public, and what each gate waits for. */
import type { Static } from 'typebox'
import { Type } from 'typebox'
import { consolePath } from '../../accounts/sign-in.ts'
import type { Endpoint } from '../../edge/http/endpoint.ts'
import type { shownWorker } from '../../privacy/worker-operations.ts'
import { badge, card, facts, idValue, none } from '../components.ts'
import { type Html, html, type Part } from '../html.ts'
import { icon } from '../icons.ts'
import { counted, timeTag } from '../text.ts'
import { actionLinks, type Console, callerOf, doneNotice, type Visiting } from './console.ts'
import { formPath, mayCall, nounNameOf, recordPath, titled, verbOf } from './nouns.ts'
import { missingRecord, recordActions, recordParts } from './record-page.ts'
import { stateBadge } from './values.ts'

type Worker = Static<typeof shownWorker>

export function workerPage<Services>(console: Console<Services>): Endpoint[] {
  const { nouns } = console
  const noun = nouns.get('workers')
  const show = noun?.show
  if (noun === undefined || show == null) return []
  return console.page({
    entry: noun.path,
    path: `${consolePath}/workers/{username}`,
    pathParameters: Type.Object({ username: Type.String() }),
    async show(visit) {
      const username = visit.path.username ?? ''
      const [shown, parts, done] = await Promise.all([
        console.perform(visit, show, { username }),
        recordParts(console, visit, { noun, key: 'username', id: username }),
        doneNotice(console, visit),
      ])
      if ('refusal' in shown) return missingRecord(noun, visit, shown)
      const worker = shown.output as Worker
      const caller = callerOf(visit.session)
      const given = { username: worker.username }
      const actions = recordActions(nouns, { noun, record: worker }, caller).filter(
        // The gates have buttons of their own.
        ({ name }) => !/^(consent|identity) /.test(name),
      )
      const isPublic = worker.scoreHiddenBy.length === 0
      return {
        title: worker.displayName,
        top: done,
        head: {
          badge: isPublic
            ? badge('positive', 'check', 'Score is public')
            : badge('warning', 'lock', 'Score is hidden'),
          text: html`<span class="mono">${worker.username}</span>${worker.title !== null && html` · <span dir="auto">${worker.title}</span>`}`,
          above: [{ title: noun.title, url: noun.path }],
          actions: html`${isPublic && html`<a class="button" href="${`${console.siteUrl}/u/${worker.username}`}">Public page</a>`}${actionLinks(actions, given, noun)}`,
        },
        main: html`<div class="columns half">${gatesCard(console, visit, worker)}${factsCard(worker, visit.now)}</div>
${parts}`,
      }
    },
  })
}

interface Gate {
  isOpen: boolean
  title: string
  text: Part
  /** Operations that open or close it. */
  actions: Part
}

/** Each condition of a public score, with its state and the action that changes it. */
function gatesCard<Services>(console: Console<Services>, visit: Visiting, worker: Worker): Html {
  const { scoreHiddenBy, missing, onboardedAt, consents, identity, openDisputes, username } = worker
  const caller = callerOf(visit.session)
  const all = [...console.nouns.values()].flatMap(({ changes }) => changes)
  const link = (name: string, given: Record<string, string>) => {
    const operation = all.find((one) => one.name === name)
    return (
      operation !== undefined &&
      mayCall(operation, caller) &&
      html`<a class="button small" href="${formPath(operation, { username, ...given })}">${titled(verbOf(operation))}<span class="hidden-visually"> ${nounNameOf(operation)} ${given.permission?.replaceAll('_', ' ')}</span></a>`
    )
  }
  const consentGate = (permission: keyof typeof consents): Gate => {
    const isOpen = consents[permission]?.granted ?? false
    return {
      isOpen,
      title: `Consent to ${permission.replaceAll('_', ' ')}`,
      text: isOpen
        ? 'Granted.'
        : consents[permission] === null
          ? 'The worker has not decided.'
          : 'Withdrawn.',
      actions: link(isOpen ? 'consent withdraw' : 'consent grant', { permission }),
    }
  }
  const disputes = console.nouns.get('disputes')
  const isHiding = scoreHiddenBy.includes('dispute')
  const gates: Gate[] = [
    {
      isOpen: !scoreHiddenBy.includes('no_score'),
      title: 'Score',
      text: scoreHiddenBy.includes('no_score')
        ? 'There is none yet: evidence is missing, or waits for the jobs process.'
        : 'Computed.',
      actions: false,
    },
    {
      isOpen: onboardedAt !== null,
      title: 'Onboarding',
      text:
        onboardedAt === null
          ? `Missing: ${missing.map((one) => one.replaceAll('_', ' ')).join(', ')}.`
          : html`Since ${timeTag(new Date(onboardedAt), visit.now)}.`,
      actions: false,
    },
    consentGate('public_profile'),
    consentGate('score_sharing'),
    {
      isOpen: !scoreHiddenBy.includes('identity'),
      title: 'Identity',
      text: html`${titled(identity.state)}${identity.verifiedUntil !== null && html` until ${timeTag(new Date(identity.verifiedUntil), visit.now)}`}.`,
      actions: link(identity.state === 'verified' ? 'identity revoke' : 'identity verify', {}),
    },
    {
      isOpen: !isHiding,
      title: 'Disputes',
      text:
        openDisputes.length === 0
          ? 'None is open.'
          : html`${counted(openDisputes.length, 'dispute is open', 'disputes are open')}${isHiding ? ', and hides the score' : ', and the score stays public'}.`,
      actions:
        disputes !== undefined &&
        openDisputes.map(
          (id) => html`<a class="button small" href="${recordPath(disputes, id)}">See dispute</a>`,
        ),
    },
  ]
  const isPublic = scoreHiddenBy.length === 0
  return card({
    title: isPublic ? 'Why the score is public' : 'Why the score is hidden',
    body: html`<ul class="gates">${gates.map(gateLine)}</ul>
<p class="small muted">${consents.search_listing?.granted ? 'Search may list the worker.' : 'Search does not list the worker.'} ${link(consents.search_listing?.granted ? 'consent withdraw' : 'consent grant', { permission: 'search_listing' })}</p>`,
  })
}

function gateLine({ isOpen, title, text, actions }: Gate): Html {
  return html`<li><span class="mark" data-tone="${isOpen ? 'positive' : 'warning'}">${icon(isOpen ? 'check' : 'lock')}</span><div><strong>${title}</strong><span class="hidden-visually">: ${isOpen ? 'fulfilled' : 'not fulfilled'}</span><p class="small muted">${text}</p></div>${actions !== false && html`<div class="row">${actions}</div>`}</li>`
}

function factsCard(worker: Worker, now: Date): Html {
  const { workerId, externalId, memberSince, skills, identity, onboardedAt } = worker
  const verified = skills.filter((one) => one.verified)
  return card({
    title: 'Facts',
    body: facts(
      [
        {
          label: 'External ID',
          value: externalId === null ? none : html`<span class="mono break">${externalId}</span>`,
        },
        { label: 'Member since', value: memberSince },
        {
          label: 'Onboarded',
          value: onboardedAt === null ? 'No' : timeTag(new Date(onboardedAt), now),
        },
        { label: 'Identity', value: stateBadge(identity.state) },
        {
          label: 'Skills',
          isWide: true,
          value:
            skills.length === 0
              ? none
              : html`<span class="row">${skills.slice(0, 12).map(({ name, verified }) => html`<span class="tag">${verified && icon('check')}${name}</span>`)}</span><span class="sub">${counted(verified.length, 'is verified', 'are verified')}</span>`,
        },
        { label: 'Worker ID', isWide: true, value: idValue('worker-id', workerId) },
      ],
      'columns',
    ),
  })
}
