const typingMs = 120
function openFind()       {
const dialog = document.querySelector                   ('#find')
const input = dialog?.querySelector                  ('#find-input')
const list = dialog?.querySelector             ('#find-list')
const count = dialog?.querySelector             ('#find-count')
const [group, option] = dialog?.querySelector('template')?.content.children ?? []
if (dialog == null || input == null || list == null || count == null) return
if (group === undefined || option === undefined) return
const isMac = navigator.userAgent.includes('Mac OS')
for (const key of document.querySelectorAll('[data-find-key]')) if (isMac) key.textContent = '⌘ K'
const open = ()       => {
if (!dialog.open) dialog.showModal()
input.removeAttribute('aria-activedescendant')
choose([...list.querySelectorAll             ('[role="option"]')], -1)
input.select()
}
for (const link of document.querySelectorAll('[data-find]'))
link.addEventListener('click', (event) => {
event.preventDefault()
open()
})
addEventListener('keydown', (event) => {
if (event.key.toLowerCase() !== 'k' || !(isMac ? event.metaKey : event.ctrlKey)) return
event.preventDefault()
open()
})
dialog.addEventListener('click', ({ target }) => target === dialog && dialog.close())
let timer
let asked = new AbortController()
input.addEventListener('input', () => {
clearTimeout(timer)
timer = setTimeout(() => void find(), typingMs)
})
input.addEventListener('keydown', (event) => {
const options = [...list.querySelectorAll                   ('[role="option"]')]
const at = options.findIndex((one) => one.id === input.getAttribute('aria-activedescendant'))
const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
if (step !== undefined && options.length > 0) {
event.preventDefault()
const from = at === -1 && step === -1 ? 0 : at
choose(options, (from + step + options.length) % options.length)
}
if (event.key === 'Enter' && at !== -1) {
event.preventDefault()
options[at]?.click()
}
})
list.addEventListener('click', () => dialog.close())
async function find()                {
asked.abort()
asked = new AbortController()
const query = input?.value.trim() ?? ''
if (query === '') return show({ jump: null, groups: [], summary: '' })
const url = `/docs/find.json?${new URLSearchParams({ q: query }).toString()}`
const answer = await fetch(url, { signal: asked.signal }).catch((error       ) => error)
if (answer instanceof Error) {
if (answer.name !== 'AbortError') say('The service does not answer. Try again.')
} else if (answer.ok) show((await answer.json())            )
else if (answer.status === 429) say('Too many searches. Wait a minute.')
else say('The search does not work at the moment.')
}
function say(text        )       {
if (count != null) count.textContent = text
}
function show({ jump, groups, summary }          )       {
const shown = groups.map(({ title, hits }) => groupOf(title, hits))
const first = jump && optionOf({ ...jump, place: '', excerpt: [] })
list?.replaceChildren(...(first === null ? [] : [first]), ...shown)
const isEmpty = list?.firstChild == null
list?.toggleAttribute('hidden', isEmpty)
input?.setAttribute('aria-expanded', String(!isEmpty))
input?.removeAttribute('aria-activedescendant')
list?.querySelectorAll('[role="option"]').forEach((one, i) => {
one.id = `find-${i}`
})
say(summary)
}
function groupOf(title        , hits           )       {
const element = group?.cloneNode(true)
element.setAttribute('aria-label', title)
const label = element.querySelector('p')
if (label !== null) label.textContent = title
element.append(...hits.map(optionOf))
return element
}
function optionOf({ path, title, place, excerpt }         )       {
const element = option?.cloneNode(true)
const [name, where, text] = element.querySelectorAll('span')
element.href = path
if (name !== undefined) name.textContent = title
if (where !== undefined) where.textContent = place === title ? '' : place
for (const piece of excerpt) {
const part = document.createElement(piece.isMatch ? 'mark' : 'span')
part.textContent = piece.text
text?.append(part)
}
return element
}
function choose(options                        , at        )       {
for (const [i, one] of options.entries()) {
one.setAttribute('aria-selected', String(i === at))
if (i !== at) continue
input?.setAttribute('aria-activedescendant', one.id)
one.scrollIntoView({ block: 'nearest' })
}
}
}


