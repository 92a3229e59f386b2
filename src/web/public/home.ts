/** The start page: one sentence on this deployment, and where to go from here. */
import type { Endpoint } from '../../platform/http/endpoint.ts'
import { html } from '../html.ts'
import { icon } from '../icons.ts'
import { type Site, staticPage } from '../public-page.ts'

export function homePage(site: Site): Endpoint {
  const { host } = site
  return staticPage(site, {
    name: 'home page',
    path: '/',
    title: `Score credentials of ${host}`,
    description: `${host} issues score credentials for skills. Check one, look up a skill, or build with the interface.`,
    main: html`<div class="page-head">
<h1>Skill scores that anyone can check</h1>
<p class="lead">${host} scores skills from evidence and signs each score as a credential. Anyone can check one, without an account.</p>
</div>
<ul class="doors">
<li class="card"><div class="card-body stack">${icon('shield', 'md')}<h2>Check a credential</h2><p class="muted">Paste it, open a file or scan its code. Your browser checks the signature on its own.</p><p><a class="button primary large" href="/verify">Check a credential</a></p></div></li>
<li class="card"><div class="card-body stack">${icon('book', 'md')}<h2>Look up a skill</h2><p class="muted">Each skill has a definition, a rubric and the evidence that counts for it.</p><p><a class="button large" href="/standard">Browse the standard</a></p></div></li>
<li class="card"><div class="card-body stack">${icon('key', 'md')}<h2>Build with it</h2><p class="muted">Search candidates, read scores and receive events over HTTP.</p><p><a class="button large" href="/docs">Read the docs</a></p></div></li>
</ul>`,
  })
}
