/**
 * The profile of a worker, its badge and the download of its credential, behind the gates of the
 * paid reads (decision D33). A hidden profile and an absent one get the same answer.
 */
import { Type } from 'typebox'
import type { Verifier } from '../../credentials/verifier.ts'
import type { Sandbox } from '../../demo/sandbox/open.ts'
import { jsonLdType, type RateLimits } from '../../edge/http/contract.ts'
import { type PublicDocument, publicDocument } from '../../edge/http/document.ts'
import type { Endpoint } from '../../edge/http/endpoint.ts'
import type { Clock } from '../../platform/clock.ts'
import { refuse, UnavailableError } from '../../platform/errors.ts'
import { foldText } from '../../platform/fold-text.ts'
import { RecentMap } from '../../platform/recent-map.ts'
import type { Vocabulary } from '../../standard/catalog.ts'
import { slugOf } from '../../standard/slug.ts'
import type { CandidateReads } from '../../workers/candidates/reads.ts'
import { proofQuery } from '../../workers/candidates/schema.ts'
import type { Html } from '../html.ts'
import { publicEndpoint, type Site, viewAnswer } from '../public-page.ts'
import { qrCode } from '../qr.ts'
import { shortDate } from '../text.ts'
import { type Badge, type BadgeState, type BadgeTheme, renderBadge } from './badge.ts'
import { type Profile, type PublishedScore, profileView } from './profile-view.ts'

export interface ProfileOptions {
  clock: Clock
  candidates: CandidateReads
  verifier: Verifier
  /** Their profiles say that they are fictional. */
  sandbox: Sandbox
  vocabulary: Vocabulary
  /** Whether search engines may list profiles. */
  areProfilesIndexed: boolean
}

const pageLimits: RateLimits = { perMinute: 120, perDay: 20_000 }
/** Image proxies fetch the badges of many readers from one address. */
const badgeLimits: RateLimits = { perMinute: 1_200, perDay: 200_000 }
const downloadLimits: RateLimits = { perMinute: 30, perDay: 600 }

/** Checked here, so that a name that nobody can have is answered like an absent one. */
const usernameForm = /^[a-z0-9][a-z0-9_-]{1,28}[a-z0-9]$/
const username = Type.Object({ username: Type.String() })

const badgeMaxAgeSeconds = 300
/** An outage is short. */
const unknownMaxAgeSeconds = 30
const badgesKept = 1_000
/** With kept codes, `npm run bench -- pages` reads 1.3 times as many profiles. */
const codesKept = 1_000

export function profilePages(site: Site, options: ProfileOptions): Endpoint[] {
  const { clock, candidates, sandbox, vocabulary, areProfilesIndexed: isIndexed } = options
  const skillPath = skillPaths(vocabulary)
  const codes = new RecentMap<Html>(codesKept)
  const codeOf = (url: string): Html => {
    const code = codes.get(url) ?? qrCode(url, 'QR code of this profile')
    codes.set(url, code)
    return code
  }
  const badges = new RecentMap<PublicDocument>(badgesKept)
  const find = (name: string, now: Date) =>
    usernameForm.test(name) ? findProfile(name, { ...options, now }) : null
  return [
    publicEndpoint(site, {
      name: 'profile page',
      path: '/u/{username}',
      pathParameters: username,
      limits: pageLimits,
      async answer({ path }) {
        const now = clock()
        const found =
          (await find(path.username, now)) ?? (await findFictional(path.username, sandbox))
        if (found === null) return refuse('not_found')
        return viewAnswer(site, profileView(site, found, { now, isIndexed, skillPath, codeOf }))
      },
    }),
    publicEndpoint(site, {
      name: 'profile badge',
      path: '/u/{username}/badge.svg',
      pathParameters: username,
      queryParameters: Type.Object({
        size: Type.Optional(Type.String({ pattern: '^(small|large)$' })),
        theme: Type.Optional(Type.String({ pattern: '^(light|dark)$' })),
      }),
      limits: badgeLimits,
      async answer({ path, query: { size = 'large', theme = 'light' } }) {
        const badge = await badgeFor(path.username, find(path.username, clock()))
        if (badge === null) return refuse('not_found')
        const look = { size: size as 'small' | 'large', theme: theme as BadgeTheme }
        return { document: badgeDocument(badges, badge, look) }
      },
    }),
    publicEndpoint(site, {
      name: 'profile credential',
      path: '/u/{username}/credential.json',
      pathParameters: username,
      queryParameters: proofQuery,
      limits: downloadLimits,
      async answer({ path, query }) {
        if (!usernameForm.test(path.username)) return refuse('not_found')
        const read = await candidates.credential(path, query.proof)
        if (!('credential' in read)) return refuse('not_found')
        const name = `${path.username}-${String(query.proof)}.json`
        return {
          status: 200,
          body: read.credential,
          contentType: jsonLdType,
          headers: { 'Content-Disposition': `attachment; filename="${name}"` },
        }
      },
    }),
  ]
}

