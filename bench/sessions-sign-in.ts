/**
 * Requests for a sign-in link, for addresses of users and for unknown addresses in turn. The time
 * of the answer must not reveal users (decision D45). A mail server takes the links meanwhile.
 */
import { randomInt } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { insertUser } from '../src/accounts/store.ts'
import type { Db } from '../src/platform/db/db.ts'
import { uuidV7 } from '../src/platform/db/uuid-v7.ts'
import { startMailServer } from '../test/support/start/mail-server.ts'
import { median, report } from './measure.ts'
import { fetchAnswer, publicUrl, startService } from './serving.ts'

const pairs = 3_000
const warmUpPairs = 200
/** Percentage points. With this many pairs, chance alone stays below 2.7 in 997 of 1,000 runs. */
const differenceMax = 2.7

const emailOf = (kind: 'user' | 'unknown', i: number) => `${kind}-${i}@example.com`

export async function benchSignIn({ db, url }: { db: Db; url: string }): Promise<void> {
  const now = new Date()
  await db.transaction(async (tx) => {
    for (let i = 0; i < warmUpPairs + pairs; i++)
      await insertUser(tx, {
        id: uuidV7(now),
        email: emailOf('user', i),
        name: null,
        createdAt: now,
      })
  })
  const mail = await startMailServer()
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-'))
  const caFile = join(folder, 'mail-ca.pem')
  writeFileSync(caFile, mail.ca)
  const { port, stop } = await startService({
    DATABASE_URL: url,
    ASSAY_DATA_DIR: join(folder, 'service'),
    TRUSTED_PROXIES: '127.0.0.1',
    SMTP_URL: mail.url,
    SMTP_CA_FILE: caFile,
    MAIL_FROM: 'no-reply@scores.example.org',
    LOG_LEVEL: 'error',
  })
  let requests = 0
  const msFor = async (email: string): Promise<number> => {
    // Each request comes from a new address, so that none is limited.
    const n = ++requests
    const address = `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`
    const headers = {
      'Content-Type': 'application/x-www-form-urlencoded',
      'X-Forwarded-For': address,
      Origin: publicUrl,
    }
    const body = `email=${encodeURIComponent(email)}`
    const startedAt = performance.now()
    const { head } = await fetchAnswer(port, { method: 'POST', path: '/sign-in', headers, body })
    if (head.statusCode !== 303) throw new Error(`a request for a link got ${head.statusCode}`)
    return performance.now() - startedAt
  }
  try {
    const taken: { user: number; unknown: number }[] = []
    for (let i = 0; i < warmUpPairs + pairs; i++) {
      const pair = { user: 0, unknown: 0 }
      const kinds = ['user', 'unknown'] as const
      for (const kind of randomInt(2) === 0 ? kinds : kinds.toReversed())
        pair[kind] = await msFor(emailOf(kind, i))
      if (i >= warmUpPairs) taken.push(pair)
    }
    const slower = taken.filter(({ user, unknown }) => user > unknown).length
    report(`time of a request for a sign-in link, ${pairs} pairs of addresses`, [
      { name: 'address of a user', value: median(taken.map((one) => one.user)), unit: 'ms' },
      { name: 'unknown address', value: median(taken.map((one) => one.unknown)), unit: 'ms' },
      {
        name: 'pairs in which the user is slower',
        value: (slower / pairs) * 100,
        unit: '%',
      },
      {
        name: '  apart from half',
        value: Math.abs((slower / pairs) * 100 - 50),
        unit: 'points',
        target: { max: differenceMax },
      },
      { name: 'mails sent meanwhile', value: mail.received.length, unit: 'mails' },
    ])
  } finally {
    await stop()
    await mail.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
