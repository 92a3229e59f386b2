const form = document.querySelector                 ('[data-skill-search]')
const control = form?.querySelector                  ('input[name="q"]')
const state = document.querySelector             ('[data-skill-count]')
const none = document.querySelector             ('[data-skill-none]')
const groups = document.querySelector             ('[data-skill-groups]')
const results = document.querySelector             ('[data-skill-results]')
const items = new Map(
[...(groups?.querySelectorAll             ('[data-skill]') ?? [])].map((item) => [
item.dataset.skill,
item,
]),
)
const typingMs = 120
let timer
let asked = new AbortController()
async function search(query        )                {
asked.abort()
asked = new AbortController()
if (query === '') return show(query, [...items.keys()])
const parameters = new URLSearchParams(location.search)
parameters.set('q', query)
const url = `/standard/find.json?${parameters.toString()}`
const answer = await fetch(url, { signal: asked.signal }).catch(() => null)
if (answer?.ok !== true) return
const { skills } = (await answer.json())
show(query, skills)
}
function show(query        , slugs                                 )       {
const found = slugs.flatMap((slug) => items.get(slug)?.cloneNode(true) ?? [])
results?.replaceChildren(...(query === '' ? [] : found))
results?.toggleAttribute('hidden', query === '' || found.length === 0)
groups?.toggleAttribute('hidden', query !== '')
none?.toggleAttribute('hidden', found.length > 0)
if (state !== null)
state.textContent = `${found.length} ${found.length === 1 ? 'skill' : 'skills'}${query === '' ? '' : ` for “${query}”`}`
}
function remember(query        )       {
for (const link of document.querySelectorAll                   ('[data-skill-domain]'))
link.href = withQuery(link.href, query)
history.replaceState(null, '', withQuery(location.href, query))
}
function withQuery(address        , query        )         {
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
