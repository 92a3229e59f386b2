/** The documentation of this release, read from its files at start. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pagePathOf, rootPages } from '../../discovery/docs-page.ts'

export interface DocsPage {
  /** Its file, relative to the root of the project. */
  source: string
  title: string
  /** Path of the HTML page. */
  path: string
  /** Path of its Markdown. */
  markdownPath: string
  markdown: string
  /** Heading of its group in the navigation; absent if no group names the page. */
  group?: string
}

export interface DocsGroup {
  title: string
  pages: DocsPage[]
}

export interface DocsLibrary {
  /** The pages by path. */
  pages: ReadonlyMap<string, DocsPage>
  /** The navigation, in the order of learning. */
  groups: readonly DocsGroup[]
}

const indexSource = 'docs/README.md'

/** Reads the pages. `root` is the folder of package.json. */
export function readDocsLibrary(root: string): DocsLibrary {
  const sources = [...rootPages, ...globSync('docs/**/*.md', { cwd: root })]
  const pages = new Map(
    sources.map((file) => {
      const source = file.replaceAll('\\', '/')
      const page = readPage(root, source)
      return [page.path, page]
    }),
  )
  const groups = readGroups(readFileSync(join(root, indexSource), 'utf8'), pages)
  for (const { title, pages: members } of groups) for (const page of members) page.group = title
  return { pages, groups }
}

function readPage(root: string, source: string): DocsPage {
  const markdown = readFileSync(join(root, source), 'utf8')
  const [, title] = /^# (.+)$/m.exec(markdown) ?? []
  if (title === undefined) throw new Error(`${source} has no heading of level 1`)
  const path = pagePathOf(source)
  return { source, title, path, markdownPath: `${path}.md`, markdown }
}

/** A page belongs to the first list that links to it. A list stands under a heading of level 2. */
function readGroups(index: string, pages: ReadonlyMap<string, DocsPage>): DocsGroup[] {
  const seen = new Set<DocsPage>()
  return index
    .split(/^## /m)
    .slice(1)
    .map((part) => {
      const links = part.matchAll(/^(?:\d+\.|-) \[[^\]]*\]\(([^)#]+)\)/gm)
      const members = [...links]
        .map(([, target = '']) => pages.get(pagePathOf(sourceOf(target))))
        .filter((page) => page !== undefined)
        .filter((page) => !seen.has(page))
      for (const page of members) seen.add(page)
      return { title: part.slice(0, part.indexOf('\n')).trim(), pages: members }
    })
    .filter(({ pages: members }) => members.length > 0)
}

function sourceOf(target: string): string {
  return target.startsWith('../') ? target.slice(3) : `docs/${target}`
}
