/**
 * The scripts of the pages: copy buttons, countdowns and similar controls. They set text only
 * through `textContent`, because Trusted Types forbid HTML strings.
 */
import { openFind } from './find.ts'
import { askForPage } from './page-call.ts'

openFind()

/** `data-copy` is the id of the element with the text; `data-copy-text` is the text itself. */
const copyButtons = '[data-copy], [data-copy-text]'

/** Shows the controls that need this script, also in a part that another script has put in. */
function showControls(): void {
  for (const button of document.querySelectorAll<HTMLElement>(copyButtons)) button.hidden = false
}
document.addEventListener('page-shown', showControls)
showControls()

document.addEventListener('click', ({ target }) => {
  const button = target instanceof Element ? target.closest<HTMLElement>(copyButtons) : null
  if (button === null) return
  const { copy = '', copyText } = button.dataset
  const source =
    copyText === undefined ? document.getElementById(copy) : button.previousElementSibling
  if (source === null) return
  const text = copyText ?? source.textContent
  const label = button.querySelector('[data-label]') ?? button
  const idle = button.dataset.idle ?? label.textContent
  const show = (word: string): void => {
    button.dataset.idle = idle
    label.textContent = word
    button.dataset.copied = ''
    setTimeout(() => {
      label.textContent = idle
      delete button.dataset.copied
    }, 2_000)
  }
  // Without https a browser copies nothing by script. The reader copies the selection.
  const select = (): void => {
    source.textContent = text
    getSelection()?.selectAllChildren(source)
    show('Press Ctrl+C')
  }
  const { clipboard } = navigator as { clipboard?: Clipboard }
  if (clipboard === undefined) select()
  else clipboard.writeText(text).then(() => show('Copied'), select)
})

for (const timer of document.querySelectorAll<HTMLElement>('[data-seconds]')) {
  const button = buttonOf(timer.dataset.enables)
  const end = performance.now() + Number(timer.dataset.seconds) * 1_000
  const step = (): void => {
    const left = Math.max(0, Math.ceil((end - performance.now()) / 1_000))
    timer.textContent =
      left === 0 ? (timer.dataset.over ?? '') : `${timer.dataset.before} ${left} s.`
    if (button !== null) button.disabled = left > 0
    if (left > 0) setTimeout(step, 250)
  }
  step()
}

for (const control of document.querySelectorAll<HTMLInputElement>('[data-unlocks]')) {
  const button = buttonOf(control.dataset.unlocks)
  if (button === null) continue
  const update = (): void => {
    button.disabled =
      control.type === 'checkbox' ? !control.checked : control.value !== control.dataset.expect
  }
  control.addEventListener('input', update)
  update()
}

