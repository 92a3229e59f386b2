/**
 * One Chromium for a test run, which the global setup starts when the first test file asks for it.
 * A start takes a second of processor time.
 */
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BrowserServer } from 'playwright-core'

/**
 * Debian's programs. The first has no windows, and takes a third of the processor time for a start
 * and a quarter for a page.
 */
const programs = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']
export const chromiumFile = process.env.CHROMIUM ?? programs.find((file) => existsSync(file)) ?? ''
const flags =
  '--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync'

/** The picture of the camera, in the format Y4M. A page reads it when it opens the camera. */
export const cameraFile = (): string => join(tmpdir(), 'camera.y4m')

let browser: Promise<BrowserServer> | undefined

async function launch(): Promise<BrowserServer> {
  const { chromium } = await import('playwright-core')
  const camera = [
    '--use-fake-ui-for-media-stream',
    '--use-fake-device-for-media-stream',
    `--use-file-for-fake-video-capture=${cameraFile()}`,
  ]
  return chromium.launchServer({
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
    executablePath: chromiumFile,
    args: [...flags.split(' '), ...camera],
  })
}

/** Returns the address that answers with the address of Chromium. */
export async function offerBrowser(): Promise<string> {
  const server = createServer((_, response) => {
    browser ??= launch()
    browser.then(
      (started) => response.end(started.wsEndpoint()),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  server.unref()
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

export async function stopBrowser(): Promise<void> {
  await (await browser)?.close()
}
