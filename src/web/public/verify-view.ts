/** Pure: the views of the verify page. */
import { deflateRawSync } from 'node:zlib'
import type { Origin } from '../../credentials/payload.ts'
import type { VerifyResult } from '../../credentials/schema.ts'
import { canonicalJson } from '../../platform/json/canonical-json.ts'
import { isJsonObject } from '../../platform/json/closed-object.ts'
import { scoreBands } from '../../standard/bands.ts'
import type { CandidateDetail } from '../../workers/candidates/schema.ts'
import type { State } from '../assets/verdict-rows.ts'
import { scoreChart } from '../chart.ts'
import { code } from '../components.ts'
import { attributes, type Html, html, type Part } from '../html.ts'
import { type IconName, icon } from '../icons.ts'
import { avatar } from '../layout.ts'
import type { PublicView } from '../public-page.ts'
import { qrCode } from '../qr.ts'
import { count, dateTag, fullTime, timeTag } from '../text.ts'
import { type VerdictTone, type VerdictView, verdictView } from './verdict-view.ts'

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

const explanation = html`<section class="card"><div class="card-head row apart"><h2>What a check says</h2></div><div class="card-body stack tight small"><p>A valid credential proves who issued the score, that nobody changed it, and that it is not revoked.</p><p class="muted">It does not forecast how a person will do in a job. Read the range first: its lower end is what the evidence supports at least.</p><p><a href="/docs/check-a-credential">How verification works</a></p></div></section>`

export function startView(form: FormView): PublicView {
  const main = html`<div class="stack tight">
<h1>${title}</h1>
<p class="lead">This service checks it, and your browser checks it again on its own. Nothing is stored.</p>
</div>
<section class="card roomy" aria-labelledby="input-title"><div class="card-head row apart"><h2 id="input-title">Credential</h2></div>${inputForm(form)}</section>
<noscript><p class="small muted">A link with <code>#z=</code> needs JavaScript, because its content never reaches the server. Paste the document instead.</p></noscript>
${explanation}`
  return {
    ...page,
    title: form.problem === undefined ? title : `Error: ${title}`,
    main,
    isIndexed: form.problem === undefined,
  }
}

function inputForm({ origins, demos, demo, problem, text = '' }: FormView, isShort = false): Html {
  const described = problem === undefined ? 'document-help' : 'input-problem document-help'
  return html`<form class="card-body stack" id="check" method="post" action="/verify" data-issuers="${origins.map(({ issuer }) => issuer).join(' ')}">
<div class="field"><label for="document">Link, handle or document</label>
<textarea class="textarea${isShort && ' short'}" id="document" name="document" rows="${isShort ? 2 : 6}" spellcheck="false" autocomplete="off" aria-describedby="${described}" aria-invalid="${problem === undefined ? 'false' : 'true'}">
${text}</textarea>
<p class="error" id="input-problem" role="alert" tabindex="-1"${attributes({ hidden: problem === undefined })}>${problem}</p>
<p class="help small muted" id="document-help">A profile link, a badge link, @handle, or the JSON of a credential.<span data-needs-script hidden> You can also drop a file anywhere on this page.</span></p></div>
<div class="row stretch"><button class="button primary large" type="submit">Check credential</button><label class="button large" data-needs-script hidden>${icon('file')}Choose a file<input class="hidden-visually" type="file" id="file" accept=".json,.svg,.png,application/json,application/ld+json,image/svg+xml,image/png"></label><button class="button large" type="button" id="scan" data-needs-script hidden>${icon('qr')}Scan a QR code</button></div>
<div class="camera stack" id="camera" hidden></div>
${
  demos.length > 0 &&
  html`<div class="row small"><span class="muted">Or try a demo document:</span>${demos.map(({ name, word }) => html`<a class="tag" href="/verify/demo/${name}"${attributes({ 'aria-current': name === demo && 'page' })}>${word}</a>`)}</div>`
}
</form>`
}

