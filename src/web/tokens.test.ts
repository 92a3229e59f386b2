/** The colours of both themes, computed from the stylesheet: no browser is needed. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

const textMin = 4.5
/** For lines, icons, outlines of controls and the focus ring. */
const lineMin = 3

const tones = ['accent', 'positive', 'warning', 'negative', 'info'] as const
const surfaces = ['sunken', 'surface', 'raised', 'overlay'] as const
const code = ['comment', 'keyword', 'string', 'number', 'name'] as const

interface Pair {
  front: string
  backs: readonly string[]
  min: number
}

const pairs: readonly Pair[] = [
  { front: 'text', backs: [...surfaces, 'hover', 'neutral-soft'], min: textMin },
  { front: 'muted', backs: [...surfaces, 'hover', 'neutral-soft', 'code'], min: textMin },
  { front: 'on-selected', backs: ['selected'], min: textMin },
  { front: 'on-inverse', backs: ['inverse'], min: textMin },
  { front: 'on-neutral-soft', backs: ['neutral-soft'], min: textMin },
  { front: 'on-accent', backs: ['accent-active'], min: textMin },
  { front: 'on-code', backs: ['code'], min: textMin },
  ...code.map((name) => ({ front: `code-${name}`, backs: ['code'], min: textMin })),
  ...tones.flatMap((tone) => [
    { front: `${tone}-text`, backs: [...surfaces, 'hover'], min: textMin },
    { front: `on-${tone}`, backs: [tone], min: textMin },
    { front: `on-${tone}-soft`, backs: [`${tone}-soft`], min: textMin },
    // A notice has text and a link on its tint, and an icon in the colour of its tone.
    { front: 'text', backs: [`${tone}-soft`], min: textMin },
    { front: 'accent-text', backs: [`${tone}-soft`], min: textMin },
    { front: `${tone}-text`, backs: [`${tone}-soft`], min: lineMin },
    { front: `${tone}-line`, backs: [...surfaces, `${tone}-soft`], min: lineMin },
  ]),
  // Buttons that are filled.
  { front: 'on-accent', backs: ['accent-hover'], min: textMin },
  { front: 'on-negative', backs: ['negative-hover'], min: textMin },
  { front: 'border-strong', backs: surfaces, min: lineMin },
  { front: 'focus', backs: [...surfaces, 'hover', 'selected', 'code'], min: lineMin },
  { front: 'qr-ink', backs: ['qr-paper'], min: textMin },
]

/** Told by depth and name, behind others, or without a meaning. */
const decorative = /^(border|backdrop|shadow-color|band-\d|brand|brand-metal)$/

const read = (name: string) => readFileSync(new URL(`assets/${name}`, import.meta.url), 'utf8')
const tokens = read('tokens.css')
const themes = themesOf(tokens.replaceAll(/@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}/g, ''))

for (const theme of ['light', 'dark'] as const)
  test(`${theme}: every text has a contrast of 4.5, every line and outline of 3`, () => {
    const colours = themes[theme]
    const low = pairs.flatMap(({ front, backs, min }) =>
      backs
        .map((back) => ({ front, back, ratio: contrast(at(colours, front), at(colours, back)) }))
        .filter(({ ratio }) => ratio < min),
    )
    assert.deepEqual(low, [])
  })

test('every colour of the stylesheet is part of a pair', () => {
  const paired = new Set(pairs.flatMap(({ front, backs }) => [front, ...backs]))
  const unpaired = [...themes.light.keys()].filter(
    (name) => !paired.has(name) && !decorative.test(name),
  )
  assert.ok(themes.light.size > 60)
  assert.deepEqual(unpaired, [])
})

test('the arrow of a select has a contrast of 3 in both themes', () => {
  const [, arrow = ''] = /--select-arrow: [^\n]*stroke='%23([0-9a-f]{6})'/.exec(tokens) ?? []
  for (const theme of [themes.light, themes.dark])
    for (const back of ['raised', 'sunken'])
      assert.ok(contrast(`#${arrow}`, at(theme, back)) >= lineMin, back)
})

test('components take every colour from the tokens, and use the five breakpoints alone', () => {
  const components = read('components.css')
  assert.deepEqual(components.match(/#[0-9a-f]{3,8}\b|\b(?:rgb|hsl|oklch)a?\(/gi), null)
  const widths = [...components.matchAll(/(?:min|max)-width: ([\d.]+rem)\)/g)].map(([, at]) => at)
  const known = new Set([40, 48, 64, 80, 105].flatMap((rem) => [`${rem}rem`, `${rem - 0.01}rem`]))
  assert.deepEqual(
    widths.filter((width) => width === undefined || !known.has(width)),
    [],
  )
})

type Theme = ReadonlyMap<string, string>

function themesOf(css: string): { light: Theme; dark: Theme } {
  const light = new Map<string, string>()
  const dark = new Map<string, string>()
  for (const [, name = '', value = ''] of css.matchAll(/--([\w-]+): ([^;]+);/g)) {
    const [, bright = value, dim = value] = /^light-dark\((.+?\)?), (.+)\)$/.exec(value) ?? []
    if (!/^(#|rgb|var\()/.test(bright)) continue
    light.set(name, bright)
    dark.set(name, dim)
  }
  return { light, dark }
}

/** Returns the colour of a token, which may name another token. */
function at(theme: Theme, name: string): string {
  const value = theme.get(name)
  assert.ok(value !== undefined, `there is no token --${name}`)
  const [, other] = /^var\(--([\w-]+)\)$/.exec(value) ?? []
  return other === undefined ? value : at(theme, other)
}

/** Of WCAG 2.2: from 1 to 21. */
function contrast(one: string, other: string): number {
  const [bright = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a)
  return (bright + 0.05) / (dark + 0.05)
}

function luminance(colour: string): number {
  const [, digits] = /^#([0-9a-f]{6})$/.exec(colour) ?? []
  assert.ok(digits !== undefined, `not a colour without transparency: ${colour}`)
  const [red = 0, green = 0, blue = 0] = [0, 2, 4].map((start) => {
    const share = Number.parseInt(digits.slice(start, start + 2), 16) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
