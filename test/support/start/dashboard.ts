/** The service with users who are signed in to its dashboard, by HTTP and in Chromium. */
import type { BrowserContext, Page } from 'playwright-core'
import { newSession, type TestSession } from '../build/sessions.ts'
import { ask, type Reply } from './ask.ts'
import { openContext, watchFaults } from './browser.ts'
import { startService, type TestService } from './service.ts'

/**
 * Chromium treats the address of the service as this origin does: no TLS, and a cookie without
 * prefix.
 */
const publicUrl = 'http://localhost:8080'

export interface Dashboard {
  service: TestService
  newUser(over?: { accountId?: string; role?: 'owner' | 'member' }): Promise<TestSession>
  /** Opens a browser that is signed in. */
  signedIn(of: TestSession, options?: { javaScriptEnabled?: boolean }): Promise<BrowserContext>
  /** Opens a page in a browser of its own; `faults` collects what no page may do. */
  visit(path: string, options: Visit): Promise<{ page: Page; faults: string[] }>
  /** Sends a form from our own origin. */
  send(of: TestSession, path: string, fields: Record<string, string>): Promise<Reply>
}

interface Visit {
  of: TestSession
  javaScriptEnabled?: boolean
}

/** The pages that every account has. */
export const dashboardPaths = [
  '/dashboard',
  '/dashboard/usage',
  '/dashboard/requests',
  '/dashboard/keys',
  '/dashboard/keys/new',
  '/dashboard/webhooks',
  '/dashboard/webhooks/new',
  '/dashboard/sandbox',
  '/dashboard/decisions',
  '/dashboard/team',
  '/dashboard/account',
  '/dashboard/leave',
  '/dashboard/sessions',
  '/dashboard/audit',
] as const

/** A text that becomes markup wherever a page forgets to escape. */
export const markup = `</code></pre><script>alert(1)</script><img src=x onerror=alert(2)>"'﷽`

/** Stop `service` after the tests. */
export async function startDashboard(env: Record<string, string> = {}): Promise<Dashboard> {
  const service = await startService(publicUrl, undefined, { env })
  const { base, database } = service
  const signedIn: Dashboard['signedIn'] = async (of, options = {}) => {
    const context = await openContext({ locale: 'en-GB', ...options })
    await context.addCookies([{ name: 'session', value: of.value, url: base }])
    return context
  }
  return {
    service,
    signedIn,
    newUser: (over = {}) => newSession(database.db, { publicUrl, ...over }),
    async visit(path, { of, ...options }) {
      const page = await (await signedIn(of, options)).newPage()
      const faults = watchFaults(page, base)
      await page.goto(base + path)
      return { page, faults }
    },
    send: (of, path, fields) =>
      ask(base, {
        method: 'POST',
        path,
        headers: { ...of.ownOrigin, 'Content-Type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams(fields).toString(),
      }),
  }
}
