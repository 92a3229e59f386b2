/**
 * The documentation as pages. Each page has its own URL for HTML and, with `.md` behind it, for
 * Markdown. All are public documents, made at their first request.
 */
import { Type } from 'typebox'
import type { Clock } from '../../platform/clock.ts'
import {
  type PublicDocument,
  type PublicDocumentOptions,
  publicDocument,
} from '../../platform/http/document.ts'
import { type Answer, type Endpoint, endpoint } from '../../platform/http/endpoint.ts'
import { refuse } from '../../platform/http/errors.ts'
import { Html } from '../html.ts'
import { apiPath, type OpenApi, operationsIn, renderApiIndex, renderOperation } from './api.ts'
import { type DocsFrame, renderDocsPage } from './frame.ts'
import type { DocsLibrary, DocsPage } from './library.ts'
import { renderSearch } from './search.ts'
import { llmsFullText, llmsText, robotsText, securityText, sitemapXml } from './site-files.ts'

export interface DocsContext {
  publicUrl: string
  library: DocsLibrary
  /** Makes the OpenAPI document of this deployment. Called once, by the first page that needs it. */
  openApi: () => OpenApi
  clock: Clock
  /** Of `security.txt`: a URL. Null: there is no such file. */
  securityContact: string | null
}

const maxAgeSeconds = 300

type ContentType = PublicDocumentOptions['contentType']

export function docsEndpoints(context: DocsContext): Endpoint[] {
  const { publicUrl, library } = context
  const frame: DocsFrame = { publicUrl, library }
  const documents = memoized()
  let contract: OpenApi | undefined
  const openApi = () => (contract ??= context.openApi())
  const pageAt = (path: string): Answer => {
    const isMarkdown = path.endsWith('.md')
    const page = library.pages.get(isMarkdown ? path.slice(0, -3) : path)
    if (page === undefined) return refuse('not_found')
    return documents(path, () =>
      isMarkdown
        ? documentOf(page.markdown, 'text/markdown; charset=utf-8', {
            Link: `<${publicUrl}${page.path}>; rel="alternate"; type="text/html"`,
          })
        : documentOf(renderLibraryPage(frame, page), 'text/html; charset=utf-8', {
            Link: `<${publicUrl}${page.markdownPath}>; rel="alternate"; type="text/markdown"`,
          }),
    )
  }
  const fixed = (path: string, contentType: ContentType, text: () => string) =>
    docsEndpoint(path, () => documents(path, () => documentOf(text(), contentType)))
  const whole = (path: string) => docsEndpoint(path, () => pageAt(path))
  const named = (folder: string) =>
    endpoint({
      ...declared(`${folder}/{page}`),
      pathParameters: Type.Object({ page: Type.String() }),
      answer: ({ path }) => pageAt(`${folder}/${path.page}`),
    })
  return [
    ...['/docs', '/docs.md', '/changelog', '/changelog.md'].map(whole),
    ...['/docs/decisions', '/docs/decisions.md'].map(whole),
    named('/docs'),
    named('/docs/decisions'),
    ...apiEndpoints(frame, openApi, documents),
    endpoint({
      ...declared('/docs/find'),
      document: false,
      queryParameters: Type.Object({ q: Type.Optional(Type.String({ maxLength: 80 })) }),
      answer: ({ query }) => ({
        document: documentOf(
          renderSearch(frame, query.q?.trim() ?? ''),
          'text/html; charset=utf-8',
        ),
      }),
    }),
    fixed('/llms.txt', 'text/plain; charset=utf-8', () => llmsText(context)),
    fixed('/llms-full.txt', 'text/plain; charset=utf-8', () => llmsFullText(context)),
    fixed('/robots.txt', 'text/plain; charset=utf-8', () => robotsText(publicUrl)),
    fixed('/sitemap.xml', 'application/xml; charset=utf-8', () =>
      sitemapXml(publicUrl, listedPaths(library, openApi())),
    ),
    docsEndpoint('/.well-known/security.txt', () => securityDocument(context, documents)),
  ]
}

function renderLibraryPage(frame: DocsFrame, page: DocsPage): string {
  const order = frame.library.groups.flatMap(({ pages }) => pages)
  const at = order.indexOf(page)
  const index = { path: '/docs', title: 'Docs' }
  return renderDocsPage(frame, {
    ...page,
    lead: page.lead === '' ? undefined : new Html(page.lead),
    main: new Html(page.html),
    trail: page.path === index.path ? [] : [index],
    previous: at > 0 ? order[at - 1] : undefined,
    next: at >= 0 ? order[at + 1] : undefined,
  })
}

function apiEndpoints(
  frame: DocsFrame,
  openApi: DocsContext['openApi'],
  documents: ReturnType<typeof memoized>,
): Endpoint[] {
  return [
    docsEndpoint(apiPath, () =>
      documents(apiPath, () => documentOf(renderApiIndex(frame, openApi()), htmlType)),
    ),
    endpoint({
      ...declared(`${apiPath}/{operation}`),
      pathParameters: Type.Object({ operation: Type.String() }),
      answer({ path }) {
        const document = openApi()
        const listed = operationsIn(document).find(
          ({ operation }) => operation.operationId === path.operation,
        )
        if (listed === undefined) return refuse('not_found')
        return documents(`${apiPath}/${path.operation}`, () =>
          documentOf(renderOperation(frame, document, listed), htmlType),
        )
      },
    }),
  ]
}

function listedPaths(library: DocsLibrary, openApi: OpenApi): string[] {
  const operations = operationsIn(openApi).map(({ operation }) => operation.operationId)
  return [...library.pages.keys(), apiPath, ...operations.map((id) => `${apiPath}/${id}`)]
}

/** RFC 9116 asks for an end of less than a year. The file changes with each month. */
function securityDocument(
  { publicUrl, securityContact, clock }: DocsContext,
  documents: ReturnType<typeof memoized>,
): Answer {
  if (securityContact === null) return refuse('not_found')
  const now = clock()
  const expires = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 11))
  return documents(`security ${expires.toISOString()}`, () =>
    documentOf(securityText(publicUrl, securityContact, expires), 'text/plain; charset=utf-8'),
  )
}

const htmlType = 'text/html; charset=utf-8'

function documentOf(
  body: string,
  contentType: ContentType,
  headers: Record<string, string> = {},
): PublicDocument {
  return publicDocument({ body, contentType, maxAgeSeconds, headers })
}

/** Keeps each document that was made: the documentation belongs to the release. */
function memoized() {
  const made = new Map<string, PublicDocument>()
  return (key: string, make: () => PublicDocument): Answer => {
    let document = made.get(key)
    if (document === undefined) {
      document = make()
      made.set(key, document)
    }
    return { document }
  }
}

function declared(path: string) {
  return {
    operationId: `docs ${path}`,
    method: 'GET',
    path,
    area: 'pages',
    summary: 'A page of the documentation',
    policy: { kind: 'open' },
    document: true,
    priority: 'public',
    responses: {},
  } as const
}

function docsEndpoint(path: string, answer: () => Answer): Endpoint {
  return endpoint({ ...declared(path), answer })
}
