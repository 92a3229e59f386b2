/**
 * Builds the headers that do not depend on the response, as flat lists of names and values.
 * `writeHead` takes this form without another copy.
 */
import {
  creditsChargedHeader,
  creditsRemainingHeader,
  interfaceVersion,
  versionHeader,
} from './http/identifiers.ts'
import { permissionsHeader, permissionsPolicy } from './http/permissions.ts'

export interface HeaderSets {
  /** On every response: version, security, CORS. */
  common: readonly string[]
  /**
   * On every response that is not a public document: `common`, no storing, and Vary (decision D9).
   */
  private: readonly string[]
  /**
   * On every response that only pages of our own origin may read (decision D10): no storing, no
   * CORS.
   */
  sameOrigin: readonly string[]
  /**
   * On every page (decisions D45, D49): a form posts to our own origin alone, and says that it
   * does.
   */
  page: readonly string[]
  /** On pages that are public documents. */
  publicPage: readonly string[]
  /** For preflight requests. */
  preflight: readonly string[]
  /** Returns the headers of a page, with the permissions that it declares in `own`, or none. */
  withPermissions(page: readonly string[], own?: Readonly<Record<string, unknown>>): string[]
  /** Returns a Link to the page that explains an error. */
  helpLink(error: string): string
}

/** The headers that a script of another origin may read (decision D10). */
const exposed = [
  'PAYMENT-REQUIRED',
  'PAYMENT-RESPONSE',
  'X-PAYMENT-RESPONSE',
  'X-Request-Id',
  'Retry-After',
  'ETag',
  'Link',
  'RateLimit',
  'RateLimit-Policy',
  versionHeader,
  creditsChargedHeader,
  creditsRemainingHeader,
].join(', ')

const allowed = `Authorization, Content-Type, Idempotency-Key, If-None-Match, ${versionHeader}, X-PAYMENT, PAYMENT-SIGNATURE`

const nothingPermitted = permissionsPolicy({ camera: false })

const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

export function headerSets(publicUrl: string): HeaderSets {
  const security = (policy: string, referrer: string) => [
    [versionHeader, interfaceVersion],
    ['X-Content-Type-Options', 'nosniff'],
    ['Content-Security-Policy', policy],
    ['Referrer-Policy', referrer],
    ...(publicUrl.startsWith('https:') ? [['Strict-Transport-Security', 'max-age=31536000']] : []),
  ]
  const always = security("default-src 'none'; frame-ancestors 'none'", 'no-referrer')
  const common = [
    ...always,
    ['Cross-Origin-Resource-Policy', 'cross-origin'],
    ['Access-Control-Allow-Origin', '*'],
    ['Access-Control-Expose-Headers', exposed],
  ].flat()
  const own = [
    ['Cross-Origin-Resource-Policy', 'same-origin'],
    ['Cache-Control', 'private, no-store'],
    ['Vary', `Cookie, ${versionHeader}`],
  ]
  const sameOrigin = [...always, ...own].flat()
  // Under `no-referrer` a form would post `Origin: null`. The path, which may hold a token, is
  // never sent.
  const everyPage = [
    ...security(pagePolicy, 'strict-origin'),
    ['Cross-Origin-Opener-Policy', 'same-origin'],
  ]
  const page = [...everyPage, ...own].flat()
  const publicPage = [...everyPage, ['Cross-Origin-Resource-Policy', 'same-origin']].flat()
  const unstored = [
    ['Cache-Control', 'private, no-store'],
    ['Vary', `Authorization, X-PAYMENT, PAYMENT-SIGNATURE, ${versionHeader}`],
  ].flat()
  const preflight = [
    ['Access-Control-Allow-Headers', allowed],
    ['Access-Control-Max-Age', '86400'],
  ].flat()
  return {
    common,
    private: [...common, ...unstored],
    sameOrigin,
    page,
    publicPage,
    preflight,
    withPermissions: (page, own = {}) =>
      permissionsHeader in own ? [...page] : [...page, permissionsHeader, nothingPermitted],
    helpLink: (error) => `<${publicUrl}/docs/errors/${error}>; rel="help"`,
  }
}
