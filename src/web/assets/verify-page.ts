/**
 * The verify page: sends what the visitor enters without leaving the page, checks the shown
 * document in this browser, beside the service, and fills the form from files, a camera or the
 * fragment of the link. The address always leads to what is shown, so the way back works.
 */
import { base64UrlDecode, inflate } from '../../../packages/sdk/src/bytes.ts'
import {
  documentBytesMax,
  type Verdict,
  verifyCredential,
} from '../../../packages/sdk/src/verify.ts'
import { badgeBytesMax, inputProblems, readBadge } from './badge-file.ts'
import { askForPage } from './page-call.ts'
import { type Checked, compare, rowsOf } from './verdict-rows.ts'

function find(selector: string): HTMLElement | null {
  return document.querySelector<HTMLElement>(selector)
}

function inputField(): HTMLTextAreaElement | null {
  return document.querySelector<HTMLTextAreaElement>('#document')
}

function say(text: string): void {
  const problem = find('#input-problem')
  if (problem === null) return
  problem.textContent = text
  problem.hidden = text === ''
  if (text !== '') problem.focus()
}

/** The address of what is shown. Other fragments lead to places of the page. */
function addressOf({ pathname, search, hash }: Location): string {
  return pathname + search + (/^#(z=|local$)/.test(hash) ? hash : '')
}
let shown = ''
let asked: XMLHttpRequest | undefined

/** Asks for the page that a browser without this script gets. Only the newest answer is shown. */
function ask(url: string, input?: string): Promise<XMLHttpRequest | null> {
  asked?.abort()
  return askForPage(url, {
    ...(input !== undefined && { input }),
    asked: (call) => {
      asked = call
    },
  })
}

/** Shows the main part of another page in this one. */
function showPage(page: Document): void {
  camera?.abort()
  for (const part of ['main', '[data-icons]']) {
    const next = page.querySelector(part)
    if (next !== null) document.querySelector(part)?.replaceWith(document.adoptNode(next))
  }
  document.title = page.title
  document.dispatchEvent(new Event('page-shown'))
  scrollTo(0, 0)
  find('#verdict-title, #input-problem:not([hidden])')?.focus()
  start()
}

/** Checks an input. With `isNew` the result becomes a step of the history. */
async function check(text: string, isNew = true): Promise<void> {
  const { length } = new TextEncoder().encode(text)
  if (length > documentBytesMax) {
    say(inputProblems.tooLong(length))
    return
  }
  say('')
  const call = await ask('/verify', text)
  if (call === null) {
    say('The service does not answer. Try again.')
    return
  }
  const page = call.response as Document
  // A refusal, such as 429, is no step of the history, and the visitor keeps what was entered.
  if (page.querySelector('#check') === null) {
    say(page.querySelector('main p')?.textContent ?? '')
    return
  }
  if (isNew) remember(new URL(call.responseURL), page, text)
  showPage(page)
  const field = inputField()
  if (field !== null && call.status >= 400 && field.value === '') field.value = text
}

/** A document never enters a path or a query: its address is a fragment, or this entry's state. */
function remember(url: URL, page: Document, text: string): void {
  const link = page.querySelector('[data-document-link]')?.textContent ?? ''
  if (url.searchParams.has('of')) history.pushState(null, '', url)
  else if (page.querySelector('[data-verdict]') === null) return
  else if (link === '') history.pushState({ text }, '', '/verify#local')
  else history.pushState(null, '', `/verify${link.slice(link.indexOf('#'))}`)
  shown = addressOf(location)
}

async function checkFile(file: File): Promise<void> {
  if (file.size > badgeBytesMax) {
    say(
      `${file.name} has ${file.size.toLocaleString('en-US')} bytes. A credential has at most 262,144, a picture 1,048,576.`,
    )
    return
  }
  const bytes = new Uint8Array(await file.arrayBuffer())
  const badge = readBadge(bytes)
  if (badge.kind === 'credential') return check(badge.text)
  if (badge.kind === 'picture') return say(inputProblems.picture)
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    if (text.startsWith('%PDF-')) return say(inputProblems.pdf)
    if (text.includes('\0')) throw new TypeError('binary')
    await check(text)
  } catch {
    say(`${file.name} is not a text file. Choose the JSON file of a credential.`)
  }
}

