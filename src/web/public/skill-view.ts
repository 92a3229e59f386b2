/** Pure: the page of one skill. */
import type { VocabularyNotes } from '../../standard/notes.ts'
import type { SkillRecord } from '../../standard/schema.ts'
import { slugOf } from '../../standard/slug.ts'
import type { ControlledLists, Crosswalk } from '../../standard/source.ts'
import { schemeNames } from '../../standard/tables.ts'
import { breadcrumb, card, type Fact, facts, levelGlyph, notice, textTable } from '../components.ts'
import { type Html, html, type Part, structuredData } from '../html.ts'
import type { PublicView, Site } from '../public-page.ts'
import { shortDate } from '../text.ts'

export interface SkillPage {
  record: SkillRecord
  /** Every record by its id. */
  skills: ReadonlyMap<string, SkillRecord>
  controlled: ControlledLists
  crosswalk: Crosswalk
  notes: VocabularyNotes
  /** Id of the skill that replaces this one. */
  successor: string | undefined
  /** The releases that have the skill, newest first, with the version of its record in each. */
  versions: readonly { release: string; releasedAt: string; version: string }[]
}

export function skillView(site: Site, page: SkillPage): PublicView {
  const { record, controlled } = page
  const slug = slugOf(record.id)
  const domain = controlled.domains.find((one) => one.slug === record.domain)
  const url = `${site.publicUrl}/standard/skills/${slug}`
  return {
    title: `${record.label} · skill standard`,
    description: record.description,
    current: '/standard',
    alternates: [{ path: `/standard/v1/skills/${slug}`, type: 'application/ld+json' }],
    head: html`<link rel="canonical" href="${url}">
${structuredData({
  '@context': 'https://schema.org',
  '@type': 'DefinedTerm',
  '@id': record['@id'],
  url,
  name: record.label,
  alternateName: record.aliases,
  description: record.description,
  termCode: record.id,
  inDefinedTermSet: `${site.publicUrl}/standard`,
})}
`,
    main: html`<div class="stack tight">
${breadcrumb(
  [
    { url: '/standard', title: 'Skill standard' },
    { url: `/standard?domain=${record.domain}`, title: domain?.label ?? '' },
  ],
  record.label,
)}
<h1>${record.label}</h1>
<p class="lead">${record.description}</p>
<p class="small muted">Also called ${record.aliases.join(', ')}</p>
</div>
${successorNotice(page)}
<div class="columns main-side">
<div class="stack loose">
${rubricCard(record)}
${evidenceCard(page)}
${ageCard(record)}
${reasonsCard(page)}
</div>
<aside class="stack loose" aria-label="Facts and relations">
${factsCard(page)}
${relationsCard(page)}
${mappingsCard(page)}
${versionsCard(page)}
</aside>
</div>`,
  }
}

function successorNotice({ successor, skills }: SkillPage): Part {
  if (successor === undefined) return null
  const { label } = skills.get(successor) ?? { label: successor }
  return notice({
    tone: 'warning',
    title: 'This skill is deprecated.',
    text: html`Use <a href="${`/standard/skills/${slugOf(successor)}`}">${label}</a> instead.`,
  })
}

const levels = [
  { key: 'novice', label: 'Novice', range: '0–249' },
  { key: 'intermediate', label: 'Intermediate', range: '250–499' },
  { key: 'advanced', label: 'Advanced', range: '500–749' },
  { key: 'expert', label: 'Expert', range: '750–1,000' },
] as const

function rubricCard({ proficiency_rubric: rubric }: SkillRecord): Html {
  const rows = levels.map(
    ({ key, label, range }, i) =>
      html`<tr><th scope="row">${label}<span class="sub">${range}</span><span class="level small muted">${levelGlyph(i)}</span></th><td>${rubric[key]}</td></tr>\n`,
  )
  return card({
    title: 'Levels',
    text: 'The abilities of a worker at each level, and the values of evidence at that level.',
    isFlush: true,
    body: textTable('Levels', ['Level', 'Description'], rows),
  })
}

function evidenceCard({ record, controlled }: SkillPage): Html {
  const rows = record.evidence_types.map(({ type, weight, signal }) => {
    const kind = controlled.evidence_types.find(({ slug }) => slug === type)
    const permille = Math.round(weight * 1_000)
    return html`<tr><th scope="row">${kind?.label ?? type}<span class="sub">weight ${permille / 10} %</span>${weightBar(permille)}</th><td>${signalOf(signal)}</td></tr>\n`
  })
  return card({
    title: 'Evidence',
    text: 'The kinds of evidence that count, with their weight in the score of the skill.',
    isFlush: true,
    body: textTable('Evidence', ['Kind', 'Strong and weak evidence'], rows),
  })
}

function weightBar(permille: number): Html {
  return html`<svg class="weight" viewBox="0 0 1000 80" preserveAspectRatio="none" aria-hidden="true"><rect fill="var(--neutral-soft)" width="1000" height="80"/><rect fill="var(--accent-line)" width="${permille}" height="80"/></svg>`
}

/** A signal says what to look at, and then names strong and weak evidence. */
function signalOf(signal: string): Html[] {
  return signal.split(/\s(?=(?:Strong|Weak): )/).map((part) => {
    const [, word, text] = /^(Strong|Weak): (.*)$/s.exec(part) ?? []
    return word === undefined
      ? html`<p>${part}</p>`
      : html`<p><strong>${word}:</strong> ${text}</p>`
  })
}

const yearMonths = 12

