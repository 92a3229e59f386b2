/** Pure: the public profile of a worker. */
import { scoreBands } from '../../standard/bands.ts'
import type { CandidateDetail, CandidateScore } from '../../workers/candidates/schema.ts'
import { scoreChart } from '../chart.ts'
import { badge, code, levelGlyph, notice, type Tone } from '../components.ts'
import { type Html, html, type Part, structuredData } from '../html.ts'
import { type IconName, icon } from '../icons.ts'
import { avatar } from '../layout.ts'
import type { PublicView, Site } from '../public-page.ts'
import { count, counted, dateTag, monthName, timeTag } from '../text.ts'
import type { BadgeState } from './badge.ts'

export interface Profile {
  detail: CandidateDetail
  /** Null: no score is public. */
  published: PublishedScore | null
  /** Whether the candidate is one of the sandbox, which no credential is issued to. */
  isFictional: boolean
}

export interface PublishedScore {
  score: CandidateScore
  /** Null: the score has no credential. */
  credential: { state: BadgeState; validUntil: Date } | null
}

export interface ProfileOptions {
  now: Date
  isIndexed: boolean
  /** Returns the path of the skill's page, or null if the standard has no such skill. */
  skillPath: (name: string) => string | null
  /** Draws the QR code of the profile at `url`. */
  codeOf: (url: string) => Html
}

export function profileView(
  site: Site,
  { detail, published, isFictional }: Profile,
  { now, isIndexed, skillPath, codeOf }: ProfileOptions,
): PublicView {
  const { displayName: name, title, username, profilePath } = detail
  const band =
    published === null ? '' : `: score ${published.score.score}, ${published.score.scoreBand}`
  const url = `${site.publicUrl}${profilePath}`
  const description = `Public profile of ${name}${published === null ? '' : ' with a verifiable skill score'}.`
  return {
    title: `${name}${band}`,
    description,
    isIndexed: isIndexed && !isFictional,
    alternates: [{ path: `/api/v1/candidates/${username}`, type: 'application/json' }],
    head: html`<link rel="canonical" href="${url}">
<meta property="og:type" content="profile">
<meta property="og:title" content="${`${name}${band}`}">
<meta property="og:description" content="${description}">
<meta property="og:url" content="${url}">
${structuredData({
  '@context': 'https://schema.org',
  '@type': 'ProfilePage',
  url,
  mainEntity: {
    '@type': 'Person',
    name,
    alternateName: username,
    ...(title === null ? {} : { jobTitle: title }),
    ...(detail.bio === null ? {} : { description: detail.bio }),
    knowsAbout: detail.skills.map((skill) => skill.name),
  },
})}
`,
    main: html`${isFictional && sandboxNotice}<div class="row apart">
<div class="person">${avatar(name)}<div><h1 class="break${name.length > shortNameMax && ' long'}" dir="auto">${name}</h1><p class="muted break">${subtitle(detail)}</p></div></div>
${actions(detail, published)}
</div>
<div class="columns main-side">
<div class="stack loose">
${detail.bio !== null && html`<p class="break" dir="auto">${detail.bio}</p>`}
${published === null ? noScore : scoreCard(published, { isFictional, now })}
${skillsCard(detail, skillPath)}
</div>
<aside class="stack loose" aria-label="Share and read">
${published !== null && rangeCard(published.score)}
${shareCard(url, codeOf(url))}
${published?.credential != null && badgeCard(site, detail)}
</aside>
</div>`,
  }
}

const sandboxNotice = notice({
  tone: 'info',
  title: 'This candidate is fictional.',
  text: html`It belongs to the <a href="/docs/sandbox">sandbox</a>, which developers use for tests. No person has this score.`,
})

/** In characters. A longer name has smaller letters. */
const shortNameMax = 32

function subtitle({ title, memberSince, username }: CandidateDetail): Html {
  const since = memberSince !== null && ` · member since ${monthName(memberSince)}`
  return html`<bdi>${title ?? `@${username}`}</bdi>${since}`
}

/** The form that most wallets take comes first. */
const downloads = [
  { form: 'eddsa-rdfc-2022', word: 'For a wallet: eddsa-rdfc-2022 (.json)' },
  { form: 'eddsa-jcs-2022', word: 'W3C, eddsa-jcs-2022 (.json)' },
  { form: 'native', word: 'Native proof (.json)' },
] as const

function actions(
  { profilePath, username }: CandidateDetail,
  published: PublishedScore | null,
): Part {
  if (published?.credential == null) return null
  const verify = html`<a class="button primary large" href="/verify?of=@${username}">${icon('shield')}Verify this score</a>`
  return html`<div class="row no-print">${verify}<details class="menu"><summary class="button large">${icon('down')}Download${icon('chevron')}</summary><div class="menu-list">${downloads.map(({ form, word }) => html`<a href="${`${profilePath}/credential.json?proof=${form}`}" download>${word}</a>`)}</div></details></div>`
}

const stateBadges: Record<BadgeState, { tone: Tone; name: IconName; word: string }> = {
  valid: { tone: 'positive', name: 'check', word: 'Credential valid' },
  revoked: { tone: 'negative', name: 'cross', word: 'Credential revoked' },
  expired: { tone: 'warning', name: 'clock', word: 'Credential expired' },
  unknown: { tone: 'info', name: 'help', word: 'Status could not be read' },
}