/** Checks the document in a link, or says why there is none. */
async function checkLink(link: string): Promise<void> {
  const packed = base64UrlDecode(link.slice(link.indexOf('#z=') + 3))
  const bytes = packed === null ? null : await inflate(packed, 'deflate-raw', documentBytesMax)
  if (bytes === null) say(inputProblems.link)
  else await check(new TextDecoder().decode(bytes), false)
}

/** Set while the camera is on. Another page in the place of this one turns it off. */
let camera: AbortController | undefined

async function openCamera(): Promise<void> {
  const box = find('#camera')
  if (box === null || camera !== undefined) return
  camera = new AbortController()
  try {
    const { scan } = await import('./camera.ts')
    const text = await scan(box, camera)
    if (text !== null) await check(text)
  } catch {
    say('The camera cannot be used. Allow it for this page, or paste the credential.')
  } finally {
    camera = undefined
  }
}

document.addEventListener('change', ({ target }) => {
  if (!(target instanceof HTMLInputElement) || target.id !== 'file') return
  const file = target.files?.[0]
  // The same file can be chosen again after it was mended.
  target.value = ''
  if (file !== undefined) void checkFile(file)
})
document.addEventListener('click', ({ target }) => {
  if (!(target instanceof Element)) return
  if (target.closest('#scan') !== null) void openCamera()
  if (target.closest('[data-print]') !== null) print()
})
document.addEventListener('dragover', (event) => event.preventDefault())
document.addEventListener('drop', (event) => {
  event.preventDefault()
  const file = event.dataTransfer?.files[0]
  const text = event.dataTransfer?.getData('text')
  if (file !== undefined) void checkFile(file)
  else if (text) void check(text)
})
// Before the script of every page, which switches the buttons of a form off that leaves the page.
document.addEventListener(
  'submit',
  (event) => {
    if (!(event.target instanceof HTMLFormElement) || event.target.id !== 'check') return
    event.preventDefault()
    void check(inputField()?.value ?? '')
  },
  true,
)

/** Shows what the address names. */
async function follow(isFirst: boolean): Promise<void> {
  const address = addressOf(location)
  if (address === shown || (location.hash !== '' && !address.includes('#') && !isFirst)) return
  shown = address
  const { text } = (history.state ?? {}) as { text?: string }
  if (location.hash.startsWith('#z=')) await checkLink(location.hash)
  else if (location.hash === '#local' && text !== undefined) await check(text, false)
  else if (!isFirst) {
    const call = await ask(address)
    if (call !== null) showPage(call.response as Document)
  }
}

addEventListener('popstate', () => void follow(false))
start()
void follow(true)

function start(): void {
  for (const element of document.querySelectorAll<HTMLElement>('[data-needs-script]'))
    element.hidden = false
  const box = find('[data-verdict]')
  if (box !== null) void checkShown(box)
}

async function checkShown(box: HTMLElement): Promise<void> {
  const text = document.querySelector('#presented')?.textContent ?? ''
  const started = performance.now()
  const verdict = await checkInBrowser(text)
  const ms = Math.round(performance.now() - started)
  if (verdict === null) {
    for (const row of ['issuer', 'signature', 'revocation', 'verdict']) show(row, 'unknown')
    tell('This browser could not check: it reached no key, or cannot verify Ed25519.')
    box.dataset.browser = 'none'
    return
  }
  const service = JSON.parse(box.dataset.verdict ?? '{}') as Checked
  const rows = rowsOf(verdict)
  for (const [row, state] of Object.entries(rows)) show(row, state)
  note('verdict', verdict.reason === 'unsupported_form' ? 'Service only' : `${ms} ms`)
  if (verdict.work.list !== undefined) note('revocation', 'Signed list')
  showWork(verdict)
  const outcome = compare(service, verdict)
  if (outcome === 'agree') tell('The service and this browser agree.')
  else if (verdict.reason === 'unsupported_form')
    tell('Only the service checked: this form of proof needs the service.')
  else if (outcome === 'alone')
    tell('Only the service could complete the check: its registry is newer than the signed list.')
  else showDisagreement(box)
  box.dataset.outcome = outcome
  box.dataset.browser = verdict.reason ?? 'valid'
}

