/** Pure: the views of the verify page. */
import { deflateRawSync } from 'node:zlib'
import { canonicalJson } from '../../platform/json/canonical-json.ts'
import { isJsonObject } from '../../platform/json/json-object.ts'
import type { Origin } from '../../score-credentials/payload.ts'
import type { VerifyResult } from '../../score-credentials/schema.ts'
import { inconclusive, type Rows, rowsOf, type State } from '../assets/verdict-rows.ts'
import { code } from '../components.ts'
import { attributes, type Html, html, type Part } from '../html.ts'
import { type IconName, icon } from '../icons.ts'
import type { PublicView } from '../public-page.ts'
import { qrBytesMax, qrCode } from '../qr.ts'
import { count, dateTag, fullTime, timeTag } from '../text.ts'

export interface FormView {
  /** The address of this deployment, and its former ones. */
  origins: readonly Origin[]
  /** The demo's documents, by the words of their buttons. Empty: no demo. */
  demos: readonly { name: string; word: string }[]
  /** Name of the demo document that the page shows. */
  demo?: string | undefined
  /** The fault of the input. */
  problem?: string
  text?: string
}

/** The host of an issuer follows, and the name of its DID document. */
export const issuerKeysPath = '/verify/issuers'

const title = 'Check a credential'
const description =
  'Check a score credential: by the service, and again by your own browser. Nothing is stored.'

const page = {
  current: '/verify',
  description,
  scripts: ['verify-page.ts'],
  usesCamera: true,
  alternates: [{ path: '/api/v1/score-vc/verify', type: 'application/json' }],
} as const satisfies Partial<PublicView>

const head = html`<div class="page-head">
<h1>${title}</h1>
<p class="lead">This service checks it, and your browser checks it again on its own. Nothing is stored.</p>
</div>`

export function startView(form: FormView): PublicView {
  const main = html`${head}
<section class="card roomy" aria-labelledby="input-title"><div class="card-head"><h2 id="input-title">Credential</h2></div>${inputForm(form)}</section>
${explanation}`
  return { ...page, title: form.problem === undefined ? title : `Error: ${title}`, main }
}

function inputForm({ origins, demos, demo, problem, text = '' }: FormView): Html {
  const described = problem === undefined ? 'document-help' : 'input-problem document-help'
  return html`<form class="card-body stack" id="check" method="post" action="/verify" data-issuers="${origins.map(({ issuer }) => issuer).join(' ')}">
<div class="field"><label for="document">Credential (JSON)</label>
<textarea class="textarea" id="document" name="document" rows="6" spellcheck="false" autocomplete="off" aria-describedby="${described}" aria-invalid="${problem === undefined ? 'false' : 'true'}">
${text}</textarea>
<p class="error" id="input-problem" role="alert" tabindex="-1"${attributes({ hidden: problem === undefined })}>${problem}</p>
<p class="help" id="document-help">Paste the document as you received it. A link to a check, or to the status of a credential, works as well.</p></div>
<div class="row stretch"><button class="button primary large" type="submit">Check credential</button><label class="button large" data-needs-script hidden>${icon('file')}Choose a file<input class="hidden-visually" type="file" id="file" accept=".json,application/json,application/ld+json"></label><button class="button large" type="button" id="scan" data-needs-script hidden>${icon('qr')}Scan a QR code</button></div>
<div class="camera stack" id="camera" hidden></div>
${
  demos.length > 0 &&
  html`<div class="row small"><span class="muted">Or try a demo document:</span>${demos.map(({ name, word }) => html`<a class="tag" href="/verify/demo/${name}"${attributes({ 'aria-current': name === demo && 'page' })}>${word}</a>`)}</div>`
}
</form>`
}

const explanation = html`<section class="card"><div class="card-head"><h2>What a check says</h2></div><div class="card-body stack tight small"><p>A valid credential proves who issued the score, that nobody changed it, and that it is not revoked.</p><p class="muted">It does not forecast how a person will do in a job. Read the range first: its lower end is what the evidence supports at least.</p><p><a href="/docs/check-a-credential">How verification works</a></p></div></section>`

interface Outcome {
  tone: 'positive' | 'negative' | 'warning' | 'info'
  word: string
}

