/** Pure: the badge of a worker, an image without scripts and without references to other files. */
import { html } from '../html.ts'
import { count } from '../text.ts'

export interface Badge {
  name: string
  score: number
  low: number
  high: number
  /** The name in the standard, such as `strong`. */
  band: string
  state: BadgeState
  /** Day of the revocation or of the end, such as `21 Nov 2026`. */
  day: string | null
}

export type BadgeState = 'valid' | 'revoked' | 'expired' | 'unknown'
export type BadgeTheme = 'light' | 'dark'

interface Colours {
  ground: string
  edge: string
  text: string
  muted: string
  markGround: string
  markLetter: string
  /** Ground and text of each state. */
  states: Record<BadgeState, readonly [ground: string, text: string]>
}

const themes: Record<BadgeTheme, Colours> = {
  light: {
    ground: '#ffffff',
    edge: '#e2e6eb',
    text: '#161a21',
    muted: '#565e6c',
    markGround: '#161a21',
    markLetter: '#e2b04e',
    states: {
      valid: ['#e4f4ea', '#0f5a31'],
      revoked: ['#fdebea', '#94191f'],
      expired: ['#fcf1da', '#6f430a'],
      unknown: ['#eceff3', '#4a525f'],
    },
  },
  dark: {
    ground: '#171b20',
    edge: '#2a3038',
    text: '#eef0f3',
    muted: '#a3acb8',
    markGround: '#eef0f3',
    markLetter: '#b07d1c',
    states: {
      valid: ['#12291c', '#8ee5b0'],
      revoked: ['#351616', '#ffb4b1'],
      expired: ['#2c220c', '#f2cb82'],
      unknown: ['#262c34', '#c0c7d1'],
    },
  },
}

/** The word of each state with its width, because fonts differ, and its sign. */
const states: Record<BadgeState, { word: string; width: number; sign: string }> = {
  valid: { word: 'Valid', width: 28, sign: 'm0 3.5 2.5 2.5 5-6' },
  revoked: { word: 'Revoked', width: 48, sign: 'M0 0l6 6M6 0 0 6' },
  expired: { word: 'Expired', width: 42, sign: 'M3-.5a3.5 3.5 0 1 0 .01 0M3 1.2v2l1.3.7' },
  unknown: {
    word: 'Unknown',
    width: 54,
    sign: 'M1 1.2a2 2 0 1 1 2.8 1.8c-.6.3-.8.7-.8 1.2M3 6v.1',
  },
}

const fonts =
  "-apple-system,'Segoe UI',Roboto,'Liberation Sans',Arial,'DejaVu Sans Condensed',sans-serif"
/** Longer names are cut, so that they stay beside the state. */
const graphemesMax = 24

export function renderBadge(
  badge: Badge,
  { size, theme }: { size: 'small' | 'large'; theme: BadgeTheme },
): string {
  return (size === 'small' ? smallBadge : largeBadge)(badge, themes[theme])
}

function largeBadge(badge: Badge, colours: Colours): string {
  const { word, width, sign } = states[badge.state]
  const [ground, text] = colours.states[badge.state]
  const pill = width + 30
  const left = 276 - pill
  return html`<svg xmlns="http://www.w3.org/2000/svg" width="288" height="64" viewBox="0 0 288 64" role="img" aria-labelledby="t" font-family="${fonts}"><title id="t">${titleOf(badge)}</title><rect x=".5" y=".5" width="287" height="63" rx="9.5" fill="${colours.ground}" stroke="${colours.edge}"/>${mark(colours, 'translate(14 18) scale(1.1667)')}<text x="54" y="28" font-size="13" font-weight="600" fill="${colours.text}">${shortName(badge, (left - 60) / 7.2)}</text><text x="54" y="46" font-size="12" fill="${colours.muted}">${largeLine(badge, colours)}</text><rect x="${left}" y="12" width="${pill}" height="20" rx="10" fill="${ground}"/><path transform="${`translate(${left + 9} 19)`}" d="${sign}" fill="none" stroke="${text}" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round"/><text x="${left + 21}" y="26" font-size="11" font-weight="600" fill="${text}" textLength="${width}" lengthAdjust="spacingAndGlyphs">${word}</text></svg>`
    .text
}

function smallBadge(badge: Badge, colours: Colours): string {
  const { word, sign } = states[badge.state]
  const [ground, text] = colours.states[badge.state]
  const isValid = badge.state === 'valid'
  const line = isValid ? `${count(badge.score)} ${badge.band}` : word
  return html`<svg xmlns="http://www.w3.org/2000/svg" width="136" height="24" viewBox="0 0 136 24" role="img" aria-labelledby="t" font-family="${fonts}"><title id="t">${titleOf(badge)}</title><rect x=".5" y=".5" width="135" height="23" rx="5.5" fill="${colours.ground}" stroke="${colours.edge}"/>${mark(colours, 'translate(5 4) scale(.6667)')}<text x="26" y="16" font-size="11" fill="${colours.muted}" textLength="30" lengthAdjust="spacingAndGlyphs">assay</text><path d="M62 .5h68a5.5 5.5 0 0 1 5.5 5.5v12a5.5 5.5 0 0 1-5.5 5.5H62z" fill="${ground}"/><path transform="translate(69 9)" d="${sign}" fill="none" stroke="${text}" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round"/><text x="81" y="16" font-size="11" font-weight="600" fill="${text}" textLength="${isValid ? 50 : 44}" lengthAdjust="spacingAndGlyphs">${line}</text></svg>`
    .text
}

function mark({ markGround, markLetter }: Colours, transform: string) {
  return html`<g transform="${transform}"><path d="M7.5 1.5h9l6 6v9l-6 6h-9l-6-6v-9z" fill="${markGround}"/><path d="M8 16.5 12 6.5l4 10M9.5 13.2h5" fill="none" stroke="${markLetter}" stroke-width="2.1" stroke-linecap="round" stroke-linejoin="round"/></g>`
}

function largeLine({ score, band, low, high, state, day }: Badge, colours: Colours) {
  const title = `${band.charAt(0).toUpperCase()}${band.slice(1)}`
  if (state === 'revoked') return `Revoked${day === null ? '' : ` on ${day}`}`
  if (state === 'expired') return `${title}${day === null ? '' : ` until ${day}`}`
  if (state === 'unknown') return 'Status could not be read'
  return html`<tspan font-weight="600" fill="${colours.text}">${count(score)}</tspan> ${title}, range ${low} to ${high}`
}

function titleOf({ name, score, band, state }: Badge): string {
  const shown = state === 'valid' ? `score ${count(score)}, ${band}, valid` : state
  return `assay: ${name}, ${shown}`
}

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

function shortName({ name }: Badge, fitting: number): string {
  const graphemes = Array.from(segmenter.segment(name), ({ segment }) => segment)
  const most = Math.min(graphemesMax, Math.floor(fitting))
  return graphemes.length <= most ? name : `${graphemes.slice(0, most - 1).join('')}…`
}