openFind()
const copyButtons = '[data-copy], [data-copy-text]'
function showControls()       {
for (const button of document.querySelectorAll             (copyButtons)) button.hidden = false
}
document.addEventListener('page-shown', showControls)
showControls()
document.addEventListener('click', ({ target }) => {
const button = target instanceof Element ? target.closest             (copyButtons) : null
if (button === null) return
const { copy = '', copyText } = button.dataset
const source =
copyText === undefined ? document.getElementById(copy) : button.previousElementSibling
if (source === null) return
const text = copyText ?? source.textContent
const label = button.querySelector('[data-label]') ?? button
const idle = button.dataset.idle ?? label.textContent
const show = (word        )       => {
button.dataset.idle = idle
label.textContent = word
button.dataset.copied = ''
setTimeout(() => {
label.textContent = idle
delete button.dataset.copied
}, 2_000)
}
const select = ()       => {
source.textContent = text
getSelection()?.selectAllChildren(source)
show('Press Ctrl+C')
}
const { clipboard } = navigator
if (clipboard === undefined) select()
else clipboard.writeText(text).then(() => show('Copied'), select)
})
for (const timer of document.querySelectorAll             ('[data-seconds]')) {
const button = buttonOf(timer.dataset.enables)
const end = performance.now() + Number(timer.dataset.seconds) * 1_000
const step = ()       => {
const left = Math.max(0, Math.ceil((end - performance.now()) / 1_000))
timer.textContent =
left === 0 ? (timer.dataset.over ?? '') : `${timer.dataset.before} ${left} s.`
if (button !== null) button.disabled = left > 0
if (left > 0) setTimeout(step, 250)
}
step()
}
for (const control of document.querySelectorAll                  ('[data-unlocks]')) {
const button = buttonOf(control.dataset.unlocks)
if (button === null) continue
const update = ()       => {
button.disabled =
control.type === 'checkbox' ? !control.checked : control.value !== control.dataset.expect
}
control.addEventListener('input', update)
update()
}
for (const button of document.querySelectorAll             ('[data-theme-toggle]')) {
button.hidden = false
button.addEventListener('click', () => {
const { dataset } = document.documentElement
const isDark =
dataset.theme === undefined
? matchMedia('(prefers-color-scheme: dark)').matches
: dataset.theme === 'dark'
dataset.theme = isDark ? 'light' : 'dark'
localStorage.setItem('theme', dataset.theme)
})
}
const closeMenus = (except                )       => {
for (const menu of document.querySelectorAll                    ('.menu[open]'))
if (menu !== except) menu.open = false
}
document.addEventListener('click', ({ target }) =>
closeMenus(target instanceof Element ? target.closest('.menu') : null),
)
document.addEventListener('keydown', ({ key }) => {
const menu = document.activeElement?.closest                    ('.menu[open]')
if (key !== 'Escape' || menu == null) return
menu.querySelector('summary')?.focus()
menu.open = false
})
document.querySelector             ('[data-focus]')?.focus()
const sidebar = document.querySelector             ('.sidebar')
const entry = sidebar?.querySelector             ('[aria-current="page"]')
if (sidebar != null && entry != null && entry.offsetTop > sidebar.clientHeight - 80)
sidebar.scrollTop = entry.offsetTop - sidebar.clientHeight / 2
const reloading = document.querySelector             ('[data-reload]')
if (reloading !== null) setTimeout(() => location.reload(), Number(reloading.dataset.reload))
document.addEventListener('submit', ({ target, defaultPrevented }) => {
if (!(target instanceof HTMLFormElement) || target.method !== 'post' || defaultPrevented) return
const buttons = [...target.querySelectorAll                   ('button[type="submit"]')]
setTimeout(() => {
for (const button of buttons) {
button.disabled = true
button.setAttribute('aria-busy', 'true')
}
})
addEventListener(
'pageshow',
() => {
for (const button of buttons) {
button.disabled = false
button.removeAttribute('aria-busy')
}
},
{ once: true },
)
})
function buttonOf(id                    )                           {
const element = id === undefined ? null : document.getElementById(id)
return element instanceof HTMLButtonElement ? element : null
}
for (const block of document.querySelectorAll             ('[data-languages]')) {
const radios = [...block.querySelectorAll                  ('input[name="language"]')]
const copy = block.querySelector             ('[data-copy]')
const choose = (language        )       => {
if (copy !== null) copy.dataset.copy = `request-${language}`
localStorage.setItem('language', language)
}
for (const radio of radios) radio.addEventListener('change', () => choose(radio.value))
const kept = radios.find(({ value }) => value === localStorage.getItem('language'))
if (kept !== undefined) {
kept.checked = true
choose(kept.value)
}
}
const filter = document.querySelector                 ('[data-filter]')
filter?.addEventListener('input', ({ target }) => {
const words = (target                    ).value.toLowerCase().split(/\s+/u).filter(Boolean)
let shown = 0
for (const link of document.querySelectorAll             ('[data-filtered]')) {
const row = link.closest('tr')
const text = `${link.dataset.filtered} ${row?.textContent}`.toLowerCase()
const fits = words.every((word) => text.includes(word))
if (row !== null) row.hidden = !fits
if (fits) shown++
}
for (const table of document.querySelectorAll             ('.prose .card')) {
const isEmpty = table.querySelector('tbody tr:not([hidden])') === null
table.hidden = isEmpty
if (table.previousElementSibling instanceof HTMLHeadingElement)
table.previousElementSibling.hidden = isEmpty
}
const count = document.querySelector('[data-filter-count]')
if (count !== null) count.textContent = shown === 1 ? '1 operation' : `${shown} operations`
})
const sendForm = document.querySelector                 ('[data-send]')
sendForm?.addEventListener('submit', (event) => {
event.preventDefault()
void send(sendForm)
})
const answerLengthMax = 20_000
async function send(from                 )                {
const fields = [
...from.querySelectorAll                                        ('[data-name]'),
].map((one)                   => [one.dataset.name ?? '', one.value])
const values = new Map(fields)
const method = from.dataset.method ?? 'GET'
let path = from.dataset.send ?? ''
for (const [name, value] of fields)
if (path.includes(`{${name}}`)) {
path = path.replace(`{${name}}`, encodeURIComponent(value))
values.delete(name)
}
const query = method === 'GET' ? new URLSearchParams([...values]).toString() : ''
const started = performance.now()
const answer = await fetch(`${path}${query === '' ? '' : `?${query}`}`, {
method,
headers: { Accept: 'application/json', 'Content-Type': 'application/json' },
...(method === 'GET' ? {} : { body: values.get('body') ?? '' }),
}).catch(() => null)
const text = answer === null ? '' : await answer.text()
const ms = Math.round(performance.now() - started)
const box = document.querySelector             ('[data-sent]')
const part = (name        ) => box?.querySelector                   (`[data-sent-${name}]`)
const [head, log, signIn, body] = ['head', 'log', 'sign-in', 'body'].map(part)
if (box == null || head == null || log == null || signIn == null || body == null) return
box.hidden = false
head.textContent =
answer === null ? 'The service does not answer.' : `${answer.status} · ${ms} ms`
const isOwn = path.startsWith('/api/account/')
log.hidden = answer === null || !isOwn || answer.status === 401
log.href = `/dashboard/requests/${answer?.headers.get('x-request-id') ?? ''}`
signIn.hidden = answer?.status !== 401
signIn.href = `/sign-in?next=${encodeURIComponent(location.pathname)}`
body.textContent = indented(text).slice(0, answerLengthMax)
}
function indented(text        )         {
try {
return JSON.stringify(JSON.parse(text), null, 2)
} catch {
return text
}
}
const live = document.querySelector             ('[data-live]')
if (live !== null) followCalls(live)
const refusedMs = 15_000
function followCalls(list             )       {
const row = list.querySelector('template')?.content.querySelector('tbody')
const badge = document.querySelector             ('[data-live-state]')
const full = document.querySelector             ('[data-live-full]')
const url = list.dataset.live ?? ''
const body = list.querySelector('tbody')
const rowsMax = Number(list.dataset.rows)
const toggle = document.querySelector             ('[data-live-toggle]')
let isPaused = false
let end = ()       => {}
const add = ({ tone, link, cells, links }         )       => {
if (body === null || row == null) {
location.reload()
return
}
if (body.querySelector(`a[href="${link}"]`) !== null) return
const added = row.cloneNode(true)
for (const cell of added.querySelectorAll             ('[data-cell]'))
(cell.querySelector('time') ?? cell).textContent =
cells[cell.dataset.cell ?? ''] ?? cell.textContent
for (const time of added.querySelectorAll('time')) {
time.dateTime = cells.iso ?? ''
time.title = cells.at ?? ''
}
for (const element of added.querySelectorAll             ('[data-link]')) {
const url = links[element.dataset.link ?? ''] ?? ''
element.setAttribute('href', url)
element.hidden = url === ''
}
added.querySelector('.path')?.setAttribute('href', link)
added.querySelector('.badge')?.setAttribute('data-tone', tone)
added.querySelector('.method')?.setAttribute('data-method', cells.method ?? '')
added.querySelector('[data-advice]')?.toggleAttribute('hidden', cells.error === '')
const narrow = added.querySelector('.narrow-only')
if (narrow !== null) narrow.textContent = `${cells.time} · ${cells.key} · ${cells.duration}`
body.prepend(...added.children)
while (body.rows.length > 2 * rowsMax) body.lastElementChild?.remove()
}
const sayIfFull = async ()                => {
const answer = await fetch(url, { redirect: 'manual' }).catch(() => null)
void answer?.body?.cancel()
if (answer?.status === 429) full?.removeAttribute('hidden')
}
const stream = ()                =>
new Promise((resolve) => {
const source = new EventSource(url)
let retry
source.addEventListener('open', () => {
badge?.removeAttribute('hidden')
full?.setAttribute('hidden', '')
})
source.addEventListener('error', () => {
badge?.setAttribute('hidden', '')
if (source.readyState !== EventSource.CLOSED) return
void sayIfFull()
retry = setTimeout(update, refusedMs)
})
source.addEventListener('message', ({ data }) => add(JSON.parse(data)           ))
end = () => {
clearTimeout(retry)
source.close()
badge?.setAttribute('hidden', '')
full?.setAttribute('hidden', '')
resolve()
}
})
const update = ()       => {
end()
end = () => {}
if (document.hidden || isPaused) return
const { locks } = navigator
const waiting = new AbortController()
end = () => waiting.abort()
if (locks === undefined) void stream()
else
locks
.request('assay live calls', { signal: waiting.signal }, stream)
.catch(() => {})
}
document.addEventListener('visibilitychange', update)
toggle?.removeAttribute('hidden')
toggle?.addEventListener('click', () => {
isPaused = !isPaused
toggle.querySelector('[data-live-on]')?.toggleAttribute('hidden', isPaused)
toggle.querySelector('[data-live-off]')?.toggleAttribute('hidden', !isPaused)
update()
})
update()
}
const statusLine = document.querySelector('[data-status]')
if (statusLine !== null) void showStatus(statusLine)
async function showStatus(box         )                {
const status                            = await fetch('/status.json')
.then((answer) => answer.json())
.catch(() => null)
const state = status?.state === 'limited' ? 'works' : status?.state
const mark = box.querySelector             (`[data-state="${state}"]`)
if (mark !== null) mark.hidden = false
}
