/** Pure: the list of all skills with its search, the bands of a score, and the standard's terms. */

import { scoreBandDefinitions, scoreBands } from '../../standard/bands.ts'
import { type SkillRecord } from '../../standard/schema.ts'
import { slugOf } from '../../standard/slug.ts'
import { type ControlledLists } from '../../standard/source.ts'
import { conceptSchemes, type Term, terms } from '../../standard/terms.ts'
import { bandsChart } from '../chart.ts'
import { breadcrumb, card, textTable } from '../components.ts'
import { attributes, type Html, html, type Part, structuredData } from '../html.ts'
import { icon } from '../icons.ts'
import { type PublicView, type Site } from '../public-page.ts'
import { count, counted } from '../text.ts'

export interface StandardList {
  skills: readonly SkillRecord[]
  domains: ControlledLists['domains']
  version: string
}

export interface StandardSearch {
  query: string
  /** The skills that the query finds, best first. */
  found: readonly SkillRecord[]
  /** Null: all domains. */
  domain: string | null
}

export function standardView(
  site: Site,
  { skills, domains, version }: StandardList,
  { query, found, domain }: StandardSearch,
): PublicView {
  const inDomain = skills.filter((skill) => domain === null || skill.domain === domain)
  const shown = query === '' ? inDomain : found.filter((skill) => inDomain.includes(skill))
  const groups = domains
    .map((group) => ({
      ...group,
      skills: inDomain.filter((skill) => skill.domain === group.slug),
    }))
    .filter((group) => group.skills.length > 0)
  const url = `${site.publicUrl}/standard`
  return {
    title: query === '' ? 'Skill standard' : `“${query}” · skill standard`,
    description: `${skills.length} skills, each with a definition, four levels of proficiency and the evidence that counts.`,
    current: '/standard',
    isIndexed: query === '',
    scripts: ['skill-search.ts'],
    alternates: [
      { path: '/standard/v1/skills', type: 'application/ld+json' },
      { path: '/standard/v1/skills.csv', type: 'text/csv' },
      { path: '/standard/v1/skills.nq', type: 'application/n-quads' },
    ],
    head: html`<link rel="canonical" href="${url}">
${structuredData({ '@context': 'https://schema.org', '@type': 'DefinedTermSet', '@id': url, name: 'Skill standard', url, version, license: 'https://creativecommons.org/licenses/by/4.0/' })}
`,
    main: html`<div class="stack tight"><h1>Skill standard</h1>
<p class="lead">A skill has a definition, four levels of proficiency, and the evidence that counts for it with its weight. Scores are computed from these records and from nothing else.</p></div>
<form class="search-line" action="/standard" role="search" data-skill-search>
<div class="field"><label for="q">Search the skills</label><input class="input" id="q" name="q" type="search" value="${query}" maxlength="80" autocomplete="off" autocapitalize="none" spellcheck="false" aria-describedby="count"></div>
${domain !== null && html`<input type="hidden" name="domain" value="${domain}">`}
<button class="button primary large" type="submit">${icon('search')}Search skills</button>
</form>
<nav class="row" aria-label="Domains">${domainLinks({ skills, domains, version }, { query, domain })}</nav>
<p class="small muted" id="count" role="status" data-skill-count>${counted(shown.length, 'skill')}${query !== '' && ` for “${query}”`}</p>
<ul class="card skill-grid" data-skill-results${attributes({ hidden: query === '' || shown.length === 0 })}>
${query !== '' && shown.map(itemOf)}</ul>
<div class="stack loose" data-skill-groups${attributes({ hidden: query !== '' })}>${groups.map(groupOf)}</div>
<div class="empty" data-skill-none${attributes({ hidden: shown.length > 0 })}>${icon('search')}<h2>No skill matches</h2><p>Search for fewer or other words. The standard has ${skills.length} skills; a skill that is missing cannot be scored.</p><p><a class="button" href="/standard">Show all skills</a></p></div>
${aboutSection(version)}`,
  }
}

function domainLinks(
  { skills, domains }: StandardList,
  { query, domain }: Omit<StandardSearch, 'found'>,
): Html[] {
  const all = { slug: null, label: 'All', size: skills.length }
  const each = domains.map(({ slug, label }) => ({
    slug,
    label,
    size: skills.filter((skill) => skill.domain === slug).length,
  }))
  return [all, ...each].map(({ slug, label, size }) => {
    const parameters = new URLSearchParams({
      ...(slug === null ? {} : { domain: slug }),
      ...(query === '' ? {} : { q: query }),
    }).toString()
    const current = attributes({ 'aria-current': slug === domain && 'page' })
    return html`<a class="tag large" data-skill-domain href="${parameters === '' ? '/standard' : `/standard?${parameters}`}"${current}>${label} <span class="muted">${size}</span></a>`
  })
}

interface Group {
  slug: string
  label: string
  description: string
  skills: readonly SkillRecord[]
}

function groupOf({ slug, label, description, skills }: Group): Html {
  return html`<section aria-labelledby="${`domain-${slug}`}" class="stack">
<div><h2 id="${`domain-${slug}`}">${label}</h2><p class="small muted">${description}</p></div>
<ul class="card skill-grid">
${skills.map(itemOf)}</ul>
</section>`
}

function itemOf({ id, label, description }: SkillRecord): Html {
  return html`<li data-skill="${slugOf(id)}"><a href="${`/standard/skills/${slugOf(id)}`}">${label}</a><p class="small muted">${description}</p></li>\n`
}

