/** Pure: the pages of the documentation, and their addresses. */

/** A page as `npm run generate` renders it. */
export interface RenderedPage {
  title: string
  /** The first paragraph, as text. */
  description: string
  /** The first paragraph as HTML, or an empty text. */
  lead: string
  /** All behind it, as HTML. Both are made from our own Markdown, and are safe to show. */
  html: string
  /** The headings of level 2. */
  sections: Section[]
}

export interface Section {
  /** The fragment of its address. */
  id: string
  title: string
}

/** Returns the path of a page. `source` is its file, relative to the root of the project. */
export function pagePathOf(source: string): string {
  if (source === 'CHANGELOG.md') return '/changelog'
  if (source === 'CONTRIBUTING.md') return '/docs/contributing'
  return `/${source.replace(/(\/README)?\.md$/, '')}`
}

/** Returns the file of the rendered page, relative to the root of the project. */
export function renderedFileOf(source: string): string {
  return `docs/rendered/${source.replace(/^docs\//, '').replace(/\.md$/, '.json')}`
}
