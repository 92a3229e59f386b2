/** Pure: the list of all skills, with its search. */
import type { SkillRecord } from '../../standard/schema.ts'
import { slugOf } from '../../standard/slug.ts'
import type { ControlledLists } from '../../standard/source.ts'
import { attributes, type Html, html, structuredData } from '../html.ts'
import { icon } from '../icons.ts'
import type { PublicView, Site } from '../public-page.ts'
import { counted } from '../text.ts'

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
