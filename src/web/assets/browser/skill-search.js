const form = document.querySelector                 ('[data-skill-search]')
const control = form?.querySelector                  ('input[name="q"]')
const state = document.querySelector             ('[data-skill-count]')
const none = document.querySelector             ('[data-skill-none]')
const groups = [...document.querySelectorAll             ('[data-skill-group]')].map((element) => ({
element,
items: [...element.querySelectorAll             ('li')].map((item) => ({
item,
text: folded(`${item.dataset.names} ${item.textContent}`),
})),
}))
function folded(text        )         {
return text.normalize('NFKC').toLowerCase()
}
function filter(query        )       {
const words = folded(query).split(/\s+/u).filter(Boolean)
let shown = 0
for (const { element, items } of groups) {
let inGroup = 0
for (const { item, text } of items) {
item.hidden = !words.every((word) => text.includes(word))
if (!item.hidden) inGroup++
}
element.hidden = inGroup === 0
shown += inGroup
}
if (state !== null)
state.textContent = `${shown} ${shown === 1 ? 'skill' : 'skills'}${words.length > 0 ? ` for “${query.trim()}”` : ''}`
if (none !== null) none.hidden = shown > 0
}
function remember(query        )       {
for (const link of document.querySelectorAll                   ('[data-skill-domain]'))
link.href = withQuery(link.href, query)
history.replaceState(null, '', withQuery(location.href, query))
}
function withQuery(address        , query        )         {
const url = new URL(address)
if (query.trim() === '') url.searchParams.delete('q')
else url.searchParams.set('q', query.trim())
return url.href
}
if (control != null) {
control.addEventListener('input', () => {
filter(control.value)
remember(control.value)
})
form?.addEventListener('submit', (event) => event.preventDefault())
}
