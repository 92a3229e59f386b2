/** Runs `npm run demo:x402` as documented. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { ended } from '../support/start/command-line.ts'
import { chainTest } from '../support/start/paid-loop.ts'
import { temporaryFolder } from '../support/start/processes.ts'
import { timeoutMultiplier } from '../support/start/timeout-multiplier.ts'

chainTest(
  'the demo shows reads bought with both client families from challenge to receipt, serves a payment again and leaves nothing behind',
  async () => {
    const folder = temporaryFolder()
    const env = {
      ...process.env,
      TMPDIR: folder,
      TIMEOUT_MULTIPLIER: String(timeoutMultiplier),
    }
    const { code, out, err } = await ended(
      spawn(process.execPath, ['scripts/bootstrap.mjs', 'demo:x402'], { env }),
    )
    assert.equal(code, 0, out + err)
    assert.equal(out.match(/^402 Payment Required\nPAYMENT-REQUIRED/gm)?.length, 4)
    assert.equal(out.match(/asks again with X-PAYMENT/g)?.length, 4)
    assert.equal(out.match(/^200 OK\nPAYMENT-RESPONSE/gm)?.length, 5)
    const transactions = [...out.matchAll(/"transaction": "(0x[0-9a-f]{64})"/g)].map(([, id]) => id)
    assert.equal(transactions.length, 5)
    assert.equal(new Set(transactions).size, 4)
    assert.equal(transactions[4], transactions[2])
    assert.match(out, /With @x402\/fetch.*With x402-fetch/s)
    assert.deepEqual(out.match(/the wallet has .*/g), [
      'the wallet has 0.97 USDC, the operator 0.03 USDC.',
      'the wallet has 0.96 USDC, the operator 0.04 USDC.',
      'the wallet has 0.96 USDC, the operator 0.04 USDC.',
    ])
    assert.deepEqual(readdirSync(folder), [])
  },
)
