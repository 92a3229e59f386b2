/** Pure: the pages that explain the bands of a score and the terms of the standard. */
import { scoreBandDefinitions, scoreBands } from '../../standard/bands.ts'
import type { ControlledLists } from '../../standard/source.ts'
import { conceptSchemes, type Term, terms } from '../../standard/terms.ts'
import { bandsChart } from '../chart.ts'
import { breadcrumb, card, textTable } from '../components.ts'
import { type Html, html, type Part } from '../html.ts'
import type { PublicView, Site } from '../public-page.ts'
import { count } from '../text.ts'

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
