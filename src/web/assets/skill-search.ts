/** Asks for the skills while the reader types. Without this module the form asks the server. */
const form = document.querySelector<HTMLFormElement>('[data-skill-search]')
const control = form?.querySelector<HTMLInputElement>('input[name="q"]')
const state = document.querySelector<HTMLElement>('[data-skill-count]')
const none = document.querySelector<HTMLElement>('[data-skill-none]')
const groups = document.querySelector<HTMLElement>('[data-skill-groups]')
const results = document.querySelector<HTMLElement>('[data-skill-results]')
const items = new Map(
  [...(groups?.querySelectorAll<HTMLElement>('[data-skill]') ?? [])].map((item) => [
    item.dataset.skill,
    item,
  ]),
)
const typingMs = 120
let timer: ReturnType<typeof setTimeout> | undefined
let asked = new AbortController()

async function search(query: string): Promise<void> {
  asked.abort()
  asked = new AbortController()
  if (query === '') return show(query, [...items.keys()])
  const parameters = new URLSearchParams(location.search)
  parameters.set('q', query)
  const url = `/standard/find.json?${parameters.toString()}`
  // A newer search aborts this one. Without an answer the form still works.
  const answer = await fetch(url, { signal: asked.signal }).catch(() => null)
  if (answer?.ok !== true) return
  const { skills } = (await answer.json()) as { skills: string[] }
  show(query, skills)
}

function show(query: string, slugs: readonly (string | undefined)[]): void {
  const found = slugs.flatMap((slug) => items.get(slug)?.cloneNode(true) ?? [])
  results?.replaceChildren(...(query === '' ? [] : found))
  results?.toggleAttribute('hidden', query === '' || found.length === 0)
  groups?.toggleAttribute('hidden', query !== '')
  none?.toggleAttribute('hidden', found.length > 0)
  if (state !== null)
    state.textContent = `${found.length} ${found.length === 1 ? 'skill' : 'skills'}${query === '' ? '' : ` for “${query}”`}`
}

function remember(query: string): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>('[data-skill-domain]'))
    link.href = withQuery(link.href, query)
  history.replaceState(null, '', withQuery(location.href, query))
}

function withQuery(address: string, query: string): string {
  const url = new URL(address)
  if (query === '') url.searchParams.delete('q')
  else url.searchParams.set('q', query)
  return url.href
}

if (control != null) {
  control.addEventListener('input', () => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      const query = control.value.trim()
      remember(query)
      void search(query)
    }, typingMs)
  })
  form?.addEventListener('submit', (event) => event.preventDefault())
}
