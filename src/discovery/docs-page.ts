/** Returns the path of a page. `source` is its file, relative to the root of the project. */
export function pagePathOf(source: string): string {
  if (source === 'CHANGELOG.md') return '/changelog'
  if (source === 'CONTRIBUTING.md') return '/docs/contributing'
  return `/${source.replace(/(\/README)?\.md$/, '')}`
}