for (const button of document.querySelectorAll<HTMLElement>('[data-theme-toggle]')) {
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

const closeMenus = (except: Element | null): void => {
  for (const menu of document.querySelectorAll<HTMLDetailsElement>('.menu[open]'))
    if (menu !== except) menu.open = false
}
document.addEventListener('click', ({ target }) =>
  closeMenus(target instanceof Element ? target.closest('.menu') : null),
)
document.addEventListener('keydown', ({ key }) => {
  const menu = document.activeElement?.closest<HTMLDetailsElement>('.menu[open]')
  if (key !== 'Escape' || menu == null) return
  menu.querySelector('summary')?.focus()
  menu.open = false
})

document.querySelector<HTMLElement>('[data-focus]')?.focus()

// The entry of this page may be far down in a long navigation.
const sidebar = document.querySelector<HTMLElement>('.sidebar')
const entry = sidebar?.querySelector<HTMLElement>('[aria-current="page"]')
if (sidebar != null && entry != null && entry.offsetTop > sidebar.clientHeight - 80)
  sidebar.scrollTop = entry.offsetTop - sidebar.clientHeight / 2

const reloading = document.querySelector<HTMLElement>('[data-reload]')
if (reloading !== null) setTimeout(() => location.reload(), Number(reloading.dataset.reload))

// A form that was sent is not sent again by a second click.
document.addEventListener('submit', ({ target, defaultPrevented }) => {
  if (!(target instanceof HTMLFormElement) || target.method !== 'post' || defaultPrevented) return
  const buttons = [...target.querySelectorAll<HTMLButtonElement>('button[type="submit"]')]
  // The browser collects the fields of the form first.
  setTimeout(() => {
    for (const button of buttons) {
      button.disabled = true
      button.setAttribute('aria-busy', 'true')
    }
  })
  // Back from the next page, the form can be sent again.
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

function buttonOf(id: string | undefined): HTMLButtonElement | null {
  const element = id === undefined ? null : document.getElementById(id)
  return element instanceof HTMLButtonElement ? element : null
}

// The language of examples holds on every page, and Copy takes the one in view.
for (const block of document.querySelectorAll<HTMLElement>('[data-languages]')) {
  const radios = [...block.querySelectorAll<HTMLInputElement>('input[name="language"]')]
  const copy = block.querySelector<HTMLElement>('[data-copy]')
  const choose = (language: string): void => {
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

// Filters the operations while the reader types. Without this the form asks the server.
const filter = document.querySelector<HTMLFormElement>('[data-filter]')
filter?.addEventListener('input', ({ target }) => {
  const words = (target as HTMLInputElement).value.toLowerCase().split(/\s+/u).filter(Boolean)
  let shown = 0
  for (const link of document.querySelectorAll<HTMLElement>('[data-filtered]')) {
    const row = link.closest('tr')
    const text = `${link.dataset.filtered} ${row?.textContent}`.toLowerCase()
    const fits = words.every((word) => text.includes(word))
    if (row !== null) row.hidden = !fits
    if (fits) shown++
  }
  for (const table of document.querySelectorAll<HTMLElement>('.prose .card')) {
    const isEmpty = table.querySelector('tbody tr:not([hidden])') === null
    table.hidden = isEmpty
    if (table.previousElementSibling instanceof HTMLHeadingElement)
      table.previousElementSibling.hidden = isEmpty
  }
  const count = document.querySelector('[data-filter-count]')
  if (count !== null) count.textContent = shown === 1 ? '1 operation' : `${shown} operations`
})

const sendForm = document.querySelector<HTMLFormElement>('[data-send]')
sendForm?.addEventListener('submit', (event) => {
  event.preventDefault()
  void send(sendForm)
})

/** Characters of an answer that the page shows. The catalog of skills has hundreds of thousands. */
const answerLengthMax = 20_000

/** Sends an operation with the reader's session. An error is an answer that developers want to see. */
async function send(from: HTMLFormElement): Promise<void> {
  const fields = [
    ...from.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>('[data-name]'),
  ].map((one): [string, string] => [one.dataset.name ?? '', one.value])
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
  const box = document.querySelector<HTMLElement>('[data-sent]')
  const part = (name: string) => box?.querySelector<HTMLAnchorElement>(`[data-sent-${name}]`)
  const [head, log, signIn, body] = ['head', 'log', 'sign-in', 'body'].map(part)
  if (box == null || head == null || log == null || signIn == null || body == null) return
  box.hidden = false
  head.textContent =
    answer === null ? 'The service does not answer.' : `${answer.status} · ${ms} ms`
  // Only calls with a session are in a log.
  const isOwn = path.startsWith('/api/account/')
  log.hidden = answer === null || !isOwn || answer.status === 401
  log.href = `/dashboard/requests/${answer?.headers.get('x-request-id') ?? ''}`
  signIn.hidden = answer?.status !== 401
  signIn.href = `/sign-in?next=${encodeURIComponent(location.pathname)}`
  body.textContent = indented(text).slice(0, answerLengthMax)
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

const live = document.querySelector<HTMLElement>('[data-live]')
if (live !== null) followCalls(live)

/** Milliseconds after which a refused stream is tried again. */
const refusedMs = 15_000

/**
 * Adds new calls to the table. One tab of a browser holds the stream, and only while it is visible:
 * a browser opens no more than six connections to a site.
 */
function followCalls(list: HTMLElement): void {
  const badge = document.querySelector<HTMLElement>('[data-live-state]')
  const full = document.querySelector<HTMLElement>('[data-live-full]')
  const url = list.dataset.live ?? ''
  const toggle = document.querySelector<HTMLElement>('[data-live-toggle]')
  let isPaused = false
  let end = (): void => {}

  /** Puts the rows of `page` that are not shown yet above those that are. */
  const show = (page: Document): void => {
    const [body, next] = [list.querySelector('tbody'), page.querySelector('[data-live]')]
    // A page without a call has no table yet. After the end of a session, the page is the sign-in.
    if (body === null || next === null) return location.reload()
    const pathOf = (row: Element) => row.querySelector('.path')?.getAttribute('href')
    const shown = new Set(Array.from(body.rows, pathOf))
    const rows = [...next.querySelectorAll('tbody > tr')]
    // A call has its row and the one that opens below it.
    const added = rows.flatMap((row, i) => (shown.has(pathOf(row)) ? [] : rows.slice(i, i + 2)))
    body.prepend(...added)
    while (body.rows.length > rows.length) body.lastElementChild?.remove()
    for (const part of ['.chart', '.legend']) {
      const [old, fresh] = [list, next].map((one) => one.querySelector(part))
      if (fresh != null && !old?.matches(':focus-within')) old?.replaceWith(fresh)
    }
    document.dispatchEvent(new Event('page-shown'))
  }

  /** Asks for the page, one call at a time: what arrives meanwhile is on the next one. */
  let news = 0
  const refresh = async (): Promise<void> => {
    if (news++ > 0) return
    for (let seen = 0; news > seen; ) {
      seen = news
      const call = await askForPage(location.href)
      if (call?.status === 200) show(call.response as Document)
    }
    news = 0
  }

  /** An EventSource does not tell the status of a refusal. */
  const sayIfFull = async (): Promise<void> => {
    const answer = await fetch(url, { redirect: 'manual' }).catch(() => null)
    void answer?.body?.cancel()
    if (answer?.status === 429) full?.removeAttribute('hidden')
  }

  const stream = (): Promise<void> =>
    new Promise((resolve) => {
      const source = new EventSource(url)
      let retry: ReturnType<typeof setTimeout> | undefined
      source.addEventListener('open', () => {
        badge?.removeAttribute('hidden')
        full?.setAttribute('hidden', '')
      })
      source.addEventListener('error', () => {
        badge?.setAttribute('hidden', '')
        // After a refusal the browser does not connect again.
        if (source.readyState !== EventSource.CLOSED) return
        void sayIfFull()
        retry = setTimeout(update, refusedMs)
      })
      source.addEventListener('message', () => void refresh())
      end = () => {
        clearTimeout(retry)
        source.close()
        badge?.setAttribute('hidden', '')
        full?.setAttribute('hidden', '')
        resolve()
      }
    })

  const update = (): void => {
    end()
    end = () => {}
    if (document.hidden || isPaused) return
    // Without https there are no locks, and each visible tab has its stream.
    const { locks } = navigator as { locks?: LockManager }
    const waiting = new AbortController()
    end = () => waiting.abort()
    if (locks === undefined) void stream()
    else
      locks
        .request('assay live calls', { signal: waiting.signal }, stream)
        // The tab was hidden before its turn came.
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

/** Without an answer the link to the page of the status stays alone. */
async function showStatus(box: Element): Promise<void> {
  const status: { state?: string } | null = await fetch('/status.json')
    .then((answer) => answer.json())
    .catch(() => null)
  const state = status?.state === 'limited' ? 'works' : status?.state
  const mark = box.querySelector<HTMLElement>(`[data-state="${state}"]`)
  if (mark !== null) mark.hidden = false
}