const sealIcons: Record<VerdictTone, IconName> = {
  positive: 'check',
  negative: 'cross',
  warning: 'clock',
  info: 'help',
}

/** The subject of a credential, as this service knows it now. */
export interface Holder {
  username: string
  /** Null: no such profile is public. */
  detail: CandidateDetail | null
  /** Whether the document is the person's current credential. */
  isCurrent: boolean
}

export interface ResultView extends Omit<FormView, 'problem'> {
  /** The document as received. */
  text: string
  /** Says how the document was found in the input. */
  note?: string | undefined
  /** Null if the document is no JSON object, or is ambiguous: then it has no single meaning. */
  document: Readonly<Record<string, unknown>> | null
  result: VerifyResult
  /** Null: the document is not genuine, or its subject is not of this service. */
  holder: Holder | null
  publicUrl: string
  host: string
  operatorName: string | null
  /** Whether search engines may list profiles. */
  areProfilesIndexed: boolean
  now: Date
}

export function resultView(view: ResultView): PublicView {
  const { result, host, now, origins, demos, demo, note, holder, publicUrl } = view
  const verdict = verdictView(view)
  const { tone, word, sentence } = verdict
  const { valid, reason, issuerMatch, signatureValid, revocation } = result
  const checked = JSON.stringify({ valid, reason, issuerMatch, signatureValid, revocation })
  const person = shownPerson(view)
  const tab = person === null ? `${word}: ${title.toLowerCase()}` : `${word}: score of ${person}`
  const main = html`${resultHead}
<div class="columns main-side">
<div class="stack loose">
<section class="card verdict" data-tone="${tone}" data-verdict="${checked}" data-reason="${reason ?? 'valid'}" aria-labelledby="verdict-title">
<div class="verdict-head"><span class="seal">${seals(tone)}</span>
<div role="status"><h2 id="verdict-title" tabindex="-1">${word}</h2><p><span data-sentence>${sentence}</span> <span data-agreement></span></p>${note !== undefined && html`<p class="small">${note}</p>`}</div></div>
${claims(view, verdict)}
${checksTable(verdict, result)}
</section>
</div>
<aside class="stack loose" aria-label="${valid ? 'Compare and share' : 'What to do'}">
${valid ? compareCard(result) : adviceCard(reason, host)}
${share(view)}
</aside>
</div>
${work(view)}
<section class="card roomy no-print" id="another" aria-labelledby="another-title"><div class="card-head row apart"><h2 id="another-title">Check another credential</h2></div>${inputForm({ origins, demos, demo }, true)}</section>
<p class="print-only small">Checked on ${fullTime(now)} by ${host}, and in the browser that printed this page.${typeof result.presented.payloadSha256 === 'string' && html` Digest of the document: <span class="break">${result.presented.payloadSha256}</span>.`}</p>`
  const preview = person !== null && holder?.isCurrent === true && previewOf(view, tab)
  return {
    ...page,
    title: tab,
    main,
    isIndexed: false,
    head:
      preview &&
      html`${preview}<link rel="canonical" href="${personLink(publicUrl, holder.username)}">\n`,
  }
}

const resultHead = html`<div class="row apart"><h1>${title}</h1><a class="button no-print" href="#another">${icon('plus')}Check another</a></div>`

/** The name of the holder: that of the live profile, and only if the credential is valid. */
function shownPerson({ result, holder }: Pick<ResultView, 'result' | 'holder'>): string | null {
  return result.valid && holder !== null ? (holder.detail?.displayName ?? null) : null
}

/** For a message that shows a preview of the link. */
function previewOf({ result, areProfilesIndexed }: ResultView, tab: string): Html {
  const score =
    areProfilesIndexed &&
    result.credential !== undefined &&
    `Score ${Number(result.credential.score)}. `
  return html`<meta property="og:title" content="${tab}">
<meta property="og:description" content="${score}The link checks the current credential again.">
`
}