/** Null: neither the keys nor WebCrypto are there. */
export async function checkInBrowser(text: string): Promise<Verdict | null> {
  try {
    const keyDocument = await fetchJson(keysPathFor(text))
    const first = await verifyCredential(text, { keyDocument, statusLists: [] })
    const list = listUrlIn(text)
    // A list of another issuer is not here.
    if (!first.issuerMatch || list === null) return first
    const statusLists = [await fetchJson(list).catch(() => null)]
    return await verifyCredential(text, { keyDocument, statusLists })
  } catch {
    return null
  }
}

/**
 * The path of the keys of the issuer that the document names, if this service answers for it under
 * its present address or a former one. Otherwise the path of its present keys: by them the document
 * is of another issuer.
 */
function keysPathFor(text: string): string {
  const issuers = find('#check')?.dataset.issuers?.split(' ') ?? []
  const issuer = issuers.find((one) => one === issuerIn(text)) ?? issuers[0] ?? ''
  return `/verify/issuers/${issuer.replace('did:web:', '')}/did.json`
}

function issuerIn(text: string): unknown {
  try {
    return JSON.parse(text).issuer
  } catch {
    return undefined
  }
}

async function fetchJson(url: string): Promise<unknown> {
  const response = await fetch(url, { cache: 'no-cache', headers: { Accept: 'application/json' } })
  if (!response.ok) throw new Error(String(response.status))
  return response.json()
}

/** The path of the list that the document names. Lists of other hosts are not fetched. */
function listUrlIn(text: string): string | null {
  const prefix = '/standard/v1/status-lists/score-vc-revocation/'
  const id = new RegExp(`"https?://[^"/]+${prefix}([a-z2-7]{10})"`).exec(text)?.[1]
  return id === undefined ? null : `${prefix}${id}?proof=eddsa-jcs-2022`
}

function show(row: string, state: string): void {
  for (const mark of document.querySelectorAll<HTMLElement>(`[data-row="${row}"] [data-state]`))
    mark.hidden = mark.dataset.state !== state
}

function note(row: string, text: string): void {
  const element = document.querySelector(`[data-row="${row}"] [data-note]`)
  if (element !== null) element.textContent = text
}

function tell(text: string): void {
  const element = document.querySelector('[data-agreement]')
  if (element !== null) element.textContent = text
}

function showDisagreement(box: HTMLElement): void {
  box.dataset.tone = 'negative'
  for (const [selector, text] of [
    ['#verdict-title', 'Service and browser disagree'],
    [
      '[data-sentence]',
      'Do not rely on this credential. Compare both columns, and ask the issuer.',
    ],
    ['[data-agreement]', ''],
  ] as const) {
    const element = document.querySelector(selector)
    if (element !== null) element.textContent = text
  }
  for (const element of box.querySelectorAll<HTMLElement>('[data-facts]')) element.hidden = true
  for (const seal of box.querySelectorAll<HTMLElement>('[data-seal]'))
    seal.hidden = seal.dataset.seal !== 'negative'
}

function showWork({ work: { list } }: Verdict): void {
  const step = document.querySelector<HTMLElement>('#list-step')
  if (step === null || list === undefined) return
  step.hidden = false
  const texts = {
    sentence: `Bit ${list.index.toLocaleString('en-US')} of the signed list is ${list.isRevoked ? 1 : 0}. A 1 means revoked.`,
    url: list.url,
    published: list.validFrom,
    entries: list.length.toLocaleString('en-US'),
  }
  for (const [name, text] of Object.entries(texts)) {
    const element = step.querySelector(`[data-list="${name}"]`)
    if (element !== null) element.textContent = text
  }
}
