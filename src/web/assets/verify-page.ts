/**
 * The verify page: checks the shown document in this browser, beside the service, and fills the
 * form from files, a camera or the fragment of the link.
 */
import { base64UrlDecode, inflate } from '../../../packages/sdk/src/bytes.ts'
import { type Verdict, verifyCredential } from '../../../packages/sdk/src/verify.ts'
import { type Checked, compare, rowsOf } from './verdict-rows.ts'

const bytesMax = 262_144

const form = document.querySelector<HTMLFormElement>('#check')
const field = document.querySelector<HTMLTextAreaElement>('#document')
const problem = document.querySelector<HTMLElement>('#input-problem')
const verdictBox = document.querySelector<HTMLElement>('[data-verdict]')

for (const element of document.querySelectorAll<HTMLElement>('[data-needs-script]'))
  element.hidden = false
document.querySelector('[data-print]')?.addEventListener('click', () => print())

function say(text: string): void {
  if (problem === null) return
  problem.textContent = text
  problem.hidden = text === ''
  if (text !== '') problem.focus()
}

function check(text: string): void {
  if (form === null || field === null) return
  const { length } = new TextEncoder().encode(text)
  if (length > bytesMax) {
    say(
      `The document has ${length.toLocaleString('en-US')} bytes. A credential has at most 262,144.`,
    )
    return
  }
  say('')
  field.value = text
  form.requestSubmit()
}

async function checkFile(file: File): Promise<void> {
  if (file.size > bytesMax) {
    say(
      `${file.name} has ${file.size.toLocaleString('en-US')} bytes. A credential has at most 262,144.`,
    )
    return
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer())
    if (text.includes('\0')) throw new TypeError('binary')
    check(text)
  } catch {
    say(`${file.name} is not a text file. Choose the JSON file of a credential.`)
  }
}

/** Checks the document in a link, or says why there is none. */
export async function checkLink(link: string): Promise<void> {
  const packed = base64UrlDecode(link.slice(link.indexOf('#z=') + 3))
  const bytes = packed === null ? null : await inflate(packed, 'deflate-raw', bytesMax)
  if (bytes === null)
    say('The link holds no credential: it is cut off, damaged, or unpacks to over 262,144 bytes.')
  else check(new TextDecoder().decode(bytes))
}

async function openCamera(): Promise<void> {
  const box = document.querySelector<HTMLElement>('#camera')
  if (box === null) return
  const { scan } = await import('./camera.ts')
  try {
    const text = await scan(box)
    if (text === null) return
    if (text.includes('#z=')) await checkLink(text)
    else if (text.trimStart().startsWith('{')) check(text)
    else say('This QR code holds no credential. Scan the code of a credential or of its check.')
  } catch {
    say('The camera cannot be used. Allow it for this page, or paste the credential.')
  }
}

document
  .querySelector<HTMLInputElement>('#file')
  ?.addEventListener('change', ({ currentTarget }) => {
    const file = (currentTarget as HTMLInputElement).files?.[0]
    if (file !== undefined) void checkFile(file)
  })
document.querySelector('#scan')?.addEventListener('click', () => void openCamera())
document.addEventListener('dragover', (event) => event.preventDefault())
document.addEventListener('drop', (event) => {
  event.preventDefault()
  const file = event.dataTransfer?.files[0]
  const text = event.dataTransfer?.getData('text')
  if (file !== undefined) void checkFile(file)
  else if (text) check(text)
})
form?.addEventListener('submit', (event) => {
  const { length } = new TextEncoder().encode(field?.value ?? '')
  if (length <= bytesMax) return
  event.preventDefault()
  say(`The document has ${length.toLocaleString('en-US')} bytes. A credential has at most 262,144.`)
})
const readFragment = (): void => {
  if (!location.hash.startsWith('#z=')) return
  const { hash } = location
  // A step back must not check again.
  history.replaceState(null, '', location.pathname)
  void checkLink(hash)
}
addEventListener('hashchange', readFragment)
readFragment()

if (verdictBox !== null) void checkShown(verdictBox)

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
    tell('Only the service checked: this form of proof needs RDF.')
  else if (outcome === 'alone')
    tell('Only the service could complete the check: its registry is newer than the signed list.')
  else showDisagreement(box)
  box.dataset.outcome = outcome
  box.dataset.browser = verdict.reason ?? 'valid'
}

/** Null: neither the keys nor WebCrypto are there. */
async function checkInBrowser(text: string): Promise<Verdict | null> {
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
  const issuers = form?.dataset.issuers?.split(' ') ?? []
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