/** Each answer of the sandbox links to a profile, so fictional candidates have pages too. */
async function findFictional(name: string, { reads }: Sandbox): Promise<Profile | null> {
  const found = await reads.candidate(name)
  if (found === null) return null
  const { score } = found.detail
  const published = score === null ? null : { score, credential: null }
  return { detail: found.detail, published, isFictional: true }
}

/** Returns a function that finds the page of a skill by its label or by another name of it. */
function skillPaths({ records, deprecated }: Vocabulary): (name: string) => string | null {
  const paths = new Map<string, string>()
  const current = records.filter(({ id }) => !Object.hasOwn(deprecated, id))
  // A label decides before an alias of another skill.
  for (const { id, aliases } of current)
    for (const alias of aliases) paths.set(foldText(alias), `/standard/skills/${slugOf(id)}`)
  for (const { id, label } of current) paths.set(foldText(label), `/standard/skills/${slugOf(id)}`)
  return (name) => paths.get(foldText(name)) ?? null
}

interface Finding extends ProfileOptions {
  now: Date
}

async function findProfile(name: string, finding: Finding): Promise<Profile | null> {
  const { candidates, verifier, now } = finding
  const found = await candidates.candidate(name)
  if (found === null) return null
  const { detail, scoreId } = found
  const { score } = detail
  if (score === null || scoreId === null) return { detail, published: null, isFictional: false }
  if (score.scoreVc === null)
    return { detail, published: { score, credential: null }, isFictional: false }
  const token = Buffer.from(score.scoreVc.statusUrl?.slice(-64) ?? '', 'hex')
  const vcSha256 = Buffer.from(score.scoreVc.sha256, 'hex')
  const [read, status] = await Promise.all([
    candidates.credential({ scoreId }, 'native'),
    verifier.askStatus({ token, vcSha256 }).catch(unavailable),
  ])
  if (!('credential' in read))
    return { detail, published: { score, credential: null }, isFictional: false }
  const validUntil = new Date(String(read.credential.validUntil))
  const credential = {
    state: stateOf(status, validUntil, now),
    validUntil: status.kind === 'registered' ? (status.revokedAt ?? validUntil) : validUntil,
  }
  return { detail, published: { score, credential }, isFictional: false }
}

type Status = Awaited<ReturnType<Verifier['askStatus']>>

function unavailable(error: unknown): Status {
  if (error instanceof UnavailableError) return { kind: 'unavailable' }
  throw error
}

function stateOf(status: Status, validUntil: Date, now: Date): BadgeState {
  if (status.kind !== 'registered') return 'unknown'
  if (status.revokedAt !== null || status.keyRevokedAt !== null) return 'revoked'
  return validUntil <= now ? 'expired' : 'valid'
}

/** Null: no such profile has a badge. If the registry does not answer, the state is unknown. */
async function badgeFor(
  username: string,
  finding: Promise<Profile | null> | null,
): Promise<Badge | null> {
  try {
    const found = await finding
    return found === null || found.published === null ? null : badgeOf(found, found.published)
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error
    return {
      name: `@${username}`,
      score: 0,
      low: 0,
      high: 0,
      band: '',
      state: 'unknown',
      day: null,
    }
  }
}

function badgeOf({ detail: { displayName } }: Profile, { score, credential }: PublishedScore) {
  const { low, high } = score.confidence
  const state = credential?.state ?? 'unknown'
  const day = credential === null || state === 'unknown' ? null : shortDate(credential.validUntil)
  return { name: displayName, score: score.score, low, high, band: score.scoreBand, state, day }
}

/** Compressing takes longer than drawing, so recent badges are kept by their bytes. */
function badgeDocument(
  badges: RecentMap<PublicDocument>,
  badge: Badge,
  look: Parameters<typeof renderBadge>[1],
): PublicDocument {
  const body = renderBadge(badge, look)
  let document = badges.get(body)
  if (document === undefined) {
    const contentType = 'image/svg+xml'
    const maxAgeSeconds = badge.state === 'unknown' ? unknownMaxAgeSeconds : badgeMaxAgeSeconds
    document = publicDocument({ body, contentType, maxAgeSeconds })
    badges.set(body, document)
  }
  return document
}
