/**
 * The search over every page: `Ctrl K` opens a dialog that asks the server while the reader types.
 * Without this module the link in the header leads to the page of the search.
 */
interface FindHit {
  path: string
  title: string
  place: string
  excerpt: { text: string; isMatch: boolean }[]
}

interface Findings {
  jump: { path: string; title: string } | null
  groups: { title: string; hits: FindHit[] }[]
  summary: string
}

/** Milliseconds without a key after which the server is asked. */
const typingMs = 120

export function openFind(): void {
  const dialog = document.querySelector<HTMLDialogElement>('#find')
  const input = dialog?.querySelector<HTMLInputElement>('#find-input')
  const list = dialog?.querySelector<HTMLElement>('#find-list')
  const count = dialog?.querySelector<HTMLElement>('#find-count')
  const [group, option] = dialog?.querySelector('template')?.content.children ?? []
  if (dialog == null || input == null || list == null || count == null) return
  if (group === undefined || option === undefined) return

  const isMac = navigator.userAgent.includes('Mac OS')
  for (const key of document.querySelectorAll('[data-find-key]')) if (isMac) key.textContent = '⌘ K'

  const open = (): void => {
    if (!dialog.open) dialog.showModal()
    input.removeAttribute('aria-activedescendant')
    choose([...list.querySelectorAll<HTMLElement>('[role="option"]')], -1)
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
  // A click beside the dialog closes it: only the backdrop has the dialog itself as its target.
  dialog.addEventListener('click', ({ target }) => target === dialog && dialog.close())

  let timer: ReturnType<typeof setTimeout> | undefined
  let asked = new AbortController()
  input.addEventListener('input', () => {
    clearTimeout(timer)
    timer = setTimeout(() => void find(), typingMs)
  })
  input.addEventListener('keydown', (event) => {
    const options = [...list.querySelectorAll<HTMLAnchorElement>('[role="option"]')]
    const at = options.findIndex((one) => one.id === input.getAttribute('aria-activedescendant'))
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined && options.length > 0) {
      event.preventDefault()
      const from = at === -1 && step === -1 ? 0 : at
      choose(options, (from + step + options.length) % options.length)
    }
    // Without a choice, Enter sends the form to the page of the search.
    if (event.key === 'Enter' && at !== -1) {
      event.preventDefault()
      options[at]?.click()
    }
  })
  list.addEventListener('click', () => dialog.close())

  async function find(): Promise<void> {
    asked.abort()
    asked = new AbortController()
    const query = input?.value.trim() ?? ''
    if (query === '') return show({ jump: null, groups: [], summary: '' })
    if (list?.hidden) say('Searching …')
    const url = `/docs/find.json?${new URLSearchParams({ q: query }).toString()}`
    // An aborted call has a newer one behind it.
    const answer = await fetch(url, { signal: asked.signal }).catch((error: Error) => error)
    if (answer instanceof Error) {
      if (answer.name !== 'AbortError') say('The service does not answer. Try again.')
    } else if (answer.ok) show((await answer.json()) as Findings)
    else if (answer.status === 429) say('Too many searches. Wait a minute.')
    else say('The search does not work at the moment.')
  }

  function say(text: string): void {
    if (count != null) count.textContent = text
  }

  function show({ jump, groups, summary }: Findings): void {
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

  function groupOf(title: string, hits: FindHit[]): Node {
    const element = group?.cloneNode(true) as HTMLElement
    element.setAttribute('aria-label', title)
    const label = element.querySelector('p')
    if (label !== null) label.textContent = title
    element.append(...hits.map(optionOf))
    return element
  }

  function optionOf({ path, title, place, excerpt }: FindHit): Node {
    const element = option?.cloneNode(true) as HTMLAnchorElement
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

  function choose(options: readonly HTMLElement[], at: number): void {
    for (const [i, one] of options.entries()) {
      one.setAttribute('aria-selected', String(i === at))
      if (i !== at) continue
      input?.setAttribute('aria-activedescendant', one.id)
      one.scrollIntoView({ block: 'nearest' })
    }
  }
}