/** The seal, and the one that a script shows if service and browser disagree. */
function seals(tone: VerdictTone): Part {
  const tones = new Set<VerdictTone>([tone, 'negative'])
  return [...tones].map(
    (one) =>
      html`<span data-seal="${one}"${attributes({ hidden: one !== tone })}>${icon(sealIcons[one])}</span>`,
  )
}

/** Person, issuer, score and facts of a genuine credential. */
function claims(view: ResultView, { issuerHost }: VerdictView): Part {
  const { document, result, holder, operatorName, now } = view
  const { credential, notes, valid } = result
  if (credential === undefined || document === null) return null
  const { validUntil, credentialSubject } = document
  const evidence = isJsonObject(credentialSubject) ? credentialSubject.evidenceCount : undefined
  const rows: [string, Part][] = [['Issued', timeTag(new Date(String(credential.issuedAt)), now)]]
  if (typeof validUntil === 'string') rows.push(['Valid until', dateTag(new Date(validUntil))])
  if (typeof evidence === 'number') rows.push(['Evidence', `${count(evidence)} items`])
  if (valid) rows.push(['Newer credential', newer(notes, holder)])
  const [score, low, high] = [
    Number(credential.score),
    Number(credential.confidenceLow),
    Number(credential.confidenceHigh),
  ]
  const label = scoreBands.find(({ band }) => band === credential.scoreBand)?.label
  return html`<div data-facts><div class="verdict-body parties">
${party('Holder', ...holderParts(view))}
${party('Issuer', html`<span class="crest">${icon('building')}</span>`, operatorName ?? issuerHost, operatorName !== null && issuerHost)}
</div>
<div class="verdict-score stack"><p class="score-line row"><span class="value">${count(score)}</span><span class="stack tight"><span class="band">${label ?? String(credential.scoreBand)}</span><span class="muted small">range ${count(low)} to ${count(high)}</span></span></p>
${scoreChart({ score, low, high, bands: scoreBands })}</div>
<div class="verdict-body"><dl class="facts">${rows.map(([name, value]) => html`<div><dt>${name}</dt><dd class="break">${value}</dd></div>`)}</dl></div></div>`
}

function party(role: string, sign: Html, name: Part, more: Part): Html {
  return html`<div class="party">${sign}<div><span class="muted small">${role}</span><strong class="break" dir="auto">${name}</strong><span class="muted small break">${more}</span></div></div>`
}

function holderParts(view: ResultView): [sign: Html, name: Part, more: Part] {
  const { holder, result } = view
  const subject = String(result.credential?.subject)
  const username = holder?.username ?? subject.slice(subject.lastIndexOf('/') + 1)
  const person = shownPerson(view)
  // A hidden profile answers like none, so nothing links to it.
  const name =
    holder?.detail == null
      ? `@${username}`
      : html`<a href="/u/${username}">${person ?? `@${username}`}</a>`
  if (person === null) return [avatar(username), name, null]
  const title = holder?.detail?.title
  return [avatar(person), name, html`${title != null && html`<bdi>${title}</bdi> · `}@${username}`]
}

function newer(notes: readonly string[], holder: Holder | null): Part {
  if (!notes.includes('superseded')) return 'None'
  return holder?.detail == null
    ? 'Yes'
    : html`<a href="/verify?of=@${holder.username}">Check the newer one</a>`
}

const marks: Record<State, { tone: string; name: IconName; word: string }> = {
  passed: { tone: 'positive', name: 'check', word: 'Passed' },
  failed: { tone: 'negative', name: 'cross', word: 'Failed' },
  unknown: { tone: 'info', name: 'help', word: 'Could not check' },
  nothing: { tone: 'neutral', name: 'dash', word: 'Proves nothing' },
}

function mark(state: State, word = marks[state].word): Html {
  const { tone, name } = marks[state]
  return html`<span class="mark" data-tone="${tone}">${icon(name)}${word}</span>`
}

