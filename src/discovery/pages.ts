/** Pure: the pages of the documentation that are published, so that what is said of the scores can be read where the scores are. */

export const pageNames = ['scoring', 'changelog'] as const
export type PageName = (typeof pageNames)[number]

/** `urlOf` gives the absolute URL of a declared operation, with `{name}` for what varies. */
export function pageUrl(urlOf: (operationId: string) => string, name: PageName): string {
  return urlOf('getDocumentationPage').replace('{page}', name)
}
