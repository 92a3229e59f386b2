/**
 * Pure: the form of a skill id. `hss:` is the JSON-LD prefix of the route, so `hss:typescript` and
 * the record's address are the same name.
 */

const slugLengthMax = 64

const slugCharacters = /^[a-z0-9-]+$/

/**
 * Returns true for groups of lowercase letters and digits joined by single hyphens, at most 64
 * characters (decision D32). Runs in linear time: there is no nested repetition.
 */
export function isSlug(text: string): boolean {
  return (
    text.length <= slugLengthMax &&
    slugCharacters.test(text) &&
    !text.startsWith('-') &&
    !text.endsWith('-') &&
    !text.includes('--')
  )
}

/**
 * Returns the slug of the path parameter `{id}`, which may be `slug`, `slug.jsonld` or `hss:slug`.
 * Returns null if it cannot be a slug.
 */
export function slugOfPath(id: string): string | null {
  const slug = id.startsWith('hss:')
    ? id.slice('hss:'.length)
    : id.endsWith('.jsonld')
      ? id.slice(0, -'.jsonld'.length)
      : id
  return isSlug(slug) ? slug : null
}

export function skillIdOf(slug: string): string {
  return `hss:${slug}`
}

export function slugOf(skillId: string): string {
  return skillId.slice('hss:'.length)
}