function ageCard({ decay_half_life_months: months }: SkillRecord): Html {
  if (months === 0)
    return card({
      title: 'Age of evidence',
      body: html`<p>Evidence of this skill keeps its full weight. It does not decay with age.</p>`,
    })
  const shares = [1, 2, 3, 5].map((years): Fact => {
    const share = 2 ** (-(years * yearMonths) / months)
    return {
      label: years === 1 ? 'After 1 year' : `After ${years} years`,
      value: `${Math.round(share * 100)} %`,
    }
  })
  return card({
    title: 'Age of evidence',
    body: html`<p>An item of evidence weighs half after <strong>${months} months</strong>. It never disappears in one day.</p>${facts(shares, 'columns')}`,
  })
}

function reasonsCard({ record, notes }: SkillPage): Part {
  const slug = slugOf(record.id)
  const found = notes.notes.get(slug)
  if (found === undefined) return null
  const sources = found.sources.flatMap((key) => notes.sources[key] ?? [])
  return card({
    title: 'Reasons',
    text: 'The judgement of the editors. It is not estimated from data.',
    body: html`<h3>Why these weights</h3><p>${found.weights_rationale}</p>
<h3>Why this half-life</h3><p>${found.half_life_rationale}</p>
${found.role_note !== null && html`<h3>Level and role</h3><p>${found.role_note}</p>`}
${sources.length > 0 && html`<h3>Sources</h3><ul class="stack tight">${sources.map(({ title, publisher, identifier }) => html`<li>${sourceTitle(title, identifier)}. ${publisher}.</li>`)}</ul>`}
<h3>Reviews</h3>${found.reviews.length === 0 ? html`<p>No practitioner has reviewed this record yet. <a href="/docs/skill-methods#reviews">Send a review</a></p>` : found.reviews.map(({ reviewer, reviewed_at, comment }) => html`<p>${comment} <span class="muted">${reviewer}, ${reviewed_at}</span></p>`)}
<p class="small"><a href="${`/standard/v1/skills/${slug}/notes`}">Notes as JSON-LD</a> · <a href="/docs/skill-methods">How skill records are made</a></p>`,
  })
}

function sourceTitle(title: string, identifier: string): Part {
  if (identifier.startsWith('https://')) return html`<a href="${identifier}">${title}</a>`
  return title.includes(identifier) ? title : `${title} (${identifier})`
}

function factsCard({ record, controlled }: SkillPage): Html {
  const labelOf = (list: readonly { slug: string; label: string }[], slug: string) =>
    list.find((one) => one.slug === slug)?.label ?? slug
  const { subdomain } = record
  const rows: Fact[] = [
    { label: 'Id', value: html`<code>${record.id}</code>` },
    { label: 'Domain', value: labelOf(controlled.domains, record.domain) },
    ...(typeof subdomain === 'string'
      ? [{ label: 'Subdomain', value: labelOf(controlled.subdomains, subdomain) }]
      : []),
    {
      label: 'Categories',
      value: record.category.map((slug) => labelOf(controlled.categories, slug)).join(', '),
    },
    { label: 'Version', value: record.version },
    {
      label: 'For programs',
      value: html`<a href="${`/standard/v1/skills/${slugOf(record.id)}`}">JSON-LD</a>`,
    },
  ]
  return card({ title: 'Facts', body: facts(rows) })
}

function relationsCard({ record, skills }: SkillPage): Part {
  const dependents = [...skills.values()]
    .filter(({ depends_on }) => depends_on.includes(record.id))
    .map(({ id }) => id)
  const groups = [
    { label: 'Builds on', ids: record.depends_on },
    { label: 'Needed for', ids: dependents },
    { label: 'Related', ids: record.related_to },
  ].filter(({ ids }) => ids.length > 0)
  if (groups.length === 0) return null
  const link = (id: string) =>
    html`<a class="tag" href="${`/standard/skills/${slugOf(id)}`}">${skills.get(id)?.label ?? id}</a>`
  return card({
    title: 'Relations',
    body: facts(
      groups.map(({ label, ids }) => ({
        label,
        value: html`<span class="row">${ids.map(link)}</span>`,
      })),
    ),
  })
}

const matchWords: Readonly<Record<string, string>> = {
  exactMatch: 'same as',
  closeMatch: 'close to',
  broadMatch: 'part of the wider',
  narrowMatch: 'wider than',
  relatedMatch: 'related to',
}

function mappingsCard({ record, crosswalk }: SkillPage): Part {
  const mappings = crosswalk.filter(({ skill }) => skill === record.id)
  if (mappings.length === 0) return null
  return card({
    title: 'In other vocabularies',
    body: html`<ul class="stack tight">${mappings.map(
      ({ scheme, target, match, label }) =>
        html`<li><span class="muted">${schemeNames[scheme]?.title}: ${matchWords[match]}</span> <a href="${addressOf(scheme, target)}">${label ?? target}</a></li>`,
    )}</ul><p class="small"><a href="/standard/v1/crosswalk.csv">Whole crosswalk (CSV)</a></p>`,
  })
}

function addressOf(scheme: string, target: string): string {
  return scheme === 'onet' ? `https://www.onetonline.org/find/descriptor/result/${target}` : target
}

function versionsCard({ versions }: SkillPage): Html {
  return card({
    title: 'Versions',
    body: html`<ul class="stack tight">${versions.map(
      ({ release, releasedAt, version }) =>
        html`<li>${version} in <a href="${`/standard/v1/releases/${release}/skills.jsonld`}">release ${release}</a> <span class="muted">${shortDate(new Date(releasedAt))}</span></li>`,
    )}</ul><p class="small muted">The documents of a release never change.</p>`,
  })
}
