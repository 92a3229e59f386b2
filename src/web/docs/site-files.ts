/** Pure: the files that agents, search engines and researchers of security look for. */
import type { DocsLibrary, DocsPage } from './library.ts'
import type { Outline } from './markdown.ts'

export interface Site {
  publicUrl: string
  library: DocsLibrary
}

/** The index for agents (llmstxt.org). It leads to the Markdown of each page. */
export function llmsText(
  { publicUrl, library }: Site,
  outlineOf: (page: DocsPage) => Outline,
): string {
  const line = (page: DocsPage) =>
    `- [${page.title}](${publicUrl}${page.markdownPath}): ${outlineOf(page).description}`
  const groups = library.groups.map(
    ({ title, pages }) => `## ${title}\n\n${pages.map(line).join('\n')}\n`,
  )
  return `# assay

> assay publishes what a worker can do, provably: a public skill standard, score credentials signed with Ed25519, and a verifier that names the reason if a credential is not valid. The API needs no key to verify a credential or to look up a skill.

Start with [the page for agents](${publicUrl}/docs/agents.md). All pages in one file: ${publicUrl}/llms-full.txt. The contract: ${publicUrl}/api/v1/openapi.json. Each error has a page: ${publicUrl}/docs/errors/{name}.

${groups.join('\n')}`
}

/** Every page of the navigation in one text. */
export function llmsFullText({ publicUrl, library }: Site): string {
  const pages = library.groups.flatMap((group) => group.pages)
  return pages
    .map(({ path, markdown }) => `<!-- ${publicUrl}${path} -->\n\n${markdown.trim()}\n`)
    .join('\n')
}

/**
 * Profiles are not named here: their own header keeps them out of indexes, and must be seen for
 * that.
 */
export function robotsText(publicUrl: string): string {
  return `User-agent: *
Disallow: /dashboard
Disallow: /console
Disallow: /sign-in
Disallow: /docs/find
Disallow: /verify?
Sitemap: ${publicUrl}/sitemap.xml
`
}

export function sitemapXml(publicUrl: string, paths: readonly string[]): string {
  const urls = paths.map((path) => `<url><loc>${publicUrl}${path}</loc></url>`)
  return `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${urls.join('\n')}
</urlset>
`
}

/** RFC 9116. `contact` is a URL: `https:` or `mailto:`. */
export function securityText(publicUrl: string, contact: string, expires: Date): string {
  return `Contact: ${contact}
Expires: ${expires.toISOString()}
Preferred-Languages: en
Canonical: ${publicUrl}/.well-known/security.txt
`
}
