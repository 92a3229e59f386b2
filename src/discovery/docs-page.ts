/** Pages beside `docs/`. */
export const rootPages: readonly string[] = ['CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md']

/** Returns the path of a page. `source` is its file, relative to the root of the project. */
export function pagePathOf(source: string): string {
  if (source === 'CHANGELOG.md') return '/changelog'
  const path = source.replace(/(\/README)?\.md$/, '')
  return rootPages.includes(source) ? `/docs/${path.toLowerCase()}` : `/${path}`
}