const verdictWords: Record<State, string> = {
  passed: 'Valid',
  failed: 'Not valid',
  unknown: 'Could not check',
  nothing: 'Not valid',
}

/** Every state of a cell that the browser fills. A script shows one. */
function browserCell(row: string): Html {
  const states = (['passed', 'failed', 'unknown', 'nothing'] as const).map(
    (state) =>
      html`<span data-state="${state}" hidden>${mark(state, row === 'verdict' ? verdictWords[state] : marks[state].word)}</span>`,
  )
  return html`<td data-row="${row}"><span data-state="none" class="muted">Not checked</span>${states}<span class="sub" data-note></span></td>`
}

function checksTable({ rows, verdict }: VerdictView, { revocation, notes }: VerifyResult): Html {
  const isLive = revocation.checked && notes.includes('status_source:live')
  return html`<table class="table checks">
<caption class="hidden-visually">Three checks, made by the service and by this browser</caption>
<thead><tr><th scope="col">Check</th><th scope="col">Service</th><th scope="col">This browser</th></tr></thead>
<tbody>${rows.map(
    ({ row, title: name, state, sentence }) =>
      html`<tr><th scope="row">${name}<span class="sub" data-check="${state}">${sentence}</span></th><td>${mark(state)}${row === 'revocation' && isLive && state !== 'nothing' && html`<span class="sub">Registry, now</span>`}</td>${browserCell(row)}</tr>\n`,
  )}</tbody>
<tfoot><tr><th scope="row">Verdict</th><td>${mark(verdict, verdictWords[verdict])}</td>${browserCell('verdict')}</tr></tfoot>
</table>`
}

function compareCard({ credential }: VerifyResult): Html {
  return html`<section class="card"><div class="card-head row apart"><h2>Is this the person?</h2></div><div class="card-body stack tight small"><p>A copy proves nothing about its sender. Compare the name with a document of the person, or ask the person to open their own page.</p><p class="muted">Read the range first: the evidence supports at least ${count(credential?.confidenceLow ?? 0)}. A score is no forecast.</p><p><a href="/docs/check-a-credential">How verification works</a></p></div></section>`
}

function adviceCard(reason: string | undefined, host: string): Html {
  return html`<section class="card"><div class="card-head row apart"><h2>What to do</h2></div><div class="card-body stack tight small"><p>Ask the sender for the original file, or for a link to their page at ${host}.</p><p class="muted">Copying a document out of a message can damage it. A damaged file and a forged one look the same here.</p><p><a href="/docs/verify-a-credential#reasons">What <code>${reason}</code> means</a></p></div></section>`
}

function work({ text, document, result: { presented, issuerMatch } }: ResultView): Html {
  const { proof, ...payload } = document ?? {}
  const { payloadSha256, optionsSha256, verificationMethod } = presented
  const proofValue = isJsonObject(proof) ? proof.proofValue : undefined
  const value = (label: string, shown: unknown) =>
    shown !== undefined &&
    html`<div><dt>${label}</dt><dd class="mono break">${typeof shown === 'string' ? shown : JSON.stringify(shown)}</dd></div>`
  return html`<section class="card roomy no-print"><details class="fold"><summary>Show the work</summary><div class="card-body"><ol class="stack loose">
<li class="stack"><h3>1. Document</h3>${code({ id: 'presented', label: 'As received', text, isWrapped: true, isShort: true })}</li>
${
  payloadSha256 !== undefined &&
  html`<li class="stack"><h3>2. Canonical text</h3><p class="muted small">The credential without its proof, in canonical JSON (RFC 8785).</p>${code({ id: 'canonical', label: 'Canonical JSON', text: canonicalJson(payload), isWrapped: true, isShort: true })}</li>
<li class="stack"><h3>3. Two digests</h3><p class="muted small">The signature covers both, one after the other: 64 bytes.</p><dl class="facts rows">${value('SHA-256 of the proof options', optionsSha256)}${value('SHA-256 of the canonical text', payloadSha256)}</dl></li>
<li class="stack"><h3>4. Key and signature</h3><p class="muted small">Ed25519.${issuerMatch && html` The keys of the issuer are in its <a href="${`${issuerKeysPath}/${String(presented.issuer).replace('did:web:', '')}/did.json`}">DID document</a>.`}</p><dl class="facts rows">${value('Verification method', verificationMethod)}${value('Signature', proofValue)}</dl></li>`
}
<li class="stack" id="list-step" hidden><h3>5. Revocation list</h3><p class="muted small" data-list="sentence"></p><dl class="facts rows"><div><dt>List</dt><dd class="mono break" data-list="url"></dd></div><div><dt>Published</dt><dd data-list="published"></dd></div><div><dt>Entries</dt><dd data-list="entries"></dd></div></dl></li>
</ol></div></details></section>`
}

