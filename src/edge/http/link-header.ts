/** Pure: the Link header (RFC 8288) of relations to other documents of this service. */

export interface Link {
  /** A path of this service, or a URL. */
  url: string
  rel:
    | 'alternate'
    | 'describedby'
    | 'latest-version'
    | 'predecessor-version'
    | 'successor-version'
    | 'version-history'
  /** Media type of the target. */
  type?: string
}

export function linkHeader(links: readonly Link[]): string {
  return links
    .map(({ url, rel, type }) => {
      const typed = type === undefined ? '' : `; type="${type}"`
      return `<${url}>; rel="${rel}"${typed}`
    })
    .join(', ')
}
