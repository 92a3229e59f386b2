/**
 * The documentation as pages. Each page has its own URL for HTML and, with `.md` behind it, for
 * Markdown. All are public documents, made at their first request, which loads the renderer.
 */
import { Type } from 'typebox'
import {
  type PublicDocument,
  type PublicDocumentOptions,
  publicDocument,
} from '../../edge/http/document.ts'
import type { Answer, Endpoint } from '../../edge/http/endpoint.ts'
import type { Clock } from '../../platform/clock.ts'
import { refuse } from '../../platform/errors.ts'
import { keepResult } from '../../platform/keep-result.ts'
import { Html, html } from '../html.ts'
import {
  alternateLink,
  type PublicView,
  pageDocument,
  publicEndpoint,
  siteOf,
  viewAnswer,
} from '../public-page.ts'
import { searchLimits } from '../text-index.ts'
import {
  apiIndexView,
  apiPath,
  type OpenApi,
  operationsIn,
  operationView,
  resolved,
  type SandboxValues,
} from './api.ts'
import { type DocsFrame, docsView, groupsOf } from './frame.ts'
import type { DocsLibrary, DocsPage } from './library.ts'
import type { RenderedPage } from './markdown.ts'
import { searchAnswer, searchPath, searchView } from './search.ts'
import { type OtherPage, openDocsSearch } from './search-index.ts'
import { llmsFullText, llmsText, robotsText, securityText, sitemapXml } from './site-files.ts'

export interface DocsContext {
  publicUrl: string
  library: DocsLibrary
  /**
   * Makes the OpenAPI document of this deployment. Called once, by the first page that needs it.
   */
  openApi: () => OpenApi
  clock: Clock
  operatorName: string | null
  /** The contact in `security.txt`, a URL. Null: there is no such file. */
  securityContact: string | null
  /** Paths of other pages that search engines may list. */
  otherPaths: readonly string[]
  sandboxValues: SandboxValues
  /** Pages of the dashboard, which the search finds. */
  dashboardPages: readonly OtherPage[]
}

const maxAgeSeconds = 300

type ContentType = PublicDocumentOptions['contentType']

export function docsEndpoints(context: DocsContext): Endpoint[] {
  const { publicUrl, library } = context
  const site = siteOf(publicUrl, context.operatorName)
  const frame: DocsFrame = { site, library }
  const documents = memoized()
  let contract: OpenApi | undefined
  const openApi = () => (contract ??= resolved(context.openApi()))
  const search = keepResult(() => openDocsSearch(library, openApi(), context.dashboardPages))
  const find = async (query: string) => (await search())(query)

  const page = (path: string): Answer | Promise<Answer> => {
    const isMarkdown = path.endsWith('.md')
    const found = library.pages.get(isMarkdown ? path.slice(0, -3) : path)
    if (found === undefined) return refuse('not_found')
    if (isMarkdown) return documents(path, () => markdownDocument(found))
    return documents(path, async () => {
      const { renderedPage } = await import('./markdown.ts')
      return pageDocument(site, libraryView(frame, found, renderedPage(found, library)))
    })
  }
  const operation = (id: string): Answer | Promise<Answer> => {
    const listed = operationsIn(openApi()).find((one) => one.operation.operationId === id)
    if (listed === undefined) return refuse('not_found')
    return documents(`${apiPath}/${id}`, () =>
      pageDocument(site, operationView(frame, openApi(), listed, context.sandboxValues)),
    )
  }
  const at = (path: string, answer: () => Answer | Promise<Answer>) =>
    publicEndpoint(site, { name: `docs ${path}`, path, answer })
  const inFolder = (folder: string, answer: (name: string) => Answer | Promise<Answer>) =>
    publicEndpoint(site, {
      name: `docs ${folder}/`,
      path: `${folder}/{name}`,
      pathParameters: Type.Object({ name: Type.String() }),
      answer: ({ path }) => answer(path.name),
    })
  const file = (path: string, contentType: ContentType, text: () => string) =>
    at(path, () => documents(path, () => documentOf(text(), contentType)))

  return [
    ...['/docs', '/docs/decisions', '/changelog']
      .flatMap((path) => [path, `${path}.md`])
      .map((path) => at(path, () => page(path))),
    inFolder('/docs', (name) => page(`/docs/${name}`)),
    inFolder('/docs/decisions', (name) => page(`/docs/decisions/${name}`)),
    publicEndpoint(site, {
      name: `docs ${apiPath}`,
      path: apiPath,
      queryParameters: searchQuery,
      answer({ query: { q = '' } }) {
        if (q.trim() !== '') return viewAnswer(site, apiIndexView(frame, openApi(), q))
        return documents(apiPath, () => pageDocument(site, apiIndexView(frame, openApi())))
      },
    }),
    inFolder(apiPath, operation),
    publicEndpoint(site, {
      name: 'docs search',
      path: searchPath,
      queryParameters: searchQuery,
      limits: searchLimits,
      async answer({ query: { q = '' } }) {
        const query = q.trim()
        return viewAnswer(site, searchView(frame, query, await find(query)))
      },
    }),
    publicEndpoint(site, {
      name: 'docs search dialog',
      path: `${searchPath}.json`,
      queryParameters: searchQuery,
      limits: searchLimits,
      async answer({ query: { q = '' } }) {
        const query = q.trim()
        return { status: 200, body: searchAnswer(query, await find(query)), isCompressed: true }
      },
    }),
    at('/llms.txt', () =>
      documents('/llms.txt', async () => {
        const { outlineOf } = await import('./markdown.ts')
        return documentOf(llmsText(context, outlineOf), plainType)
      }),
    ),
    file('/llms-full.txt', plainType, () => llmsFullText(context)),
    file('/robots.txt', plainType, () => robotsText(publicUrl)),
    file('/sitemap.xml', 'application/xml; charset=utf-8', () =>
      sitemapXml(publicUrl, [...context.otherPaths, ...listedPaths(library, openApi())]),
    ),
    at('/.well-known/security.txt', () => securityFile(context, documents)),
  ]
}