function outcomeOf({ valid, reason = '' }: VerifyResult): Outcome {
  if (valid) return { tone: 'positive', word: 'Valid' }
  if (reason === 'expired') return { tone: 'warning', word: 'Expired' }
  if (inconclusive.has(reason)) return { tone: 'info', word: 'Could not check' }
  return { tone: 'negative', word: `Not valid${reasonWords[reason] ?? ''}` }
}

const reasonWords: Readonly<Record<string, string>> = {
  malformed_credential: ': no score credential',
  ambiguous_json: ': ambiguous JSON',
  unsupported_proof: ': unknown proof',
  issuer_mismatch: ': another issuer',
  unknown_key: ': unknown key',
  key_revoked: ': key revoked',
  signature_invalid: ': changed',
  not_yet_valid: ': not yet',
  revoked: ': revoked',
  status_unknown: ': not registered',
}

const sealIcons: Record<Outcome['tone'], IconName> = {
  positive: 'check',
  negative: 'cross',
  warning: 'clock',
  info: 'help',
}

export interface ResultView extends Omit<FormView, 'problem'> {
  /** The document as received. */
  text: string
  /** Null if the document is no JSON object, or is ambiguous: then it has no single meaning. */
  document: Readonly<Record<string, unknown>> | null
  result: VerifyResult
  publicUrl: string
  host: string
  now: Date
}

export function resultView(view: ResultView): PublicView {
  const { text, result, host, now, origins, demos, demo } = view
  const source = demos.find(({ name }) => name === demo)
  const { tone, word } = outcomeOf(result)
  const rows = rowsOf(result)
  const { valid, reason, issuerMatch, signatureValid, revocation } = result
  const checked = JSON.stringify({ valid, reason, issuerMatch, signatureValid, revocation })
  const sentence = valid
    ? `Issued by ${hostOf(result.credential?.issuer)}, unchanged since, and not revoked.`
    : result.message
  const main = html`${head}
<section class="card no-print" aria-label="Document"><div class="row apart card-body"><div class="row">${icon('file', 'md')}<div>${source !== undefined && html`<p class="strong">Demo document: ${source.word.toLowerCase()}</p>`}<p class="small muted">${count(Buffer.byteLength(text))} bytes, checked ${timeTag(now, now)}</p></div></div><a class="button" href="#another">Check another credential</a></div></section>
<div class="columns main-side">
<div class="stack loose">
<section class="verdict" data-tone="${tone}" data-verdict="${checked}" data-reason="${reason ?? 'valid'}" aria-labelledby="verdict-title">
<div class="verdict-head"><span class="seal">${seals(tone)}</span>
<div role="status"><h2 id="verdict-title">${word}</h2><p><span data-sentence>${sentence}</span> <span data-agreement></span></p></div></div>
${claims(view)}
${checksTable(rows, result)}
</section>
${work(view)}
</div>
<aside class="stack loose" aria-label="Share and explain">
${share(view)}
${explanation}
</aside>
</div>
<section class="card roomy no-print" id="another" aria-labelledby="another-title"><div class="card-head"><h2 id="another-title">Check another credential</h2></div>${inputForm({ origins, demos, demo })}</section>
<p class="print-only small">Checked on ${fullTime(now)} by ${host}, and in the browser that printed this page.${typeof result.presented.payloadSha256 === 'string' && html` Digest of the document: <span class="break">${result.presented.payloadSha256}</span>.`}</p>`
  return { ...page, title: `${word}: ${title.toLowerCase()}`, main, isIndexed: false }
}

/** Returns the host that a did:web names. */
function hostOf(issuer: unknown): string {
  return decodeURIComponent(String(issuer).replace('did:web:', ''))
}

/** The seal, and the one that a script shows if service and browser disagree. */
function seals(tone: Outcome['tone']): Part {
  const tones = new Set<Outcome['tone']>([tone, 'negative'])
  return [...tones].map(
    (one) =>
      html`<span data-seal="${one}"${attributes({ hidden: one !== tone })}>${icon(sealIcons[one])}</span>`,
  )
}