function aboutSection(version: string): Html {
  const release = `/standard/v1/releases/${version}`
  return html`<section class="columns half" aria-label="About the standard">
<div class="card"><div class="card-head row apart"><h2>Read a score</h2></div><div class="card-body stack tight small"><p><a href="/standard/bands">The five bands</a> and how to read them</p><p><a href="/docs/scoring">How scores are computed</a></p><p><a href="/docs/skill-methods">How skill records are made</a>, with their limits</p></div></div>
<div class="card"><div class="card-head row apart"><h2>Use the data</h2><p class="small muted">Version ${version}, licensed CC BY 4.0</p></div><div class="card-body stack tight small"><p><a href="/standard/v1/skills.csv">Table (CSV)</a> · <a href="/standard/v1/skills">JSON-LD</a> · <a href="/standard/v1/skills.nq">N-Quads</a></p><p><a href="/standard/v1/crosswalk.csv">Crosswalk to ESCO and O*NET (CSV)</a> · <a href="/standard/v1/notes.csv">Reasons and sources (CSV)</a></p><p><a href="/standard/vocab">Terms</a> · <a href="${`${release}/skills.jsonld`}">This release, unchanging</a> · <a href="/standard/v1/releases">all releases</a></p></div></div>
</section>`
}

const above = [{ url: '/standard', title: 'Skill standard' }]

export function bandsView({ publicUrl }: Site): PublicView {
  const { notes } = scoreBandDefinitions(publicUrl)
  return {
    title: 'Score bands',
    description: 'The five bands of the overall score, their bounds, and how to read them.',
    current: '/standard',
    alternates: [{ path: '/standard/v1/score-bands.jsonld', type: 'application/ld+json' }],
    head: html`<link rel="canonical" href="${`${publicUrl}/standard/bands`}">\n`,
    main: html`<div class="stack tight">
${breadcrumb(above, 'Score bands')}
<h1>Score bands</h1>
<p class="lead">A band is a name for a range of scores. It follows from the score alone.</p>
</div>
<section class="card roomy" aria-label="Scale"><div class="card-body"><figure>${bandsChart(scoreBands)}<figcaption class="muted small">A deeper colour is a higher band. No evidence at all leads to 250.</figcaption></figure></div></section>
${card({
  title: 'Meaning',
  isFlush: true,
  body: textTable(
    'Meaning',
    ['Band', 'Meaning and advice'],
    scoreBands.map(
      ({ band, label, min, max, meaning, guidance }) =>
        html`<tr id="${band}"><th scope="row">${label}<span class="sub">${count(min)}–${count(max)}</span></th><td><p>${meaning}</p><p class="muted">${guidance}</p></td></tr>\n`,
    ),
  ),
})}
${card({ title: 'Before you compare two scores', body: html`<ul class="stack tight">${notes.map((note) => html`<li>${note}</li>`)}</ul><p class="small"><a href="/docs/scoring">How scores are computed</a> · <a href="/standard/v1/score-bands.jsonld">Bands as JSON-LD</a></p>` })}`,
  }
}

export function termsView(site: Site, controlled: ControlledLists): PublicView {
  const named = Object.entries(terms)
  const schemes = conceptSchemes(controlled)
  return {
    title: 'Terms of the skill standard',
    description: 'The classes, properties and controlled words of the skill standard.',
    current: '/standard',
    alternates: [{ path: '/standard/v1/vocab', type: 'application/ld+json' }],
    head: html`<link rel="canonical" href="${`${site.publicUrl}/standard/vocab`}">\n`,
    main: html`<div class="stack tight">
${breadcrumb(above, 'Terms')}
<h1>Terms of the skill standard</h1>
<p class="lead">The name of a term is <code>${`${site.publicUrl}/standard/v1/vocab#`}</code> with the word behind it. Records, bands and credentials use these names.</p>
</div>
${termTable(
  'Classes',
  named.filter(([, term]) => term.kind === 'class'),
)}
${termTable(
  'Properties',
  named.filter(([, term]) => term.kind === 'property'),
)}
${schemes.map(({ name, label, comment, concepts }) =>
  card({
    title: label,
    id: name,
    text: comment,
    isFlush: true,
    body: textTable(
      label,
      ['Word in records', 'Meaning'],
      concepts.map(
        (concept) =>
          html`<tr id="${concept.name}"><th scope="row"><code>${concept.notation}</code></th><td>${concept.label}${concept.definition !== undefined && html`: ${concept.definition}`}</td></tr>\n`,
      ),
    ),
  }),
)}
<p class="small"><a href="/standard/v1/vocab">Terms as JSON-LD (RDFS and SKOS)</a> · <a href="/standard/v1/context.jsonld">JSON-LD context</a></p>`,
  }
}

function termTable(title: string, rows: readonly (readonly [string, Term])[]): Html {
  return card({
    title,
    isFlush: true,
    body: textTable(
      title,
      ['Term', 'Definition'],
      rows.map(
        ([name, term]) =>
          html`<tr id="${name}"><th scope="row"><code>${name}</code></th><td><p>${term.comment}</p>${termFacts(term)}</td></tr>\n`,
      ),
    ),
  })
}

function termFacts(term: Term): Part {
  if (term.kind === 'class') return null
  const { domain, range, note } = term
  const of = domain !== undefined && html`Of <a href="${`#${domain}`}">${domain}</a>. `
  const value = range.includes(':')
    ? html`<code>${range}</code>`
    : html`<a href="${`#${range}`}">${range}</a>`
  return html`<p class="small muted">${of}Value: ${value}.${note !== undefined && ` ${note}`}</p>`
}
