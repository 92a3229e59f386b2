/**
 * Pure: the icons, on a grid of 24. A page holds each shape that it uses once, and refers to it.
 */
import { Html } from './html.ts'

const shapes = {
  alert: '<path d="M12 4 2.8 19.5h18.4zM12 10v4.5M12 17.2v.1"/>',
  book: '<path d="M5 5.5A1.5 1.5 0 0 1 6.5 4H19v13H6.5A1.5 1.5 0 0 0 5 18.5zM5 18.5A1.5 1.5 0 0 0 6.5 20H19v-3"/>',
  box: '<path d="m12 3 8 4.5v9L12 21l-8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9"/>',
  building:
    '<path d="M5 20.500V5a1 1 0 0 1 1-1h8a1 1 0 0 1 1 1v15.500M15 10h3.500a.5.5 0 0 1 .5.5v10M3 20.500h18M8 8h4M8 12h4M8 16h4"/>',
  chart: '<path d="M4 20V4M4 20h16M8.5 16v-4M13 16V7.5M17.5 16v-6"/>',
  check: '<path d="m4.5 12.5 5 5 10-11"/>',
  chevron: '<path d="m7 10 5 5 5-5"/>',
  clock: '<circle cx="12" cy="12" r="9"/><path d="M12 7v5.5l3.5 2"/>',
  copy: '<rect x="8.5" y="8.5" width="11.5" height="11.5" rx="2"/><path d="M15.5 8.5V6a2 2 0 0 0-2-2H6a2 2 0 0 0-2 2v7.5a2 2 0 0 0 2 2h2.5"/>',
  cross: '<path d="M6 6l12 12M18 6 6 18"/>',
  dash: '<path d="M5 12h14"/>',
  down: '<path d="M12 4v11.5M7 11l5 5 5-5M4.5 20h15"/>',
  file: '<path d="M6 3.5h8L18.5 8v12.5H6zM14 3.5V8h4.5"/>',
  help: '<circle cx="12" cy="12" r="9"/><path d="M9.5 9.5a2.5 2.5 0 1 1 3.6 2.3c-.8.4-1.1.9-1.1 1.7M12 16.7v.1"/>',
  home: '<path d="m4 11 8-7 8 7v8.5a.5.5 0 0 1-.5.5H15v-6H9v6H4.5a.5.5 0 0 1-.5-.5z"/>',
  hook: '<circle cx="7" cy="17" r="3"/><circle cx="17.5" cy="17" r="3"/><circle cx="12" cy="6.5" r="3"/><path d="M10.7 9.2 8.3 14.3M13.5 9l2.6 5.3M10 17h4.5"/>',
  info: '<circle cx="12" cy="12" r="9"/><path d="M12 11v5.5M12 7.6v.1"/>',
  key: '<circle cx="8" cy="15.5" r="4"/><path d="m11 12.5 8.5-8.5M16 7.5l3 3"/>',
  link: '<path d="M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7L12 7M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7L12 17"/>',
  list: '<path d="M8.5 6H20M8.5 12H20M8.5 18H20M4 6h.1M4 12h.1M4 18h.1"/>',
  lock: '<rect x="5" y="10.5" width="14" height="10" rx="2"/><path d="M8 10.5V8a4 4 0 0 1 8 0v2.5"/>',
  mail: '<rect x="3" y="5" width="18" height="14" rx="2"/><path d="m3.5 7 8.5 6 8.5-6"/>',
  menu: '<path d="M4 7h16M4 12h16M4 17h16"/>',
  more: '<path d="M5 12h.1M12 12h.1M19 12h.1" stroke-width="3"/>',
  out: '<path d="M14 4H6v16h8M10.5 12H20M16.5 8.5 20 12l-3.5 3.5"/>',
  pause: '<circle cx="12" cy="12" r="9"/><path d="M10 9v6M14 9v6"/>',
  people:
    '<circle cx="9" cy="8" r="3.5"/><path d="M2.5 20a6.5 6.5 0 0 1 13 0M16 4.8a3.5 3.5 0 0 1 0 6.4M18 14.5a6.5 6.5 0 0 1 3.5 5.5"/>',
  play: '<circle cx="12" cy="12" r="9"/><path d="m10 8.5 5.5 3.5-5.5 3.5z"/>',
  plus: '<path d="M12 5v14M5 12h14"/>',
  print:
    '<path d="M7 8V3.5h10V8M7 17H4.5A1.5 1.5 0 0 1 3 15.5v-6A1.5 1.5 0 0 1 4.5 8h15A1.5 1.5 0 0 1 21 9.5v6a1.5 1.5 0 0 1-1.5 1.5H17M7 14h10v6.5H7z"/>',
  qr: '<path d="M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h2.5v2.5H14zM17.5 17.5H20V20h-2.5z"/>',
  refresh: '<path d="M19.5 12a7.5 7.5 0 1 1-2.2-5.3L19.5 9M19.5 4v5h-5"/>',
  scale:
    '<path d="M12 4v16M7 20h10M5 7l7-2 7 2M5 7l-2.5 6a2.7 2.7 0 0 0 5 0zM19 7l-2.5 6a2.7 2.7 0 0 0 5 0z"/>',
  search: '<circle cx="10.5" cy="10.5" r="6"/><path d="m15 15 5 5"/>',
  send: '<path d="M20.5 3.5 10 14M20.5 3.5 14 20.5l-4-6.5-6.5-4z"/>',
  shield:
    '<path d="M12 3 4.5 6v5.5c0 4.5 3 8 7.5 9.5 4.5-1.5 7.5-5 7.5-9.5V6z"/><path d="m8.5 12 2.5 2.5 4.5-5"/>',
  theme: '<circle cx="12" cy="12" r="8"/><path d="M12 4a8 8 0 0 1 0 16z" fill="currentColor"/>',
  trash: '<path d="M4.5 7h15M9.5 7V4.5h5V7M6.5 7l1 13h9l1-13"/>',
} as const

export type IconName = keyof typeof shapes

const uses = Object.fromEntries(
  Object.keys(shapes).map((name) => [
    name,
    ['', ' md'].map(
      (size) =>
        new Html(
          `<svg class="icon${size}" viewBox="0 0 24 24" aria-hidden="true"><use href="#i-${name}"/></svg>`,
        ),
    ),
  ]),
) as Record<IconName, [Html, Html]>

export function icon(name: IconName, size?: 'md'): Html {
  return uses[name][size === 'md' ? 1 : 0]
}

/** Returns the shapes of the icons that a page uses. */
export function iconShapes(page: string): Html {
  const names = Array.from(page.matchAll(/<use href="#i-([a-z]+)/g), ([, name = '']) => name)
  const symbols = [...new Set(names)]
    .filter((name): name is IconName => Object.hasOwn(shapes, name))
    .map((name) => `<symbol id="i-${name}" viewBox="0 0 24 24">${shapes[name]}</symbol>`)
  return new Html(
    symbols.length === 0
      ? ''
      : `<svg width="0" height="0" data-icons hidden>${symbols.join('')}</svg>`,
  )
}