function claims({ document, result: { credential }, origins, now }: ResultView): Part {
  if (credential === undefined || document === null) return null
  const subject = String(credential.subject)
  const name = decodeName(subject)
  // The profile of a former address has the same path at the present one.
  const isOurs = origins.some(({ url }) => subject.startsWith(`${url}/u/`))
  const { validUntil, credentialSubject } = document
  const evidence = isJsonObject(credentialSubject) ? credentialSubject.evidenceCount : undefined
  const rows: [string, Part][] = [
    ['Holder', isOurs ? html`<a href="${new URL(subject).pathname}">${name}</a>` : name],
    ['Score', html`<strong>${Number(credential.score)}</strong>, ${String(credential.scoreBand)}`],
    ['Range', `${Number(credential.confidenceLow)} to ${Number(credential.confidenceHigh)}`],
    ['Issued', timeTag(new Date(String(credential.issuedAt)), now)],
  ]
  if (typeof validUntil === 'string') rows.push(['Valid until', dateTag(new Date(validUntil))])
  if (typeof evidence === 'number') rows.push(['Evidence', `${count(evidence)} items`])
  return html`<div class="verdict-body" data-facts><dl class="facts three">${rows.map(([label, value]) => html`<div><dt>${label}</dt><dd class="break">${value}</dd></div>`)}</dl></div>`
}

function decodeName(subject: string): string {
  return subject.slice(subject.lastIndexOf('/') + 1)
}

/** Each check, and what it found by its state. */
const checks = [
  [
    'issuer',
    'Issuer',
    {
      passed: 'The document names an issuer that this service answers for.',
      failed: 'The document names no issuer that this service answers for.',
      unknown: 'The document names no issuer that could be read.',
    },
  ],
  [
    'signature',
    'Signature',
    {
      passed: 'Not one byte has changed since it was signed.',
      failed: 'No key of the issuer made this signature for this document.',
      unknown: 'The signature was not compared.',
    },
  ],
  [
    'revocation',
    'Revocation',
    {
      passed: 'The issuer has not taken it back.',
      failed: 'The issuer has taken it back.',
      unknown: 'No registry said whether it was taken back.',
    },
  ],
] as const satisfies [keyof Rows, string, Record<State, string>][]

const marks: Record<State, { tone: string; name: IconName; word: string }> = {
  passed: { tone: 'positive', name: 'check', word: 'Passed' },
  failed: { tone: 'negative', name: 'cross', word: 'Failed' },
  unknown: { tone: 'info', name: 'help', word: 'Could not check' },
}

function mark(state: State, word = marks[state].word): Html {
  const { tone, name } = marks[state]
  return html`<span class="mark ${tone}">${icon(name)}${word}</span>`
}

const verdictWords: Record<State, string> = {
  passed: 'Valid',
  failed: 'Not valid',
  unknown: 'Could not check',
}

/** Every state of a cell that the browser fills. A script shows one. */
function browserCell(row: keyof Rows): Html {
  const states = (['passed', 'failed', 'unknown'] as const).map(
    (state) =>
      html`<span data-state="${state}" hidden>${mark(state, row === 'verdict' ? verdictWords[state] : marks[state].word)}</span>`,
  )
  return html`<td data-row="${row}"><span data-state="none" class="muted">Not checked</span>${states}<span class="sub" data-note></span></td>`
}

function checksTable(rows: Rows, { revocation, notes, reason }: VerifyResult): Html {
  const registry =
    reason === 'status_unknown'
      ? 'Not in the registry'
      : revocation.checked && notes.includes('status_source:live') && 'Live registry'
  return html`<table class="table checks">
<caption class="hidden-visually">Three checks, made by the service and by this browser</caption>
<thead><tr><th scope="col">Check</th><th scope="col">Service</th><th scope="col">This browser</th></tr></thead>
<tbody>${checks.map(
    ([row, name, texts]) =>
      html`<tr><th scope="row">${name}<span class="sub wide-only">${texts[rows[row]]}</span></th><td>${mark(rows[row])}${row === 'revocation' && registry && html`<span class="sub">${registry}</span>`}</td>${browserCell(row)}</tr>\n`,
  )}</tbody>
<tfoot><tr><th scope="row">Verdict</th><td>${mark(rows.verdict, verdictWords[rows.verdict])}</td>${browserCell('verdict')}</tr></tfoot>
</table>`
}

