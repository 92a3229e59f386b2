/** The start page: the purpose of this deployment, an example, and where to go from here. */
import type { Endpoint } from '../../edge/http/endpoint.ts'
import { scoreBands } from '../../standard/bands.ts'
import type { Vocabulary } from '../../standard/catalog.ts'
import { slugOf } from '../../standard/slug.ts'
import { scoreChart } from '../chart.ts'
import { code } from '../components.ts'
import { type Html, html, type Part } from '../html.ts'
import { type IconName, icon } from '../icons.ts'
import { type Site, staticPage } from '../public-page.ts'
import { demoWords } from './verify.ts'

export interface HomePageOptions {
  vocabulary: Vocabulary
  /** Null: there is no demo. */
  demoDocument: unknown
}

export function homePage(site: Site, options: HomePageOptions): Endpoint {
  const { host } = site
  return staticPage(site, {
    name: 'home page',
    path: '/',
    title: `Score credentials of ${host}`,
    description: `${host} issues score credentials for skills. Check one, look up a skill, or build with the API.`,
    current: '/',
    main: html`<section class="hero">
<div class="stack loose"><div class="stack"><h1>Skill scores that anyone can check</h1>
<p class="lead">${host} computes scores from evidence of work and signs each one. You can check a score without an account, and without trusting this service.</p></div>
<div class="row"><a class="button primary large" href="/verify">${icon('shield')}Check a credential</a><a class="button large" href="/docs">Read the docs</a></div>
<p class="row wide small muted" data-status><a href="/status">Status of this service</a><span data-state="works" hidden><span class="mark" data-tone="positive">${icon('check')}This service works</span></span><span data-state="fails" hidden><span class="mark" data-tone="negative">${icon('cross')}This service has a problem</span></span></p></div>
${example(options)}
</section>
<ul class="doors">${doors(site, options).map(doorCard)}</ul>
<section class="stack" aria-labelledby="way"><h2 id="way">From work to a score</h2>
<ol class="way">${way.map(({ title, text }, i) => html`<li><h3><span class="muted">${i + 1}.</span> ${title}</h3><p class="small muted">${text}</p></li>`)}</ol></section>`,
  })
}

const sample = { score: 730, low: 549, high: 872 }

/** The verdict that a reader gets from the verify page, with invented numbers. */
function example({ demoDocument }: HomePageOptions): Html {
  const marks = ['Issuer', 'Signature', 'Not revoked'].map(
    (word) => html`<li><span class="mark" data-tone="positive">${icon('check')}${word}</span></li>`,
  )
  return html`<figure class="card verdict example" data-tone="positive">
<div class="verdict-head"><span class="seal">${icon('check')}</span><div><p class="verdict-word">Valid</p><p class="small">Checked by the service and by your browser</p></div></div>
<div class="verdict-body stack"><p class="score-line row baseline"><span class="value">${sample.score}</span><span class="band">Strong</span><span class="muted">range ${sample.low} to ${sample.high}</span></p>
${scoreChart({ ...sample, bands: scoreBands })}
<ul class="row wide small">${marks}</ul></div>
<figcaption class="card-foot small muted">An example of a check.${demoDocument !== null && html` <a href="/verify/demo/valid">Open one of the demo</a>`}</figcaption>
</figure>`
}

interface Door {
  sign: IconName
  title: string
  text: string
  body: Part
  links: readonly { path: string; title: string }[]
}

/** Skills of several trades, so that the standard does not look like one for programmers. */
const shownSkills = ['typescript', 'negotiation', 'welding', 'food-safety', 'sql', 'mentoring']

function doors({ publicUrl }: Site, options: HomePageOptions): Door[] {
  const { vocabulary } = options
  const { records, deprecated } = vocabulary
  const current = records.filter(({ id }) => !Object.hasOwn(deprecated, id))
  const tags = shownSkills.flatMap((slug) => {
    const record = records.find(({ id }) => slugOf(id) === slug)
    return record === undefined
      ? []
      : [html`<a class="tag" href="${`/standard/skills/${slug}`}">${record.label}</a>`]
  })
  return [
    {
      sign: 'shield',
      title: 'Check a credential',
      text: 'Paste the document or its link. You see who issued it, whether it was changed, and whether it still holds.',
      body: html`<div class="stack"><form class="row stretch" action="/verify" method="post"><label class="hidden-visually" for="document">Link or credential</label><input class="input" id="document" name="document" autocomplete="off" spellcheck="false" required><button class="button" type="submit">${icon('shield')}Check</button></form>${demoLinks(options)}</div>`,
      links: [
        { path: '/verify', title: 'Choose a file or scan a code' },
        { path: '/docs/check-a-credential', title: 'What a check proves' },
        { path: '/standard/bands', title: 'How to read a score' },
      ],
    },
    {
      sign: 'book',
      title: 'Look up a skill',
      text: `${current.length} skills, each with four levels and the evidence that counts.`,
      body: html`<div class="stack"><form class="row stretch" action="/standard" role="search"><label class="hidden-visually" for="q">Search the skills</label><input class="input" id="q" name="q" type="search" maxlength="80" autocomplete="off"><button class="button" type="submit">${icon('search')}Search</button></form><p class="row">${tags}</p></div>`,
      links: [
        { path: '/standard', title: 'All skills' },
        { path: '/docs/skill-methods', title: 'How skill records are made' },
      ],
    },
    {
      sign: 'key',
      title: 'Build with it',
      text: 'Find candidates, read scores and receive events over HTTP, or as tools of an agent.',
      body: code({
        id: 'first-call',
        label: 'First call, without a key',
        text: `curl ${publicUrl}/standard/v1/skills/typescript`,
        isWrapped: true,
      }),
      links: [
        { path: '/docs/start', title: 'Get started' },
        { path: '/docs/api', title: 'API reference' },
        { path: '/docs/agents', title: 'For agents' },
      ],
    },
  ]
}

function demoLinks({ demoDocument }: HomePageOptions): Part {
  if (demoDocument === null) return null
  const links = demoWords.map(
    ({ name, word }) => html`<a class="tag" href="/verify/demo/${name}">${word}</a>`,
  )
  return html`<p class="row">${links}</p>`
}

function doorCard({ sign, title, text, body, links }: Door): Html {
  return html`<li class="card"><div class="card-body stack"><div class="stack tight"><h2 class="row">${icon(sign, 'md')}${title}</h2><p class="muted">${text}</p></div>${body}<ul class="stack tight small">${links.map((link) => html`<li><a href="${link.path}">${link.title}</a></li>`)}</ul></div></li>`
}

const way = [
  {
    title: 'Evidence',
    text: 'Registered sources send work products, assessments, reviews and employment records.',
  },
  {
    title: 'Score',
    text: 'A published engine computes a score and the range that the evidence supports.',
  },
  {
    title: 'Credential',
    text: 'The issuer signs the score. A public list says which credentials are revoked.',
  },
  {
    title: 'Check',
    text: 'Anyone verifies the signature with the public key, here or offline.',
  },
] as const
