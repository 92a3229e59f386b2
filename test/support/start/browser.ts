/** Chromium for tests of pages, and the rules for every page. */
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { after } from 'node:test'
import axe from 'axe-core'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Locator,
  type Page,
} from 'playwright-core'
import { chromiumFile } from './shared-browser.ts'

/** For the option `skip` of a test. */
export const noBrowser = chromiumFile === '' && 'skipped: no Chromium'

let browser: Promise<Browser> | undefined
after(async () => (await browser)?.close())

/** Opens a context in the Chromium of the test run. */
export async function openContext(options: BrowserContextOptions = {}): Promise<BrowserContext> {
  browser ??= connect()
  const context = await (await browser).newContext(options)
  // Longer than a step takes under load, and short for a locator that is wrong.
  context.setDefaultTimeout(60_000)
  return context
}

/**
 * Clicks, and waits for the page to which the click leads, not for one that is still loading. A
 * click alone resolves while that page is still read, before its last elements are there and its
 * scripts have run.
 */
export async function follow(page: Page, clicked: Locator): Promise<void> {
  await Promise.all([page.waitForNavigation(), clicked.click()])
}

async function connect(): Promise<Browser> {
  const answer = await fetch(process.env.ASSAY_TEST_BROWSER ?? '')
  const text = await answer.text()
  if (!answer.ok) throw new Error(`Chromium did not start: ${text}`)
  return chromium.connect(text)
}

/**
 * Collects what no page may do: messages of the console, among them violations of the content
 * security policy, errors of scripts, and requests to another host.
 */
export function watchFaults(page: Page, origin: string): string[] {
  const faults: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text())
  })
  page.on('pageerror', (error) => faults.push(error.message))
  page.on('request', (request) => {
    if (!request.url().startsWith(origin)) faults.push(`request to ${request.url()}`)
  })
  return faults
}

const looks = [
  { colorScheme: 'light', viewport: { width: 1280, height: 900 }, hasAxe: true },
  { colorScheme: 'dark', viewport: { width: 1280, height: 900 }, hasAxe: false },
  { colorScheme: 'light', viewport: { width: 390, height: 844 }, hasAxe: false },
  { colorScheme: 'dark', viewport: { width: 390, height: 844 }, hasAxe: true },
] as const

const overflowOf = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'

/** The folder for screenshots. If it is not set, none are made. */
const shots = process.env.SCREENSHOTS

/**
 * Asserts that a page never scrolls sideways from 320 to 1280, light and dark, that its header has
 * room between both, and that axe finds nothing: wide and light, narrow and dark.
 */
export async function inspectPage(page: Page, name: string): Promise<void> {
  await page.waitForLoadState()
  // Wide enough for one line, and too narrow for all that a wide header shows.
  await page.setViewportSize({ width: 640, height: 900 })
  const squeezed = await page.evaluate<string[]>(`
    Array.from(document.querySelectorAll('.site-header > div > *, .brand > svg'))
      .filter((part) => part.checkVisibility() && matchMedia('screen').matches)
      .map((part) => [part.className.baseVal ?? part.className, part.getBoundingClientRect()])
      .filter(([, { left, right, width }]) => left < 16 || right > 624 || width < 16)
      .map(([name]) => name)`)
  assert.deepEqual(squeezed, [], `${name} 640: the header has room`)
  for (const width of [640, 768, 320]) {
    await page.setViewportSize({ width, height: 900 })
    const overflow = await page.evaluate<number>(overflowOf)
    assert.equal(overflow, 0, `${name} ${width}: nothing scrolls sideways`)
  }
  const seen = shots === undefined ? looks.filter(({ hasAxe }) => hasAxe) : looks
  for (const { colorScheme, viewport, hasAxe } of seen) {
    // Without motion, so that no colour is measured half way to another.
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.setViewportSize(viewport)
    // Two frames later the new colours are set, and what still changes to them is ended.
    await page.evaluate(`
      new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))).then(() => {
        for (const one of document.getAnimations()) if (one instanceof CSSTransition) one.finish()
      })`)
    const look = `${name} ${colorScheme} ${viewport.width}`
    if (hasAxe) {
      assert.deepEqual(await violationsOf(page), [], look)
    }
    const overflow = await page.evaluate<number>(overflowOf)
    assert.equal(overflow, 0, `${look}: nothing scrolls sideways`)
    if (shots === undefined) continue
    mkdirSync(shots, { recursive: true })
    const path = join(shots, `${look.replaceAll(/[ /]+/g, '-')}.png`)
    await page.screenshot({ path, fullPage: true })
  }
}

/**
 * Runs axe in a page without frames. The library is evaluated once in a page: the builder of
 * `@axe-core/playwright` evaluates it for each run and takes four times the processor time.
 */
async function violationsOf(page: Page): Promise<[rule: string, html: string | undefined][]> {
  if (await page.evaluate<boolean>("typeof axe === 'undefined'")) await page.evaluate(axe.source)
  return page.evaluate(`
    axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
      violations.map(({ id, nodes }) => [id, nodes[0]?.html]))`)
}

const inspectedIn = new WeakMap<BrowserContext, Page>()

/**
 * Opens a URL, inspects the page, and asserts that it did nothing forbidden. All URLs of a context
 * are opened in the same tab, because a new one takes Chromium as long as the inspection.
 */
export async function inspectUrl(
  context: BrowserContext,
  url: string,
  name: string,
): Promise<void> {
  const page = inspectedIn.get(context) ?? (await context.newPage())
  inspectedIn.set(context, page)
  const faults = watchFaults(page, new URL(url).origin)
  const response = await page.goto(url)
  assert.equal(response?.status(), 200, url)
  await inspectPage(page, name)
  assert.deepEqual(faults, [], name)
  page.removeAllListeners()
}