function work({ text, document, result: { presented, issuerMatch } }: ResultView): Html {
  const { proof, ...payload } = document ?? {}
  const { payloadSha256, optionsSha256, verificationMethod } = presented
  const proofValue = isJsonObject(proof) ? proof.proofValue : undefined
  const value = (label: string, shown: unknown) =>
    shown !== undefined &&
    html`<div><dt>${label}</dt><dd class="mono break">${typeof shown === 'string' ? shown : JSON.stringify(shown)}</dd></div>`
  return html`<section class="card roomy"><details class="fold"><summary>Show the work</summary><div class="card-body"><ol class="steps">
<li><h3>Document</h3>${code({ id: 'presented', label: 'As received', text, isWrapped: true, isShort: true })}</li>
${
  payloadSha256 !== undefined &&
  html`<li><h3>Canonical text</h3><p class="muted small">The credential without its proof, in canonical JSON (RFC 8785).</p>${code({ id: 'canonical', label: 'Canonical JSON', text: canonicalJson(payload), isWrapped: true, isShort: true })}</li>
<li><h3>Two digests</h3><p class="muted small">The signature covers both, one after the other: 64 bytes.</p><dl class="facts rows">${value('SHA-256 of the proof options', optionsSha256)}${value('SHA-256 of the canonical text', payloadSha256)}</dl></li>
<li><h3>Key and signature</h3><p class="muted small">Ed25519.${issuerMatch && html` The keys of the issuer are in its <a href="${`${issuerKeysPath}/${String(presented.issuer).replace('did:web:', '')}/did.json`}">DID document</a>.`}</p><dl class="facts rows">${value('Verification method', verificationMethod)}${value('Signature', proofValue)}</dl></li>`
}
<li id="list-step" hidden><h3>Revocation list</h3><p class="muted small" data-list="sentence"></p><dl class="facts rows"><div><dt>List</dt><dd class="mono break" data-list="url"></dd></div><div><dt>Published</dt><dd data-list="published"></dd></div><div><dt>Entries</dt><dd data-list="entries"></dd></div></dl></li>
</ol></div></details></section>`
}

/** The link carries the document behind the # sign, which no browser sends to a server. */
function share({ document, publicUrl }: ResultView): Part {
  if (document === null) return null
  const packed = deflateRawSync(JSON.stringify(document), { level: 9 }).toString('base64url')
  const link = `${publicUrl}/verify#z=${packed}`
  if (link.length > qrBytesMax) return null
  return html`<section class="card"><div class="card-head"><h2>Share this check</h2></div><div class="card-body stack">${qrCode(link, 'QR code of the link to this check', 'dense')}<p class="muted small">The link carries the credential after the # sign, so it never reaches a server log.</p><div class="row no-print"><button class="button" type="button" data-copy="link" hidden>${icon('link')}<span data-label>Copy link</span></button><button class="button" type="button" data-print data-needs-script hidden>${icon('print')}Print</button></div><p class="hidden-visually" id="link">${link}</p></div></section>`
}

/** The state of a credential of which the visitor has only the URL of its status. */
export function statusView(state: StatusState, form: FormView): PublicView {
  const { tone, word, sentence } = statusWords[state]
  const main = html`${head}
<section class="verdict" data-tone="${tone}" data-reason="status ${state}" aria-labelledby="verdict-title"><div class="verdict-head"><span class="seal">${icon(sealIcons[tone])}</span><div role="status"><h2 id="verdict-title">${word}</h2><p>${sentence}</p></div></div></section>
<section class="card roomy no-print" aria-labelledby="another-title"><div class="card-head"><h2 id="another-title">Check a whole credential</h2></div>${inputForm(form)}</section>`
  return { ...page, title: `${word}: status of a credential`, main, isIndexed: false }
}

type StatusState = 'active' | 'revoked' | 'unknown' | 'unavailable'

const statusWords: Record<StatusState, Outcome & { sentence: string }> = {
  active: {
    tone: 'info',
    word: 'Not revoked',
    sentence: 'A credential with this status exists. Paste the whole credential to check the rest.',
  },
  revoked: {
    tone: 'negative',
    word: 'Revoked',
    sentence: 'The issuer revoked the credential with this status.',
  },
  unknown: {
    tone: 'negative',
    word: 'Unknown status',
    sentence: 'No credential of this service has this status.',
  },
  unavailable: {
    tone: 'info',
    word: 'Could not check',
    sentence: 'The registry does not answer. Try again in a minute.',
  },
}