/** Commands on the page call this deployment. The Markdown stays as it is. */
function withBase(text: string, publicUrl: string): string {
  const start = /(BASE(?:<[^>]*>)*=(?:<[^>]*>)*)http:\/\/localhost:8080(?![\d:])/g
  return text.replaceAll(start, (_, variable: string) => `${variable}${html`${publicUrl}`.text}`)
}

function libraryView(frame: DocsFrame, page: DocsPage, rendered: RenderedPage): PublicView {
  const order = frame.library.groups.flatMap(({ pages }) => pages)
  const at = order.indexOf(page)
  return docsView(frame, {
    ...page,
    ...rendered,
    main:
      page.path === '/docs'
        ? indexMain(rendered, frame.library)
        : new Html(withBase(rendered.main.text, frame.site.publicUrl)),
    previous: at > 0 ? order[at - 1] : undefined,
    next: at >= 0 ? order[at + 1] : undefined,
  })
}

/** The lists of the index as a grid. The text before the first list stays as it is. */
function indexMain({ main, sections: headings }: RenderedPage, library: DocsLibrary): Html {
  const intro = new Html(main.text.slice(0, main.text.indexOf('<h2')))
  const sections = groupsOf(library).map(({ title, pages }) => {
    const id = headings.find((section) => section.title === title)?.id ?? ''
    return html`<section aria-labelledby="${id}"><h2 id="${id}">${title}</h2><ul class="stack tight small">${pages.map((member) => html`<li><a href="${member.path}">${member.title}</a></li>`)}</ul></section>`
  })
  return html`${intro}<div class="page-groups">${sections}</div>`
}

function markdownDocument({ markdown, path }: DocsPage): PublicDocument {
  const Link = alternateLink([{ path, type: 'text/html' }])
  return documentOf(markdown, 'text/markdown; charset=utf-8', { Link })
}

function listedPaths(library: DocsLibrary, openApi: OpenApi): string[] {
  const operations = operationsIn(openApi).map(({ operation }) => operation.operationId)
  return [...library.pages.keys(), apiPath, ...operations.map((id) => `${apiPath}/${id}`)]
}

/** RFC 9116 asks for an end of less than a year. The file changes with each month. */
function securityFile(
  { publicUrl, securityContact, clock }: DocsContext,
  documents: ReturnType<typeof memoized>,
): Answer | Promise<Answer> {
  if (securityContact === null) return refuse('not_found')
  const now = clock()
  const expires = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 11))
  return documents(`security ${expires.toISOString()}`, () =>
    documentOf(securityText(publicUrl, securityContact, expires), plainType),
  )
}

const plainType = 'text/plain; charset=utf-8'

const searchQuery = Type.Object({ q: Type.Optional(Type.String({ maxLength: 80 })) })

function documentOf(
  body: string,
  contentType: ContentType,
  headers: Record<string, string> = {},
): PublicDocument {
  return publicDocument({ body, contentType, maxAgeSeconds, headers })
}

/** Keeps the answer of each document that was made: the documentation belongs to the release. */
function memoized() {
  const answers = new Map<string, () => Answer | Promise<Answer>>()
  return (key: string, render: () => PublicDocument | Promise<PublicDocument>) => {
    let answer = answers.get(key)
    if (answer === undefined) {
      answer = keepResult(async () => ({ document: await render() }))
      answers.set(key, answer)
    }
    return answer()
  }
}