function personLink(publicUrl: string, username: string): string {
  return `${publicUrl}/verify?of=@${username}`
}

/** In characters. Longer addresses are cut by some programs. */
const linkLengthMax = 8_000

/**
 * Two links: to the current credential of the person, and to exactly this document. The second one
 * carries the document behind the # sign, which no browser sends to a server.
 */
function share({ document, publicUrl, holder, result }: ResultView): Part {
  if (document === null) return null
  const packed = deflateRawSync(JSON.stringify(document), { level: 9 }).toString('base64url')
  const link = `${publicUrl}/verify#z=${packed}`
  const copy = (id: string, label: string) =>
    html`<button class="button" type="button" data-copy="${id}" hidden>${icon('link')}<span data-label>${label}</span></button>`
  const exact = link.length <= linkLengthMax && link
  const print = html`<button class="button" type="button" data-print data-needs-script hidden>${icon('print')}Print</button>`
  const exactLink = (id: string) =>
    exact && html`<p class="hidden-visually" id="${id}" data-document-link>${exact}</p>`
  if (!result.valid || holder === null || !holder.isCurrent)
    return (
      exact &&
      html`<section class="card no-print"><div class="card-head row apart"><h2>Share this check</h2></div><div class="card-body stack"><p class="muted small">The link carries the document after the # sign, so it never reaches a server log.</p><div class="row">${copy('link', 'Copy link')}${print}</div>${exactLink('link')}</div></section>`
    )
  const current = personLink(publicUrl, holder.username)
  return html`<section class="card"><div class="card-head row apart"><h2>Share this check</h2></div><div class="card-body stack">${qrCode(current, 'QR code of the link to this check')}<p class="mono small muted break" id="link">${current}</p><p class="muted small">The link checks the current credential of this person again.</p><div class="row no-print">${copy('link', 'Copy link')}${print}${exact && copy('exact', 'Copy a link to this document')}</div>${exactLink('exact')}</div></section>`
}

/** The state of a credential of which the visitor has only the URL of its status. */
export function statusView(state: StatusState, form: FormView): PublicView {
  const { tone, word, sentence } = statusWords[state]
  const main = html`${resultHead}
<section class="card verdict" data-tone="${tone}" data-reason="status ${state}" aria-labelledby="verdict-title"><div class="verdict-head"><span class="seal">${icon(sealIcons[tone])}</span><div role="status"><h2 id="verdict-title" tabindex="-1">${word}</h2><p>${sentence}</p></div></div></section>
<section class="card roomy no-print" aria-labelledby="another-title"><div class="card-head row apart"><h2 id="another-title">Check a whole credential</h2></div>${inputForm(form, true)}</section>`
  return { ...page, title: `${word}: status of a credential`, main, isIndexed: false }
}

type StatusState = 'active' | 'revoked' | 'unknown' | 'unavailable'

const statusWords: Record<StatusState, Pick<VerdictView, 'tone' | 'word' | 'sentence'>> = {
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
