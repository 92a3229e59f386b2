/** Pure: the form of a skill id. `hss:` is the JSON-LD prefix of the route, so `hss:typescript` and the record's address are one name. */

const slugLengthMax = 64

const slugCharacters = /^[a-z0-9-]+$/

/** Groups of lowercase letters and digits joined by single hyphens, at most 64 characters (decision D32). Linear: no nested repetition. */
export function isSlug(text: string): boolean {
  return (
    text.length <= slugLengthMax &&
    slugCharacters.test(text) &&
    !text.startsWith('-') &&
    !text.endsWith('-') &&
    !text.includes('--')
  )
}

/** The slug of the path part `{id}` of spec §4.2: `slug`, `slug.jsonld` or `hss:slug`; null for what cannot be one. */
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