/** A score whose credential was revoked gets a new one (decision D58). */
const waiting = { tone: 'info', name: 'clock', word: 'Waits for a new credential' } as const

function scoreCard(
  { score, credential }: PublishedScore,
  { isFictional, now }: { isFictional: boolean; now: Date },
): Html {
  const { low, high } = score.confidence
  const label = scoreBands.find(({ band }) => band === score.scoreBand)?.label ?? ''
  const withoutCredential = isFictional ? null : waiting
  const state = credential === null ? withoutCredential : stateBadges[credential.state]
  return html`<section class="card roomy" aria-labelledby="score-title">
<div class="card-body stack loose">
<div class="row apart baseline"><div class="stack tight"><h2 class="small muted" id="score-title">Skill score</h2><p class="score-line row baseline"><span class="value">${count(score.score)}</span><span class="band">${label}</span><span class="muted">range ${count(low)} to ${count(high)}</span></p></div>${state !== null && badge(state.tone, state.name, state.word)}</div>
<figure>${scoreChart({ score: score.score, low, high, bands: scoreBands })}
<figcaption class="muted small">The circle is the score. The line is the range that the evidence supports.</figcaption></figure>
</div>
<div class="card-foot small muted"><dl class="facts">
<div><dt>Issued</dt><dd>${timeTag(new Date(score.issuedAt), now)}</dd></div>
${credential !== null && html`<div><dt>Valid until</dt><dd>${dateTag(credential.validUntil)}</dd></div>`}
<div><dt>Evidence</dt><dd>${counted(score.evidenceCount, 'item')}</dd></div>
<div><dt>Engine</dt><dd><a href="/.well-known/service-engine.json">${score.engineVersion}</a></dd></div>
</dl></div>
</section>`
}

const noScore = html`<section class="card"><div class="card-head row apart"><h2>No public score</h2><p class="small muted">A score appears here once there is enough evidence, the identity is verified, and its holder shares it.</p></div></section>`

const levels = ['novice', 'intermediate', 'advanced', 'expert'] as const

function skillsCard(
  { skills, verifiedSkillCount, skillCount }: CandidateDetail,
  skillPath: ProfileOptions['skillPath'],
): Part {
  if (skills.length === 0) return null
  // A stable sort: verified skills first, each group in the order of its holder.
  const ordered = [...skills].sort((a, b) => Number(b.verified) - Number(a.verified))
  const row = ({ name, level, verified }: (typeof skills)[number]) => {
    const path = skillPath(name)
    const shown =
      path === null
        ? html`<span class="break" dir="auto">${name}</span>`
        : html`<a class="break" href="${path}">${name}</a>`
    const state = verified
      ? badge('positive', 'check', 'Verified')
      : html`<span class="badge" data-tone="neutral">Stated</span>`
    return html`<li>${shown}<span class="level small muted">${level !== null && levelOf(level)}</span>${state}</li>`
  }
  return html`<section class="card roomy" aria-labelledby="skills-title"><div class="card-head row apart"><h2 id="skills-title">Skills</h2><span class="muted small">${count(verifiedSkillCount)} of ${count(skillCount)} verified</span></div><ul class="skills">${ordered.map(row)}</ul></section>`
}

function levelOf(level: string): Part {
  const word = level.charAt(0).toUpperCase() + level.slice(1)
  return html`${levelGlyph(levels.findIndex((one) => one === level))}${word}`
}

function rangeCard({ confidence: { low } }: CandidateScore): Html {
  return html`<section class="card"><div class="card-head row apart"><h2>Read the range first</h2></div><div class="card-body stack tight small"><p>The evidence supports at least <strong>${count(low)}</strong>. Compare people by that number, not by the score.</p><p class="muted">A wide range means thin evidence, not weak work. The band does not say which skills are the strong ones.</p><p><a href="/docs/scoring">How scores are computed</a></p></div></section>`
}

function shareCard(url: string, code: Html): Html {
  return html`<section class="card no-print"><div class="card-head row apart"><h2>Share</h2></div><div class="card-body stack">${code}<p class="mono small muted break" id="profile-link">${url}</p><div class="row"><button class="button" type="button" data-copy="profile-link" hidden>${icon('link')}<span data-label>Copy link</span></button></div></div></section>`
}

function badgeCard({ publicUrl }: Site, { profilePath, displayName }: CandidateDetail): Html {
  const path = `${profilePath}/badge.svg`
  const image = html`<picture><source media="(prefers-color-scheme: dark)" srcset="${`${path}?theme=dark`}"><img src="${path}" width="288" height="64" alt="Badge of ${displayName}"></picture>`
  const text = `[![assay score](${publicUrl}${path})](${publicUrl}${profilePath})`
  return html`<section class="card no-print"><div class="card-head row apart"><h2>Badge</h2><p class="small muted">It shows a revocation within 5 minutes.</p></div><div class="card-body stack">${image}${code({ id: 'snippet', label: 'Markdown', text, isWrapped: true })}</div></section>`
}
