/**
 * Public pages, which need neither a session nor a script. Each is one file of `public/` that
 * exports its endpoints, and one line of `public/pages.ts`:
 *
 * - A page that is equal for all: `staticPage(site, { name, path, title, main })`. It is rendered
 *   once, has an ETag, is compressed, and is served while the database is away.
 * - One of many such pages under a path with a parameter: `publicEndpoint` that answers
 *   `{ document }` from a map of `pageDocument(site, view)`, or `refuse('not_found')`.
 * - A page that depends on its query or on the database: `publicEndpoint` that answers
 *   `viewAnswer(site, view)`, compressed for visitors without a cookie. With `limits` it counts
 *   calls of each address.
 *
 * Browsers see a refusal as a page, all other callers as JSON. If the same thing has a URL for
 * programs, `alternates` links to it; on the other side use `alternateLink`. A JSON document whose
 * own URL shows browsers a page sets `page` of `publicDocument` (decision D52: errors alone).
 */
import { type TObject } from 'typebox'
import type { RateLimits } from '../edge/http/contract.ts'
import { type PublicDocument, publicDocument } from '../edge/http/document.ts'
import { type Answer, type Endpoint, endpoint } from '../edge/http/endpoint.ts'
import { linkHeader } from '../edge/http/link-header.ts'
import { permissionsHeader, permissionsPolicy } from '../edge/http/permissions.ts'
import type { AssetName } from './assets.ts'
import { html, type Part } from './html.ts'
import { pageAnswer, pageType, renderPage, type SiteColumns } from './layout.ts'
import { publicRefusalPage } from './refusal-page.ts'

/** The deployment that the pages belong to. */
export interface Site {
  /** Without a trailing slash, e.g. `https://scores.example.org`. */
  publicUrl: string
  /** Shown beside the mark. */
  host: string
  /** The name of the operator, shown in the footer. Null: none is configured. */
  operatorName: string | null
}

export function siteOf(publicUrl: string, operatorName: string | null): Site {
  return { publicUrl, host: new URL(publicUrl).host, operatorName }
}

export interface Alternate {
  /** A path of this service. */
  path: string
  type: string
}

export interface PublicView {
  /** Title of the tab. */
  title: string
  description?: string
  main: Part
  /** Path of its entry in the navigation, e.g. `/docs`. */
  current?: string
  /** True unless given: search engines may list the page. */
  isIndexed?: boolean
  /** The same thing in forms for programs. */
  alternates?: readonly Alternate[]
  head?: Part
  scripts?: readonly AssetName[]
  columns?: SiteColumns
  headers?: Readonly<Record<string, string>>
  /** Whether the page reads QR codes. */
  usesCamera?: boolean
  /** Seconds in which caches serve the page without asking. 300 unless given. */
  maxAgeSeconds?: number
}

/** Renders a page once, for many requests. */
export function pageDocument(site: Site, view: PublicView): PublicDocument {
  return publicDocument({
    body: renderPage(framed(site, view)),
    contentType: pageType,
    maxAgeSeconds: view.maxAgeSeconds ?? 300,
    headers: headersOf(view),
  })
}

/** Answers with a page that no cache stores. */
export function viewAnswer(site: Site, view: PublicView, status = 200): Answer {
  const answer = pageAnswer(framed(site, view), { status, headers: headersOf(view) })
  return { ...answer, isCompressed: true }
}

/** Formats the value of a Link header. */
export function alternateLink(alternates: readonly Alternate[]): string {
  return linkHeader(alternates.map(({ path, type }) => ({ url: path, rel: 'alternate', type })))
}

type Public<Path extends TObject, Query extends TObject> = Pick<
  Endpoint<Path, Query>,
  'path' | 'pathParameters' | 'queryParameters' | 'answer'
> & {
  /** Unique over the service. */
  name: string
  /** Limits of each address. Absent: the page costs no more than its bytes. */
  limits?: RateLimits
  /** Whether only calls with a query are counted. */
  isFreeWithoutQuery?: boolean
}

/** Declares the endpoint of a page, or of many under one path. */
export function publicEndpoint<Path extends TObject, Query extends TObject>(
  { host }: Site,
  { name, limits, isFreeWithoutQuery = false, ...declared }: Public<Path, Query>,
): Endpoint {
  return endpoint({
    ...declared,
    operationId: name,
    method: 'GET',
    area: 'pages',
    summary: 'A public page',
    policy: limits === undefined ? { kind: 'open' } : { kind: 'page', limits, isFreeWithoutQuery },
    priority: 'public',
    responses: {},
    refusalPage: publicRefusalPage(host),
  })
}

/** Declares a page that is equal for all. */
export function staticPage(
  site: Site,
  { name, path, ...view }: PublicView & { name: string; path: string },
): Endpoint {
  const document = pageDocument(site, view)
  return publicEndpoint(site, { name, path, answer: () => ({ document }) })
}

function framed({ host, operatorName }: Site, view: PublicView) {
  const { title, description, main, current = '', isIndexed = true, head, scripts = [] } = view
  const alternates = (view.alternates ?? []).map(
    ({ path, type }) => html`<link rel="alternate" type="${type}" href="${path}">\n`,
  )
  const site = {
    current,
    operatorName,
    ...(view.columns === undefined ? {} : { columns: view.columns }),
  }
  const described = description === undefined ? {} : { description }
  return { title, host, main, site, isIndexed, scripts, ...described, head: [alternates, head] }
}

function headersOf(publicView: PublicView): Record<string, string> {
  const { alternates = [], headers = {}, usesCamera = false } = publicView
  return {
    ...(alternates.length === 0 ? {} : { Link: alternateLink(alternates) }),
    ...(usesCamera ? { [permissionsHeader]: permissionsPolicy({ camera: true }) } : {}),
    ...headers,
  }
}
