/**
 * Pure: the documentation pages that the service publishes, so that the rules of scoring can be
 * read beside the scores.
 */

export const pageNames = ['scoring', 'changelog'] as const
export type PageName = (typeof pageNames)[number]

/**
 * Returns the URL of a page. `urlOf` gives the absolute URL of a declared operation, with `{name}`
 * for parameters.
 */
export function pageUrl(urlOf: (operationId: string) => string, name: PageName): string {
  return urlOf('getDocumentationPage').replace('{page}', name)
}
